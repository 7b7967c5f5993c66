package intents

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
)

func TestRulesOfAnUncommittedChangeAreNotKept(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intent := h.newIntent(t)
		head := h.head(t, intent.GetId())
		failure := errors.New("no")
		err := h.inWrite(func(tx *database.Tx) error {
			heads, err := Lock(tx, head.IntentNo)
			require.NoError(t, err)
			require.NoError(t, storePolicy(tx, head.IntentNo, PolicyClosed))
			heads[0].RaiseEpoch()
			rules, err := h.Rules(tx, head.IntentNo, heads[0].Epoch)
			require.NoError(t, err)
			require.Equal(t, PermissionNone, rules.Level("bob", false, head.Now()))
			again, err := h.Rules(tx, head.IntentNo, heads[0].Epoch)
			require.NoError(t, err)
			require.Same(t, rules, again, "the transaction itself reads them once")
			require.NoError(t, storePolicy(tx, head.IntentNo, PolicyOpen))
			heads[0].RaiseEpoch()
			again, err = h.Rules(tx, head.IntentNo, heads[0].Epoch)
			require.NoError(t, err)
			require.Equal(t, PermissionRead, again.Level("bob", false, head.Now()), "it reads them again after the next change")
			return failure
		})
		require.ErrorIs(t, err, failure)
		var epoch int64
		require.NoError(t, h.inWrite(func(tx *database.Tx) error {
			heads, err := Lock(tx, head.IntentNo)
			require.NoError(t, err)
			heads[0].RaiseEpoch()
			epoch = heads[0].Epoch
			return storePolicy(tx, head.IntentNo, PolicyOpen)
		}))
		require.NoError(t, h.db.Read(context.Background(), func(tx *database.Tx) error {
			rules, err := h.Rules(tx, head.IntentNo, epoch)
			require.NoError(t, err)
			require.Equal(t, PermissionRead, rules.Level("bob", false, head.Now()))
			again, err := h.Rules(tx, head.IntentNo, epoch)
			require.NoError(t, err)
			require.Same(t, rules, again, "now the cache keeps them")
			return nil
		}))
	})
}

// A Write that has not locked the head can read an epoch and then, one commit later, the rules of the next one.
func TestRulesReadWithoutTheLockAreNotKept(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		no := h.numberOf(t, h.newIntent(t).GetId())
		rulesIn := func(tx *database.Tx) *Rules {
			head, err := ReadHead(tx, no)
			require.NoError(t, err)
			rules, err := h.Rules(tx, no, head.Epoch)
			require.NoError(t, err)
			return rules
		}
		require.NoError(t, h.inWrite(func(tx *database.Tx) error {
			rules := rulesIn(tx)
			require.NotSame(t, rules, rulesIn(tx), "a Write without the lock keeps nothing")
			return nil
		}))
		require.NoError(t, h.inWrite(func(tx *database.Tx) error {
			_, err := Lock(tx, no)
			require.NoError(t, err)
			rules := rulesIn(tx)
			require.Same(t, rules, rulesIn(tx), "under the lock, nothing can come in between")
			return nil
		}))
		h.rules = NewEpochCache[int64, *Rules](keptRules)
		var kept *Rules
		require.NoError(t, h.db.Read(context.Background(), func(tx *database.Tx) error {
			kept = rulesIn(tx)
			return nil
		}))
		require.NoError(t, h.inWrite(func(tx *database.Tx) error {
			require.Same(t, kept, rulesIn(tx), "rules that a snapshot read are kept for all")
			return nil
		}))
	})
}
