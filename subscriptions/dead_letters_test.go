package subscriptions

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/database/databasetest"
	openintentv1 "openintent/gen/openintent/v1"
)

// atFirstRow runs a function when a statement that contains a text gets its first row, once it is armed.
type atFirstRow struct {
	text  string
	armed atomic.Bool
	run   func()
}

func (a *atFirstRow) option(s *settings) {
	s.database.Hooks.Statement = func(_ context.Context, sql string) func() {
		if !strings.Contains(sql, a.text) {
			return nil
		}
		return func() {
			if a.armed.CompareAndSwap(true, false) {
				a.run()
			}
		}
	}
}

// A redrive of all dead letters takes them in pieces. It goes on if somebody else takes one of a piece meanwhile.
func TestARedriveOfAllLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			meanwhile := &atFirstRow{text: "d.dead_at <= "}
			h := newHouse(t, engine, meanwhile.option)
			intent := h.intent(t)
			sub := h.subscribe(t, "bob", &createInput{IntentId: &intent})
			h.bury(t, sub, sweepBatch+1)
			meanwhile.run = func() { h.acknowledge(t, sub, 1) }
			meanwhile.armed.Store(true)
			state, err := h.redrive(sub)
			require.NoError(t, err)
			require.False(t, meanwhile.armed.Load(), "nothing was acknowledged meanwhile")
			require.Zero(t, state.GetDeadLetterCount())
			require.Equal(t, sweepBatch, h.rows(t, "subscription_deliveries", "1 = 1"))
		})
	}
}

// bury gives a subscription a number of dead letters.
func (h *house) bury(t *testing.T, sub *openintentv1.Subscription, count int) {
	found, err := h.subscriptions.find(asOperator(), sub.GetId())
	require.NoError(t, err)
	require.NoError(t, h.subscriptions.changes.change(t.Context(), found.no, wanted{}, func(c *change) error {
		for range count {
			c.locked.lastNumber++
			d := delivery{number: c.locked.lastNumber, intentNo: found.intentNo, position: c.locked.lastNumber, dueAt: c.now}
			c.insert(d)
			d.deadAt = c.now
			c.update(d)
		}
		c.locked.offeredThrough = c.locked.lastNumber
		return nil
	}))
}
