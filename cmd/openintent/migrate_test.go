package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

// Migrate says what it would do, does it, and says when there is nothing to do. A server that may not migrate serves afterwards, and not
// before.
func TestMigrate(t *testing.T) {
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			url := databasetest.BlankURL(t, engine)
			t.Setenv("OPENINTENT_DATABASE_URL", url)
			serve := func() outcome {
				return at(t, "", "serve", "--no-migrate", "--http-addr=127.0.0.1:0", "--grpc-addr=127.0.0.1:0")
			}
			for range 2 {
				would := at(t, "", "migrate", "--check")
				require.Equal(t, exitBehind, would.exit, would.stderr)
				require.True(t, strings.HasPrefix(would.stdout, "would apply 1 initial, of release 0.1\n"), would.stdout)
				require.Contains(t, would.stdout, "would apply 14 leases, of release 0.2\n")
			}
			refused := serve()
			require.Equal(t, exitFailed, refused.exit)
			require.Contains(t, refused.stderr, "run openintent migrate first")

			did := at(t, "", "migrate")
			require.Equal(t, exitOK, did.exit, did.stderr)
			require.Contains(t, did.stdout, "applied 14 leases, of release 0.2\n")
			for _, arguments := range [][]string{{"migrate"}, {"migrate", "--check"}} {
				require.Equal(t, outcome{stdout: "the schema is that of release 0.3\n"}, at(t, "", arguments...))
			}
			db, err := database.Open(t.Context(), database.Config{URL: url, AsItIs: true})
			require.NoError(t, err)
			require.NoError(t, db.Close())
		})
	}
}

func TestMigrateRefuses(t *testing.T) {
	unreachable := at(t, "", "migrate", "--database-url", "postgres://user@127.0.0.1:1/x?sslmode=disable")
	require.Equal(t, exitUnavailable, unreachable.exit, unreachable.stderr)
	misspelt := at(t, "", "migrate", "--database-url", "mysql://x")
	require.Equal(t, exitFailed, misspelt.exit)
	require.Contains(t, misspelt.stderr, "must begin with sqlite: or postgres://")
	require.True(t, server.DefaultConfig().Migrate, "a server migrates unless it is told otherwise")
}

// The schema's last release is the program's.
func TestTheSchemaIsOfThisRelease(t *testing.T) {
	url := databasetest.BlankURL(t, database.SQLite)
	outlook, err := database.Inspect(t.Context(), database.Config{URL: url})
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(version, outlook.Release+"."), "the version is %s, and the schema's release %s", version, outlook.Release)
}
