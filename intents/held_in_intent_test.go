package intents

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

// counts returns what is counted of an intent.
func (u *Usage) counts(no int64) (counted, added int64) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	h := u.touch(no)
	return h.counted, h.added
}

// comment logs an event of about so many bytes.
func (h *house) comment(t *testing.T, id string, bytes int) error {
	t.Helper()
	_, err := h.AppendEvent(as("ann"), &openintentv1.AppendEventRequest{
		IntentId: id, EventType: "comment", Payload: object(t, map[string]any{"text": strings.Repeat("x", bytes)}),
	})
	return err
}

// However many statements it takes, the count is that of the rows.
func TestWhatAnIntentHoldsIsCountedInPieces(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		usage := h.Usage()
		usage.SetBound(1 << 20)
		id, other := h.newIntent(t).GetId(), h.newIntent(t).GetId()
		no := h.numberOf(t, id)
		for i := range 10 {
			require.NoError(t, h.comment(t, id, 100*i))
		}
		require.NoError(t, h.comment(t, other, 5000))
		want := int64(0)
		for _, event := range h.log(t, id) {
			payload, err := event.GetPayload().MarshalJSON()
			require.NoError(t, err)
			want += int64(len(strings.ReplaceAll(string(payload), `": `, `":`)))
		}
		for _, piece := range []int64{1, 3, 11, 1000} {
			usage.piece = piece
			h.clock.Advance(time.Hour)
			_, _ = usage.counts(no) // touches the intent
			require.NoError(t, usage.Recount(t.Context()))
			counted, added := usage.counts(no)
			require.InDelta(t, want, counted, 20, "in pieces of %d", piece)
			require.Zero(t, added)
		}
	})
}

// A count is good for a while, and what is added meanwhile counts at once.
func TestAnIntentIsCountedAgainWhenItsCountIsOld(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		usage := h.Usage()
		usage.SetBound(3000)
		id := h.newIntent(t).GetId()
		no := h.numberOf(t, id)
		require.NoError(t, h.comment(t, id, 1000))
		require.NoError(t, usage.Recount(t.Context()))
		h.execute(t, "UPDATE events SET payload = ? WHERE intent_no = ? AND sequence = 1", []byte(fmt.Sprintf(`{"a":%q}`, strings.Repeat("x", 1500))), no)
		require.NoError(t, h.comment(t, id, 100))
		require.NoError(t, usage.Recount(t.Context()))
		require.NoError(t, h.comment(t, id, 100), "the count is young")
		h.clock.Advance(usageAge)
		require.NoError(t, usage.Recount(t.Context()))
		faulttest.Require(t, h.comment(t, id, 500), fault.Quota, "INTENT_FULL")
		h.execute(t, "DELETE FROM events WHERE intent_no = ? AND sequence = 1", no)
		h.clock.Advance(usageAge)
		require.NoError(t, usage.Recount(t.Context()), "a refusal asks for another count")
		require.NoError(t, h.comment(t, id, 500))

		faulttest.Require(t, h.comment(t, id, 2000), fault.Quota, "INTENT_FULL")
		h.execute(t, "UPDATE events SET payload = ? WHERE intent_no = ?", []byte("{}"), no)
		h.clock.Advance(-24 * time.Hour)
		require.NoError(t, usage.Recount(t.Context()))
		require.NoError(t, h.comment(t, id, 2000), "a count from the time of a wrong clock is no longer good")
	})
}

func TestNothingIsCountedWithoutABound(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		require.NoError(t, h.comment(t, h.newIntent(t).GetId(), 1000))
		require.NoError(t, h.Usage().Recount(t.Context()))
		require.Empty(t, h.Usage().touched)
		require.Zero(t, h.Usage().intents.Len())
	})
}

// A count may or may not have seen what is stored while it runs, so that counts beside it.
func TestAnIntentKeepsWhatIsAddedWhileItIsCounted(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		var usage *Usage
		var counting atomic.Bool
		db := databasetest.Open(t, database.Config{URL: url, Clock: func() time.Time {
			if counting.Load() && usage.mutex.TryLock() { // the count reads the clock once under its lock, and then without
				counting.Store(false)
				usage.touch(1).added += 500
				usage.mutex.Unlock()
			}
			return time.Now()
		}})
		usage = newUsage(db, 1000, 10)
		counting.Store(true)
		require.NoError(t, usage.count(t.Context(), 1))
		require.False(t, counting.Load())
		_, added := usage.counts(1)
		require.EqualValues(t, 500, added)
		require.NoError(t, usage.count(t.Context(), 1))
		_, added = usage.counts(1)
		require.Zero(t, added, "the next count has seen it")
	})
}
