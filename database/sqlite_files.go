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
	"syscall"
)

// ownersOnly is the mode of the files that are made here. SQLite gives the log and its index beside a file the file's mode.
// A file that is there already keeps the mode that its owner gave it.
const ownersOnly = 0o600

// realPath follows symbolic links, so that one file has one lock under all its names.
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

// probe refuses what is no database of this program, before anything is made beside it or changed in it.
func probe(path string) error {
	found, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("the SQLite file cannot be looked at: %w", err)
	case !found.Mode().IsRegular():
		return fmt.Errorf("%s is a %s and not a file; the URL must name the SQLite file itself", path, kindOf(found.Mode()))
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("the SQLite file must be readable and writable: %w", err)
	}
	return errors.Join(probeTables(path), file.Close())
}

func kindOf(mode fs.FileMode) string {
	if mode.IsDir() {
		return "folder"
	}
	return "device or the like"
}

// probeTables refuses a file whose tables are another program's. Ours has the table of applied migrations from the start.
func probeTables(path string) (err error) {
	address := url.URL{Scheme: "file", Path: path, RawQuery: "mode=ro"}
	pool, err := sql.Open("sqlite", address.String())
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

// fileLock keeps other processes away from a database. They could share the file, but not the order in which writers are
// served, nor wake-ups.
type fileLock struct {
	file *os.File
	made bool // by this process
}

func lockFile(path string) (*fileLock, error) {
	name := path + ".lock"
	_, err := os.Lstat(name)
	lock := &fileLock{made: errors.Is(err, fs.ErrNotExist)}
	if lock.file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, ownersOnly); err != nil {
		return nil, fmt.Errorf("the folder of the SQLite file must be writable: %w", err)
	}
	err = syscall.Flock(int(lock.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || err == nil && !lock.stands() {
		err = fmt.Errorf("another process has %s open; SQLite serves one process at a time, PostgreSQL several", path)
	}
	if err != nil {
		return nil, errors.Join(err, lock.file.Close())
	}
	return lock, nil
}

// stands tells whether the lock's file is still the one of its name: whoever could not open the database removes what it made.
func (l *fileLock) stands() bool {
	locked, err := l.file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(l.file.Name())
	return err == nil && os.SameFile(locked, named)
}

// release gives the lock up. Its file stays beside a database that could be opened.
func (l *fileLock) release(opened bool) error {
	var err error
	if l.made && !opened {
		err = os.Remove(l.file.Name()) // still locked, so that nobody takes a lock that is about to go
	}
	return errors.Join(err, l.file.Close())
}

// makeFile makes an empty database, unless there is one.
func makeFile(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, ownersOnly)
	if err != nil {
		return fmt.Errorf("the SQLite file cannot be made: %w", err)
	}
	return errors.Join(file.Chmod(ownersOnly), file.Close()) // whatever mask the process has
}
