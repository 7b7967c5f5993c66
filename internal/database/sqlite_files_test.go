package database_test

import (
	"database/sql"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
)

// modesIn returns the modes of the files in a folder.
func modesIn(t *testing.T, folder string) map[string]fs.FileMode {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	modes := make(map[string]fs.FileMode)
	for _, entry := range entries {
		info, err := entry.Info()
		require.NoError(t, err)
		modes[entry.Name()] = info.Mode()
	}
	return modes
}

// Only their owner can use new files, whatever the umask is; an existing file keeps its mode.
func TestModesOfSQLiteFiles(t *testing.T) {
	before := syscall.Umask(0)
	t.Cleanup(func() { syscall.Umask(before) })
	folder := t.TempDir()
	openScratch(t, database.Config{URL: "sqlite:" + filepath.Join(folder, "a.db")})
	require.Equal(t, map[string]fs.FileMode{"a.db": 0o600, "a.db-wal": 0o600, "a.db-shm": 0o600, "a.db.lock": 0o600},
		modesIn(t, folder))

	folder = t.TempDir()
	path := filepath.Join(folder, "a.db")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Chmod(path, 0o640))
	openScratch(t, database.Config{URL: "sqlite:" + path})
	require.Equal(t, fs.FileMode(0o640), modesIn(t, folder)["a.db"])
	require.Equal(t, fs.FileMode(0o600), modesIn(t, folder)["a.db.lock"])
}

// contentOf returns the content of a file, and nothing for a path that is not a file.
func contentOf(t *testing.T, path string) []byte {
	t.Helper()
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return content
}

// A path that cannot be opened as a database is left unchanged, and nothing is made beside it.
func TestWhatCannotBeOpenedIsLeftAsItWas(t *testing.T) {
	another := func(t *testing.T, path string) {
		pool, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		_, err = pool.ExecContext(t.Context(), "CREATE TABLE theirs (a)")
		require.NoError(t, err)
		require.NoError(t, pool.Close())
	}
	newer := func(t *testing.T, path string) {
		pool, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		_, err = pool.ExecContext(t.Context(), `CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT,
			version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')));
			INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1), (99, 1)`)
		require.NoError(t, err)
		require.NoError(t, pool.Close())
	}
	for name, test := range map[string]struct {
		path  string
		make  func(t *testing.T, path string)
		means string
	}{
		"no folder": {"none/a.db", func(*testing.T, string) {}, "folder of the SQLite file must exist"},
		"a folder":  {"a.db", func(t *testing.T, path string) { require.NoError(t, os.Mkdir(path, 0o700)) }, "is a folder and not a file"},
		"a pipe":    {"a.db", func(t *testing.T, path string) { require.NoError(t, syscall.Mkfifo(path, 0o600)) }, "and not a file"},
		"a text": {"a.db", func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, []byte("# Notes\n\nNothing of ours, and long enough to have a header.\n"), 0o600))
		}, "cannot be read as a SQLite database"},
		"another's database": {"a.db", another, "database of another program"},
		"a newer schema":     {"a.db", newer, "schema version 99"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, test.path)
			test.make(t, path)
			before := modesIn(t, folder)
			content := contentOf(t, path)
			_, err := database.OpenWithMigrations(t.Context(), database.Config{URL: "sqlite:" + path}, scratch)
			require.ErrorContains(t, err, test.means)
			require.ErrorContains(t, err, "opening the")
			require.Equal(t, before, modesIn(t, folder))
			if name != "a newer schema" { // this one is noticed only after opening the file
				require.Equal(t, content, contentOf(t, path))
			}
		})
	}
}

// A start that fails does not remove the lock of an open database.
func TestAFailedStartLeavesTheLockOfAnother(t *testing.T) {
	folder := t.TempDir()
	address := "sqlite:" + filepath.Join(folder, "a.db")
	openScratch(t, database.Config{URL: address})
	_, err := database.Open(t.Context(), database.Config{URL: address})
	require.ErrorContains(t, err, "another process")
	require.Contains(t, modesIn(t, folder), "a.db.lock")
	_, err = database.Open(t.Context(), database.Config{URL: address})
	require.ErrorContains(t, err, "another process")
}

// A file that has several names is not opened under any of them, and one that is open is not opened under another name, however it came
// by that.
func TestAFileIsOpenedUnderOneName(t *testing.T) {
	folder := t.TempDir()
	path, other := filepath.Join(folder, "a.db"), filepath.Join(folder, "b.db")
	opened := openScratch(t, database.Config{URL: "sqlite:" + path})
	require.NoError(t, os.Link(path, other))
	_, err := database.Open(t.Context(), database.Config{URL: "sqlite:" + other})
	require.ErrorContains(t, err, "has 2 names (hard links)")
	require.NoError(t, os.Remove(path)) // now the open file has only the other name
	if runtime.GOOS == "linux" {
		_, err = database.Open(t.Context(), database.Config{URL: "sqlite:" + other})
		require.ErrorContains(t, err, "another process has "+other+" open")
	}
	require.NoError(t, opened.Close())

	path, other = filepath.Join(folder, "c.db"), filepath.Join(folder, "d.db")
	require.NoError(t, openScratch(t, database.Config{URL: "sqlite:" + path}).Close())
	require.NoError(t, os.Link(path, other))
	_, err = database.Open(t.Context(), database.Config{URL: "sqlite:" + path})
	require.ErrorContains(t, err, "remove the others")
	require.NoError(t, os.Remove(other))
	require.NoError(t, openScratch(t, database.Config{URL: "sqlite:" + path}).Close(), "the lock ends when the database is closed")
}
