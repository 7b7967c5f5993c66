package intents

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

// A server that starts learns within a run what a key holds, and what others make or free.
func TestAStockIsCountedInTheDatabase(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		other := newStock(h.db, map[string]int64{"intents": 2}, 10)
		take := func(keyID string) error {
			return h.db.Write(t.Context(), func(tx *database.Tx) error { return other.Take(tx, keyID, stockOfIntents) })
		}
		insert := func(keyID string) (no int64) {
			require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error {
				intent := &Intent{ID: newID(), Status: StatusActive, Constraints: []byte("{}"), State: []byte("{}")}
				_, err := insertIntent(tx, intent, keyID)
				no = intent.No
				return err
			}))
			return no
		}
		first, second := insert("key"), insert("key")
		insert("another")
		insert("")
		require.NoError(t, take("key"), "nothing is known of the key yet")
		require.NoError(t, other.Recount(t.Context()))
		refusal := faulttest.Require(t, take("key"), fault.Quota, "STOCK_FULL")
		require.Equal(t, "2", refusal.Metadata["max_intents_per_key"])
		require.NoError(t, take("another"))
		require.NoError(t, take(""), "the server makes as many as it likes")

		require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error { return freeIntent(tx, &Head{IntentNo: first}, h.clock.Now()) }))
		require.NoError(t, other.Recount(t.Context()))
		faulttest.Require(t, take("key"), fault.Quota, "STOCK_FULL")
		h.clock.Advance(stockAge)
		require.NoError(t, other.Recount(t.Context()), "a count is good for some time")
		require.NoError(t, take("key"))
		faulttest.Require(t, take("key"), fault.Quota, "STOCK_FULL")

		require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error { return freeIntent(tx, &Head{IntentNo: second}, h.clock.Now()) }))
		h.clock.Advance(-24 * time.Hour)
		require.NoError(t, other.Recount(t.Context()))
		require.NoError(t, take("key"), "a count from the time of a wrong clock is no longer good")
	})
}

// A key no longer holds an intent that has ended.
func TestAnIntentThatEndsIsFreed(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		active := openintentv1.IntentStatus_INTENT_STATUS_ACTIVE
		ann := caller.NewContext(t.Context(), caller.Caller{Agent: "ann", KeyID: "key"})
		intent, err := h.CreateIntent(ann, &openintentv1.CreateIntentRequest{Title: "T", Status: &active})
		require.NoError(t, err)
		held := func() (count int64) {
			require.NoError(t, h.db.ReadStatement(t.Context(), func(tx *database.Tx) error {
				return tx.Pipeline(database.ReadValue(&count, "SELECT count(*) FROM intents WHERE made_by_key IS NOT NULL"))
			}))
			return count
		}
		require.EqualValues(t, 1, held())
		_, err = h.SetIntentStatus(ann, &openintentv1.SetIntentStatusRequest{
			IntentId: intent.GetId(), Status: openintentv1.IntentStatus_INTENT_STATUS_COMPLETED, ExpectedVersion: &intent.Version,
		})
		require.NoError(t, err)
		require.Zero(t, held())
	})
}

// What a transaction took counts once it is stored, and not if it is undone.
func TestAStockCountsWhatIsStored(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		stock := newStock(h.db, map[string]int64{"intents": 2}, 10)
		undo := fault.New(fault.Denied, "UNDO", "It is undone.")
		for range 5 {
			require.ErrorIs(t, h.db.Write(t.Context(), func(tx *database.Tx) error {
				require.NoError(t, stock.Take(tx, "key", stockOfIntents))
				return undo
			}), undo)
		}
		require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error {
			require.NoError(t, stock.Take(tx, "key", stockOfIntents))
			require.NoError(t, stock.Take(tx, "key", stockOfIntents))
			faulttest.Require(t, stock.Take(tx, "key", stockOfIntents), fault.Quota, "STOCK_FULL")
			return nil
		}))
		require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error {
			faulttest.Require(t, stock.Take(tx, "key", stockOfIntents), fault.Quota, "STOCK_FULL")
			require.NoError(t, stock.Take(tx, "key", "things without a bound"))
			return nil
		}))
	})
}

// A count may begin before something is made and end after that. Then it may or may not have seen it, so that counts beside it.
func TestAStockKeepsWhatIsMadeDuringACount(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		var stock *Stock
		of := holding{"key", stockOfIntents}
		var counting atomic.Bool
		db := databasetest.Open(t, database.Config{URL: url, Clock: func() time.Time {
			if counting.Load() && stock.mutex.TryLock() { // the count reads the clock once under its lock, and then without
				counting.Store(false)
				stock.touch(of).added++
				stock.mutex.Unlock()
			}
			return time.Now()
		}})
		stock = newStock(db, map[string]int64{"intents": 2}, 10)
		counting.Store(true)
		require.NoError(t, stock.count(t.Context(), of))
		require.False(t, counting.Load())
		require.EqualValues(t, 1, stock.touch(of).added)
		require.NoError(t, stock.count(t.Context(), of))
		require.Zero(t, stock.touch(of).added, "the next count has seen it")
	})
}
