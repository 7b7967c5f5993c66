package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
)

// backupStep is how many pages are copied before a backup looks whether it has to end: a few megabytes.
const backupStep = 1024

// ErrNotSQLite refuses to back up a database that its own server's tools back up.
var ErrNotSQLite = errors.New("only a SQLite database is backed up so; back PostgreSQL up with pg_basebackup or pg_dump, " +
	"as docs/backups.md says")

// Copied says what a backup has done.
type Copied struct {
	From, Into string
	Bytes      int64
	Took       time.Duration
}

// Backup copies the SQLite database at a URL into a new file. A server may serve the database meanwhile: the copy is what was
// committed when the backup began, and nobody waits for it. The file gets its name when it is whole, checked and on the disk. It
// is for its owner only. Backup refuses a file that exists. It tells progress, which may be nil, how many pages it has copied; when these
// are all, it checks the copy.
func Backup(ctx context.Context, address, into string, progress func(pages, of int)) (copied Copied, err error) {
	began := time.Now()
	path, err := existingFile(address)
	if err != nil {
		return Copied{}, err
	}
	if into, err = filepath.Abs(into); err != nil { // SQLite wants it so
		return Copied{}, err
	}
	if _, err := os.Lstat(into); !errors.Is(err, fs.ErrNotExist) {
		return Copied{}, errors.Join(fmt.Errorf("%s exists; name a new file, because a backup never overwrites one", into), err)
	}
	partial, err := os.CreateTemp(filepath.Dir(into), filepath.Base(into)+".partial-*") // with mode 0600
	if err != nil {
		return Copied{}, fmt.Errorf("the backup's folder must exist and be writable: %w", err)
	}
	defer func() {
		err = errors.Join(err, partial.Close())
		if err != nil {
			err = errors.Join(err, removeAny(partial.Name(), partial.Name()+"-journal"))
		}
	}()
	if err := copyPages(ctx, path, partial.Name(), progress); err != nil {
		return Copied{}, fmt.Errorf("copying %s: %w", path, err)
	}
	if err := checkPages(ctx, partial.Name(), true); err != nil {
		return Copied{}, fmt.Errorf("the copy is not whole, and is removed: %w", err)
	}
	if err := keepFile(partial, into); err != nil {
		return Copied{}, err
	}
	size, err := partial.Stat()
	if err != nil {
		return Copied{}, err
	}
	return Copied{From: path, Into: into, Bytes: size.Size(), Took: time.Since(began)}, nil
}

// sqlitePath returns the path in the URL of a SQLite database that outlives its server.
func sqlitePath(address string) (string, error) {
	scheme, path, _ := strings.Cut(address, ":")
	switch {
	case scheme == "postgres" || scheme == "postgresql":
		return "", ErrNotSQLite
	case scheme != "sqlite":
		return "", errUnknownURL
	case path == ":memory:":
		return "", errors.New("a database in memory belongs to its server alone; name one in a file")
	case path == "" || strings.HasPrefix(path, "//"):
		return "", errNoPath
	}
	return path, nil
}

// existingFile returns the path of the SQLite file that a URL names, and refuses one that does not hold a database of this program.
func existingFile(address string) (string, error) {
	path, err := sqlitePath(address)
	if err != nil {
		return "", err
	}
	if path, err = realPath(path); err != nil {
		return "", err
	}
	found, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s does not exist; name the database with --database-url or OPENINTENT_DATABASE_URL", path)
	case err != nil:
		return "", fmt.Errorf("the SQLite file cannot be examined: %w", err)
	case !found.Mode().IsRegular():
		return "", fmt.Errorf("%s is a %s and not a file", path, kindOf(found.Mode()))
	}
	// The file is not opened but by SQLite: closing it would give up the locks that a server in this process holds on it.
	return path, probeTables(path)
}

// copyPages copies all pages as of one moment. The open transaction is that moment: without it the copy would begin anew with each
// commit of the server.
func copyPages(ctx context.Context, from, into string, progress func(pages, of int)) (err error) {
	pool, err := sql.Open("sqlite", readOnlyAddress(from))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	var pages int
	for _, statement := range []string{"BEGIN", "SELECT count(*) FROM sqlite_schema"} {
		if err := conn.QueryRowContext(ctx, statement).Scan(&pages); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	// Nobody needs the copy after a crash in between, so nothing waits for the disk before the end.
	target := url.URL{Scheme: "file", Path: into, RawQuery: "_synchronous=OFF&_journal_mode=OFF"}
	return conn.Raw(func(driver any) error {
		backup, err := driver.(interface {
			NewBackup(into string) (*sqlite.Backup, error)
		}).NewBackup(target.String())
		if err != nil {
			return err
		}
		for more := true; more && err == nil; {
			if err = ctx.Err(); err == nil {
				more, err = backup.Step(backupStep)
			}
			if all := backup.PageCount(); err == nil && progress != nil {
				progress(all-backup.Remaining(), all)
			}
		}
		return errors.Join(err, backup.Finish())
	})
}

// checkPages lets SQLite check that a file's pages and rows are well-formed. Nobody may change an immutable file meanwhile; then
// SQLite makes no files beside it.
func checkPages(ctx context.Context, path string, immutable bool) (err error) {
	address := readOnlyAddress(path)
	if immutable {
		address += "&immutable=1"
	}
	pool, err := sql.Open("sqlite", address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	var found string
	if err := pool.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); err != nil {
		return err
	}
	if found != "ok" {
		return errors.New(found)
	}
	return nil
}

// keepFile gives a file its lasting name once it is on the disk.
func keepFile(partial *os.File, name string) error {
	if err := partial.Sync(); err != nil {
		return err
	}
	if err := os.Rename(partial.Name(), name); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// removeAny removes those of the files that exist.
func removeAny(names ...string) (err error) {
	for _, name := range names {
		if removed := os.Remove(name); !errors.Is(removed, fs.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}
	return err
}
