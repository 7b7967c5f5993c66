package intents

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/jsonvalue"
)

// section reads a part of an intent's log.
func (h *house) section(t *testing.T, q Section) *SectionEvents {
	t.Helper()
	var found *SectionEvents
	require.NoError(t, h.db.Read(context.Background(), func(tx *database.Tx) error {
		var statement database.Statement
		found, statement = q.Prepare(tx)
		return tx.Pipeline(statement)
	}))
	return found
}

func positionsOf(found *SectionEvents) []int64 {
	var positions []int64
	for _, event := range found.Events {
		positions = append(positions, event.Position)
	}
	return positions
}

func TestSectionsOfTheLog(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		no, other := h.numberOf(t, h.newIntent(t).GetId()), h.numberOf(t, h.newIntent(t).GetId())
		require.NoError(t, h.inWrite(func(tx *database.Tx) error {
			heads, err := Lock(tx, no, other)
			require.NoError(t, err)
			for _, eventType := range []string{"a", "", "b", "a", "", "c"} { // from position 2 on; "" is no event
				if eventType == "" {
					heads.Get(no).Next()
					continue
				}
				for _, head := range heads {
					_, err := head.Log(EventDraft{Type: eventType, Actor: "ann"})
					require.NoError(t, err)
				}
			}
			return nil
		}))
		for _, row := range []struct {
			name      string
			section   Section
			positions []int64
		}{
			{"all", Section{Through: 100}, []int64{1, 2, 4, 5, 7}},
			{"bounds", Section{After: 2, Through: 5}, []int64{4, 5}},
			{"nothing", Section{After: 7, Through: 100}, nil},
			{"types", Section{Through: 100, Types: []string{"a", "c", "d"}}, []int64{2, 5, 7}},
			{"limit", Section{Through: 100, Limit: 2}, []int64{1, 2}},
			{"places", Section{At: []int64{7, 3, 2}}, []int64{2, 7}},
			{"places and types", Section{At: []int64{7, 4, 2}, Types: []string{"b"}}, []int64{4}},
			{"no places", Section{At: []int64{}, Through: 100}, nil},
		} {
			row.section.IntentNo = no
			if row.section.Limit == 0 {
				row.section.Limit = 100
			}
			found := h.section(t, row.section)
			require.Equal(t, row.positions, positionsOf(found), row.name)
			require.False(t, found.Cut, row.name)
		}
	})
}

func TestSectionsAreBoundedInBytes(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		no := h.numberOf(t, h.newIntent(t).GetId())
		large := jsonvalue.Object(`{"text":"` + strings.Repeat("x", 1<<20) + `"}`)
		require.NoError(t, h.inWrite(func(tx *database.Tx) error {
			heads, err := Lock(tx, no)
			require.NoError(t, err)
			for range 5 {
				_, err := heads[0].Log(EventDraft{Type: "large", Actor: "ann", Payload: large})
				require.NoError(t, err)
			}
			return nil
		}))
		q := Section{IntentNo: no, After: 1, Through: 100, Limit: 100}
		for _, page := range [][]int64{{2, 3}, {4, 5}, {6}} {
			found := h.section(t, q)
			require.Equal(t, page, positionsOf(found))
			require.Equal(t, len(page) == 2, found.Cut)
			q.After = page[len(page)-1]
		}
	})
}

func TestObserversHearOfWhateverIsAppended(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		var heard []int64
		h.OnAppended(func(intentNo int64) { heard = append(heard, intentNo) })
		logged, raised := h.numberOf(t, h.newIntent(t).GetId()), h.numberOf(t, h.newIntent(t).GetId())
		stored := h.numberOf(t, h.newIntent(t).GetId())
		require.Equal(t, []int64{logged, raised, stored}, heard, "a log begins with an event")
		heard = nil
		write := func(end error) error {
			return h.inWrite(func(tx *database.Tx) error {
				heads, err := Lock(tx, logged, raised, stored)
				require.NoError(t, err)
				_, err = heads.Get(logged).Log(EventDraft{Type: "comment", Actor: "ann"})
				require.NoError(t, err)
				heads.Get(raised).RaiseEpoch()
				heads.Get(stored).Next()
				return end
			})
		}
		require.ErrorIs(t, write(context.Canceled), context.Canceled)
		require.Empty(t, heard, "nothing was committed")
		require.NoError(t, write(nil))
		require.Equal(t, []int64{logged, stored}, heard)
	})
}
