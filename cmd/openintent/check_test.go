package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// offline runs a command that works on a database without a server.
func offline(t *testing.T, arguments ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	exit := run(t.Context(), arguments, terminal{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr})
	return outcome{exit, stdout.String(), stderr.String()}
}

// The check names each broken rule with the first rows that break it, and its exit code tells whether there is one.
func TestCheckNamesWhatIsBroken(t *testing.T) {
	clearEnvironment(t)
	databasetest.EachURL(t, func(t *testing.T, url string) {
		did := offline(t, "check", "--database-url", url)
		require.Equal(t, exitOK, did.exit, did.stderr)
		require.Contains(t, did.stdout, "ok      intents: each row of intents refers to a row of intent_heads (rows: 0)\n")
		require.Regexp(t, `the database keeps all [0-9]+ rules\n$`, did.stdout)
		require.NotContains(t, did.stdout, "BROKEN")

		db, err := database.Open(t.Context(), database.Config{URL: url})
		require.NoError(t, err)
		defer func() { require.NoError(t, db.Close()) }()
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
			for no := range int64(shownBreaks + 2) {
				if err := tx.Pipeline(database.Statement{
					SQL: "INSERT INTO search_cursors (intent_no, position) VALUES (?, 1)", Args: []any{no + 1},
				}); err != nil {
					return err
				}
			}
			return nil
		}))
		did = offline(t, "check", "--database-url", url)
		require.Equal(t, exitFailed, did.exit)
		require.Contains(t, did.stdout, "BROKEN  search: each row of search_cursors refers to a row of intents (rows: 102)\n"+
			"        search: not so: intent_no 1\n        search: not so: intent_no 2\n")
		require.Contains(t, did.stdout, "        search: and 2 more\n")
		require.NotContains(t, did.stdout, "the database keeps all")
		require.Regexp(t, `^openintent: the database breaks 1 of [0-9]+ rules\n$`, did.stderr)
	})
}

func TestCheckAndBackupRefuse(t *testing.T) {
	clearEnvironment(t)
	folder := t.TempDir()
	missing, into := "sqlite:"+filepath.Join(folder, "none.db"), filepath.Join(folder, "backup.db")
	for _, test := range []struct {
		arguments []string
		exit      int
		says      string
	}{
		{[]string{"backup", into, "--database-url", "postgres://x@127.0.0.1:1/x"}, exitUsage, "pg_basebackup or pg_dump, as docs/backups.md says"},
		{[]string{"backup", into, "--database-url", missing}, exitFailed, "does not exist; name the database with --database-url"},
		{[]string{"backup"}, exitUsage, "<file>"},
		{[]string{"check", "--database-url", missing}, exitFailed, "does not exist; name the database with --database-url"},
		{[]string{"check", "--database-url", "postgres://x:secret@127.0.0.1:1/x?sslmode=disable"}, exitFailed, "opening the database"},
	} {
		did := offline(t, test.arguments...)
		require.Equal(t, test.exit, did.exit, "%s", test.arguments)
		require.Contains(t, did.stderr, test.says)
		require.Equal(t, 1, strings.Count(did.stderr, "\n"), "one line: %q", did.stderr)
		require.NotContains(t, did.stderr, "secret")
	}
	require.NoFileExists(t, strings.TrimPrefix(missing, "sqlite:"), "a check makes no database")
}
