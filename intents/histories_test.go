package intents

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// admitOnly closes an intent's list to everyone except the named agents.
func (h *house) admitOnly(t *testing.T, intentID string, agents ...string) {
	t.Helper()
	entries := make([]*openintentv1.AccessEntryInput, len(agents))
	for i, agent := range agents {
		entries[i] = entryFor(agent, PermissionRead)
	}
	h.closeList(t, intentID, entries...)
}

// A change that the database has lost and the change that took its place have different epochs.
func TestRulesOfALostHistoryAreForgotten(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		h.admitOnly(t, id, "bob")
		past := databasetest.Remember(t, h.db, "before")

		h.admitOnly(t, id, "bob", "carol")
		require.True(t, h.mayRead("bob", id))
		require.True(t, h.mayRead("carol", id))
		past.PutBack(t)
		replica := &house{db: h.db, clock: h.clock, Service: New(Config{DB: h.db})}
		replica.admitOnly(t, id, "dave") // on a replica, because making the change here would read the rules from before it
		require.True(t, h.mayRead("dave", id))
		require.False(t, h.mayRead("bob", id), "revoked since")
		require.False(t, h.mayRead("carol", id), "the change that admitted carol is lost")
	})
}

// However many changes were lost, the cache keeps the rules of the first change after the loss.
func TestRulesAreKeptAgainAfterALoss(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		past := databasetest.Remember(t, h.db, "before")
		for range 3 {
			h.admitOnly(t, id, "bob")
			require.True(t, h.mayRead("bob", id))
		}
		past.PutBack(t)
		h.admitOnly(t, id, "carol")
		rules := func() (rules *Rules) {
			require.NoError(t, h.db.Read(context.Background(), func(tx *database.Tx) error {
				head, err := ReadHead(tx, h.numberOf(t, id))
				require.NoError(t, err)
				rules, err = h.Rules(tx, head.IntentNo, head.Epoch)
				return err
			}))
			return rules
		}
		first := rules()
		require.Same(t, first, rules())
	})
}

// A lost intent is never confused with the intent that was made after the loss.
func TestALostIntentIsNoOther(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		past := databasetest.Remember(t, h.db, "before")
		lost := h.newIntent(t).GetId()
		require.True(t, h.mayRead("ann", lost))
		h.admitOnly(t, lost, "bob")
		require.True(t, h.mayRead("bob", lost))
		past.PutBack(t)
		other := h.newIntent(t).GetId()
		h.admitOnly(t, other, "carol")
		require.False(t, h.mayRead("ann", lost))
		require.True(t, h.mayRead("carol", other))
		require.False(t, h.mayRead("bob", other))
	})
}

// Two heads at the same position and time are not the same if they belong to two histories.
func TestAHeadOfALostHistoryIsNotTheSame(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		no := h.numberOf(t, id)
		touch := func() {
			require.NoError(t, h.inWrite(func(tx *database.Tx) error {
				heads, err := Lock(tx, no)
				require.NoError(t, err)
				heads[0].Next()
				return nil
			}))
		}
		past := databasetest.Remember(t, h.db, "before")
		touch()
		left := h.head(t, id)
		past.PutBack(t)
		touch()
		now := h.head(t, id)
		require.Equal(t, left.LastPosition, now.LastPosition)
		require.Equal(t, left.LastAt, now.LastAt, "the clock stands still")
		require.Equal(t, left.Epoch, now.Epoch)
		require.False(t, left.Same(now))
		expecting := func(head Head) error {
			return h.db.Lane().WriteAtOnce(context.Background(), func(tx *database.Tx) error {
				Expect(tx, head)[0].Next()
				return nil
			})
		}
		require.True(t, database.IsData(expecting(left)))
		require.NoError(t, expecting(now))
		require.NoError(t, h.db.Write(context.Background(), func(tx *database.Tx) error {
			return tx.Gorm().Exec("DELETE FROM intent_heads WHERE intent_no = ?", no).Error
		}))
		require.True(t, database.IsData(expecting(now)), "a head that no longer exists is refused too")
	})
}
