package backups

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database/databasetest"
)

// PostgreSQL goes back to a moment as the page says. Everything acknowledged before the moment is there, nothing that was sent after it,
// and the check is content.
func TestPostgreSQLGoesBackToAMoment(t *testing.T) {
	postgres := databasetest.StartServer(t)
	url := postgres.Database(t)
	archive := postgres.Shell(t, `mkdir archive && cd archive && pwd`)
	environment := []string{
		"OPENINTENT_DATABASE_URL=" + url, "PGDATA=" + postgres.Data(), "ARCHIVE=" + archive, "BASE=" + filepath.Dir(archive) + "/base",
	}
	do := func(name string, further ...string) {
		postgres.Shell(t, commands(t, name), append(environment, further...)...)
	}
	do("archive the log")
	postgres.Stop(t, databasetest.Fast)
	postgres.Start(t)

	h := harness.StartProcess(t, harness.Options{URL: url})
	w := fill(t, h)
	load := start(t, h, w.channel(t), 4)
	load.await(t, 100)
	do("take a base backup")
	load.await(t, 100)
	before := load.end()
	moment := postgres.Shell(t, `psql "$OPENINTENT_DATABASE_URL" -tAc 'SELECT now()'`, environment...)
	later := start(t, h, w.channel(t), 4)
	later.await(t, 100)
	lost := later.end()
	ends := lastPosition(t, h, load.channel)
	require.NoError(t, h.Stop())
	postgres.Stop(t, databasetest.Fast)

	do("go back to a moment", "MOMENT="+moment)
	postgres.Start(t)
	said, err := follow(t, "check what came back", environment...)
	require.NoError(t, err, said)
	require.Contains(t, said, "the database keeps all")
	h.Start(t)
	kept := all(t, h, load.channel)
	require.ElementsMatch(t, before, kept)
	require.NotContains(t, kept, lost[0])
	goesOn(t, h, load.channel, ends)
	said, err = follow(t, "check a database", environment...)
	require.NoError(t, err, said)
}
