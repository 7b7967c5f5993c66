package database_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
)

// A transaction that finds another one alone under its name tries again for fifteen seconds, as one that waits for locks does, and not only
// five times.
func TestAloneWaitsForItsTurn(t *testing.T) {
	db := openServer(t, database.Config{})
	entered, leave, left := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		left <- db.Write(t.Context(), func(tx *database.Tx) error {
			err := tx.Alone("counting")
			close(entered)
			<-leave
			return err
		})
	}()
	within(t, entered)
	require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error { return tx.Alone("something else") }))
	tries := 0
	require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
		if tries++; tries == 8 {
			close(leave)
			require.NoError(t, within(t, left))
		}
		return tx.Alone("counting")
	}))
	require.GreaterOrEqual(t, tries, 8)
}
