package harness

import (
	"context"
	"testing"

	"openintent/internal/database"
	"openintent/server"
)

// RequireWhole fails the test for each row of a database that breaks a rule of `openintent check`. Servers may run meanwhile.
func RequireWhole(tb testing.TB, url string) {
	tb.Helper()
	err := database.ReadSnapshot(context.WithoutCancel(tb.Context()), url, func(tx *database.Tx) error {
		for _, room := range server.Invariants(tx.Engine()) {
			for _, invariant := range room.Invariants {
				if _, err := invariant.Check(tx, func(where string) {
					tb.Errorf("%s: %s: not so: %s", room.Room, invariant.Rule, where)
				}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		tb.Errorf("checking the database: %v", err)
	}
}
