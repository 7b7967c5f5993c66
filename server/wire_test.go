package server

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// The rooms' own work, including notifications and turns, ends with the server on each engine.
func TestRoomsStopWithoutATrace(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		cfg := testConfig(t)
		cfg.DatabaseURL = url
		db := databasetest.Open(t, database.Config{URL: databasetest.URL(t, database.SQLite)})
		require.NoError(t, db.Ping(t.Context()), "so that the connections that the test keeps are open")
		before := goleak.IgnoreCurrent()
		server := start(t, cfg)
		server.stop(t)
		goleak.VerifyNone(t, before)
	})
}
