package database_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// A backup beside a busy writer is the database of one moment, for its owner only, and leaves nothing else behind.
func TestBackupIsOneMoment(t *testing.T) {
	address := databasetest.BlankURL(t, database.SQLite)
	db := openScratch(t, database.Config{URL: address})
	ctx, stop := context.WithCancel(t.Context())
	ended, written := make(chan error, 1), make(chan int64, 1)
	go func() {
		id := int64(0)
		for ctx.Err() == nil {
			id++
			err := db.Write(context.Background(), func(tx *database.Tx) error {
				return tx.Pipeline(database.Statement{
					SQL: "INSERT INTO things (id, owner, size, body) VALUES (?, ?, 0, zeroblob(20000))", Args: []any{id, "o"},
				})
			})
			if err != nil {
				ended <- err
				return
			}
			select {
			case written <- id:
			default:
			}
		}
		ended <- nil
	}()
	for id := int64(0); id < 300; { // more pages than one step copies
		id = within(t, written)
	}
	folder := t.TempDir()
	into := filepath.Join(folder, "an odd näme %41?&#.db")
	t.Chdir(folder)
	before := count(t, db, "things")
	copied, err := database.Backup(t.Context(), address, filepath.Base(into), nil)
	require.NoError(t, err)
	after := count(t, db, "things")
	stop()
	require.NoError(t, within(t, ended))

	file, err := os.Stat(into)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), file.Mode())
	require.Equal(t, file.Size(), copied.Bytes)
	require.Equal(t, into, copied.Into)
	require.Equal(t, []string{filepath.Base(into)}, namesIn(t, folder))

	restored := openScratch(t, database.Config{URL: "sqlite:" + into})
	found := count(t, restored, "things")
	require.GreaterOrEqual(t, found, before)
	require.LessOrEqual(t, found, after)
	var last int64
	require.NoError(t, restored.ReadStatement(t.Context(), func(tx *database.Tx) error {
		return tx.Pipeline(scanOne("SELECT max(id) FROM things", &last))
	}))
	require.Equal(t, found, last, "the rows are those of one moment, without gaps")
	require.NoError(t, restored.Write(t.Context(), func(tx *database.Tx) error { return insertThing(tx, last+1) }))
}

func TestBackupRefuses(t *testing.T) {
	address := databasetest.URL(t, database.SQLite)
	folder := t.TempDir()
	there := filepath.Join(folder, "there.db")
	require.NoError(t, os.WriteFile(there, []byte("mine"), 0o600))
	empty := filepath.Join(folder, "empty.db")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	fresh := filepath.Join(folder, "fresh.db")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		name, address, into, says string
		ctx                       context.Context
	}{
		{"a file that exists", address, there, "never overwrites", t.Context()},
		{"an empty file that exists", address, empty, "never overwrites", t.Context()},
		{"itself", address, strings.TrimPrefix(address, "sqlite:"), "never overwrites", t.Context()},
		{"no folder", address, filepath.Join(folder, "none", "x.db"), "folder must exist", t.Context()},
		{"no database", "sqlite:" + fresh, filepath.Join(folder, "x.db"), "does not exist", t.Context()},
		{"no file of this program", "sqlite:" + there, fresh, "cannot be read as a SQLite database", t.Context()},
		{"a folder", "sqlite:" + folder, fresh, "is a folder", t.Context()},
		{"memory", "sqlite::memory:", fresh, "in memory", t.Context()},
		{"PostgreSQL", "postgres://x@127.0.0.1:1/x", fresh, "pg_basebackup", t.Context()},
		{"no URL", "openintent.db", fresh, "must begin with sqlite:", t.Context()},
		{"no path", "sqlite:", fresh, "and a path", t.Context()},
		{"an end before it is whole", address, fresh, "canceled", cancelled},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := database.Backup(test.ctx, test.address, test.into, nil)
			require.ErrorContains(t, err, test.says)
			require.Equal(t, []string{"empty.db", "there.db"}, namesIn(t, folder), "nothing is left behind")
		})
	}
	content, err := os.ReadFile(there)
	require.NoError(t, err)
	require.Equal(t, "mine", string(content))
}

// A backup of a damaged file is no backup.
func TestBackupOfADamagedFileFails(t *testing.T) {
	address := databasetest.BlankURL(t, database.SQLite)
	path := strings.TrimPrefix(address, "sqlite:")
	db, err := database.OpenWithMigrations(t.Context(), database.Config{URL: address}, scratch)
	require.NoError(t, err)
	require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
		for id := range int64(2000) {
			if err := insertThing(tx, id); err != nil {
				return err
			}
		}
		return nil
	}))
	require.NoError(t, db.Close())
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	for at := len(content) - 3*4096; at < len(content)-2*4096; at++ {
		content[at] = 0x5a
	}
	require.NoError(t, os.WriteFile(path, content, 0o600))
	folder := t.TempDir()
	_, err = database.Backup(t.Context(), address, filepath.Join(folder, "backup.db"), nil)
	require.ErrorContains(t, err, "not whole")
	require.Empty(t, namesIn(t, folder))
}

func namesIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}
