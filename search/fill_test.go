package search

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

func TestTheIndexRestsAfterItsWork(t *testing.T) {
	const worked = 10 * time.Millisecond
	require.Equal(t, 19*worked, restFilling(worked))
	for name, one := range map[string]struct {
		messages int
		more     bool
		rests    time.Duration
	}{
		"nothing waits":                    {20, false, 3 * worked},
		"much waits":                       {256, true, 3 * worked},
		"1,000 a second are hurry":         {30, true, 2 * worked},
		"a piece was slow":                 {5, true, 0},
		"what was read is no longer there": {0, true, 3 * worked},
	} {
		require.Equal(t, one.rests, restCatchingUp(worked, one.messages, one.more), name)
	}
}

// A server with nothing else to do takes in what nobody has searched, with a twentieth of a processor: after each piece it rests 19 times
// as long.
func TestTheIndexIsFilledALittleAtATime(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			var mutex sync.Mutex
			now := databasetest.NewClock().Now()
			h := newHouse(t, engine, func() time.Time { // each look at the clock takes a millisecond
				mutex.Lock()
				defer mutex.Unlock()
				now = now.Add(time.Millisecond)
				return now
			})
			for range 5 {
				h.say(t, "ada", "bob", "word")
			}
			h.indexer.together = 2
			h.index(t)
			require.Equal(t, 2, h.documents(t))
			began := h.indexer.next
			rest := began.Sub(h.now())
			require.GreaterOrEqual(t, rest, 15*time.Millisecond)
			h.index(t)
			require.Equal(t, 2, h.documents(t), "it rests")
			mutex.Lock()
			now = began
			mutex.Unlock()
			h.index(t)
			require.Equal(t, 4, h.documents(t))
		})
	}
}

// A program of release 0.2 knows no holes: it indexes messages again that are edited there, and calls the index complete. Nothing stops
// because of that, and the answer does not say more than is true.
func TestAnOlderProgramBesideDoesNoHarm(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		var said []*openintentv1.Message
		for range 6 {
			h.clock.Advance(time.Second)
			said = append([]*openintentv1.Message{h.say(t, "ada", "bob", "word")}, said...)
		}
		h.search(t, "bob", h.intent.GetId())
		h.indexer.most, h.indexer.together = 1, 2
		behind, err := h.indexer.kept(t.Context(), h.now())
		require.NoError(t, err)
		_, err = h.indexer.index(t.Context(), behind, 1)
		require.NoError(t, err)
		require.Equal(t, 2, h.documents(t))

		h.clock.Advance(time.Second)
		oldest := said[len(said)-1]
		require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{
				SQL:  "INSERT INTO search_documents (document, intent_no, position) SELECT 1, intent_no, position FROM messages WHERE id = ?",
				Args: []any{oldest.GetId()},
			}, database.Statement{
				SQL: "UPDATE search_state SET complete_through = ?, version = version + 1", Args: []any{database.Micros(h.now())},
			})
		}))
		page := h.search(t, "bob", "")
		require.False(t, page.GetCompleteThrough().AsTime().After(oldest.GetCreatedAt().AsTime()))
		h.index(t)
		h.finds(t, "bob", "word", said...)
		require.Equal(t, 6, h.documents(t))
		require.Equal(t, h.now(), h.search(t, "bob", "").GetCompleteThrough().AsTime())
	})
}

// Where an older program without search has removed the index, a hole that stays says nothing.
func TestAHoleBeyondWhatTheIndexHasSaysNothing(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		m := h.say(t, "ada", "bob", "word")
		require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{SQL: "INSERT INTO search_holes (intent_no, low, high) SELECT intent_no, 1, 100 FROM messages"})
		}))
		require.Nil(t, h.search(t, "bob", h.intent.GetId()).GetCompleteThrough())
		h.index(t)
		h.finds(t, "bob", "word", m)
		require.Nil(t, h.search(t, "bob", h.intent.GetId()).GetCompleteFrom())
		var holes int
		require.NoError(t, h.db.ReadStatement(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(database.ReadValue(&holes, "SELECT COUNT(*) FROM search_holes"))
		}))
		require.Zero(t, holes)
	})
}
