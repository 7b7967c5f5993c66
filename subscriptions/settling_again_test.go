package subscriptions

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
)

// A transaction may run again after a conflict, and finds its portions as they were.
func TestAnEntryIsStoredAfterItsTransactionWasRolledBack(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.unhurried()
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		s := h.stream(t, sub, nil)
		last := h.warmUp(t, s, sub, channel)
		h.send(t, "ann", channel, "bob", "work")
		s.next(t)
		l := h.ledger(t, sub)
		portions := portionsOf([]*ledger{l}, true)
		portions[0].further = blockSize
		rolledBack := errors.New("rolled back")
		for _, outcome := range []error{rolledBack, nil} {
			err := h.subscriptions.db.Write(t.Context(), func(tx *database.Tx) error {
				return errors.Join(settleIn(tx, portions), outcome)
			})
			require.ErrorIs(t, err, outcome)
			require.NoError(t, portions[0].refused)
		}
		l.noteSettled(portions[0])
		require.Equal(t, int64(1), h.get(t, sub).GetOutstandingCount())
		require.Equal(t, last+1, h.get(t, sub).GetLastNumber())
	})
}
