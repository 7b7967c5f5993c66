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
	"strconv"
	"strings"
)

// ownersOnly is the mode of the files that this package makes. SQLite gives the file's mode to the log and its index, too. An
// existing file keeps the mode that its owner gave it.
const ownersOnly = 0o600

// realPath follows symbolic links, so that a file has the same lock under all its names.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target, nil
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", fmt.Errorf("the folder of the SQLite file must exist: %w", err)
	}
	return filepath.Join(folder, filepath.Base(path)), nil
}

// fileURL returns the URL by which SQLite opens an absolute path. On Windows it begins with a drive, which the URL has after a slash.
func fileURL(path string, settings url.Values) string {
	address := url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(path), "/"), RawQuery: settings.Encode()}
	return address.String()
}

// probe refuses a path that is not a database of this program, before Open changes it or makes files beside it.
func probe(path string) error {
	found, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("the SQLite file cannot be examined: %w", err)
	case !found.Mode().IsRegular():
		return fmt.Errorf("%s is a %s and not a file; the URL must name the SQLite file itself", path, kindOf(found.Mode()))
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("the SQLite file must be readable and writable: %w", err)
	}
	return errors.Join(probeNames(file, path), probeTables(path), file.Close())
}

// probeNames refuses a file with several names (hard links). The lock and SQLite's own log stand beside one of them, so two processes that
// open it under two names would destroy it, and so would a process that opens it after another one has crashed.
func probeNames(file *os.File, path string) error {
	names, err := namesOf(file)
	if err == nil && names > 1 {
		err = fmt.Errorf("%s has %d names (hard links), and SQLite keeps its log beside only one of them; remove the others, or copy the file"+
			" with openintent backup", path, names)
	}
	return err
}

func kindOf(mode fs.FileMode) string {
	if mode.IsDir() {
		return "folder"
	}
	return "device or the like"
}

// readOnlyAddress returns the address under which a file is only read, beside whoever writes it.
func readOnlyAddress(path string) string {
	settings := url.Values{"mode": {"ro"}, "_dqs": {"0"}, "_busy_timeout": {strconv.FormatInt(lockPatience.Milliseconds(), 10)}}
	return fileURL(path, settings)
}

// probeTables refuses a file with the tables of another program. Our files have a table of applied migrations from the start.
func probeTables(path string) (err error) {
	pool, err := sql.Open("sqlite", readOnlyAddress(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	var tables, ours int
	row := pool.QueryRowContext(context.Background(), `SELECT count(*), count(*) FILTER (WHERE name = 'goose_db_version')
		FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`)
	if err := row.Scan(&tables, &ours); err != nil {
		return fmt.Errorf("%s cannot be read as a SQLite database: %w", path, err)
	}
	if tables > 0 && ours == 0 {
		return fmt.Errorf("%s is a database of another program; name another file, which is made if it does not exist", path)
	}
	return nil
}

// fileLock keeps other processes away from a database. They could share the file, but neither the order in which writers get
// their turns nor wake-ups.
type fileLock struct {
	file *os.File
	made bool // true if this process made the file
	// contents is the database's file, which is locked, too, since it may have another name for another process. Closing it ends SQLite's
	// own locks on it, so it is closed last.
	contents *os.File
}

func lockFile(path string) (*fileLock, error) {
	name := path + ".lock"
	_, err := os.Lstat(name)
	lock := &fileLock{made: errors.Is(err, fs.ErrNotExist)}
	if lock.file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, ownersOnly); err != nil {
		return nil, fmt.Errorf("the folder of the SQLite file must be writable: %w", err)
	}
	taken, err := lockExclusively(lock.file)
	if taken || err == nil && !lock.stands() {
		err = heldByOther(path)
	}
	if err != nil {
		return nil, errors.Join(err, lock.file.Close())
	}
	return lock, nil
}

func heldByOther(path string) error {
	return fmt.Errorf("another process has %s open, perhaps a server; stop it first, because SQLite serves one process at a time (PostgreSQL serves several)", path)
}

// coverContents makes the lock cover the database's file, whatever its name is for others.
func (l *fileLock) coverContents(path string) (err error) {
	if l.contents, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		return err
	}
	taken, err := lockContents(l.contents)
	if taken {
		return heldByOther(path)
	}
	return err
}

// stands reports whether the lock's file is still the one under its name. It may not be, because a process that could not open
// the database removes the lock file that it made.
func (l *fileLock) stands() bool {
	locked, err := l.file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(l.file.Name())
	return err == nil && os.SameFile(locked, named)
}

// release gives the lock up. It leaves the lock's file beside a database that could be opened.
func (l *fileLock) release(opened bool) error {
	var err error
	if l.made && !opened && removesOpenFiles {
		err = os.Remove(l.file.Name()) // while it is still locked, so that nobody locks a file that is about to be removed
	}
	if l.contents != nil {
		err = errors.Join(err, l.contents.Close())
	}
	return errors.Join(err, l.file.Close())
}

// makeFile makes an empty database unless the file exists.
func makeFile(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, ownersOnly)
	if err != nil {
		return fmt.Errorf("the SQLite file cannot be made: %w", err)
	}
	return errors.Join(file.Chmod(ownersOnly), file.Close()) // Chmod ignores the process's umask
}
