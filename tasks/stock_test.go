package tasks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/intents"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

// A task takes room among those of its key until it ends, or its intent does.
func TestTheTasksOfAKeyCountUntilTheyEnd(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		db := databasetest.Open(t, database.Config{URL: url})
		// begin returns the room on another server, which learns from the database what the key holds.
		begin := func() *house {
			rooms := intents.New(intents.Config{DB: db, Stock: map[string]int64{"tasks": 1}})
			return &house{Service: New(Config{DB: db, Intents: rooms})}
		}
		full := func(h *house) bool {
			require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
				return h.intents.Stock().Take(tx, "key", stockKind.Name)
			}))
			require.NoError(t, h.intents.Stock().Recount(t.Context()))
			err := db.Write(t.Context(), func(tx *database.Tx) error { return h.intents.Stock().Take(tx, "key", stockKind.Name) })
			if err != nil {
				faulttest.Require(t, err, fault.Quota, "STOCK_FULL")
			}
			return err != nil
		}
		h := begin()
		h.intent = h.newIntent(t)
		require.False(t, full(begin()))
		task := h.create(t)
		require.True(t, full(begin()))
		h.walk(t, task.GetId(), StatusCancelled)
		require.False(t, full(begin()))

		failing := begin()
		failing.intent = h.intent
		failing.put(t, StatusFailed, 1)
		require.False(t, full(begin()), "no attempt is left")

		last := begin()
		last.intent = h.intent
		last.create(t)
		require.True(t, full(begin()))
		last.endIntent(t)
		require.False(t, full(begin()), "its intent has ended")
	})
}
