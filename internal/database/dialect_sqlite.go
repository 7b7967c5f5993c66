package database

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
	"gorm.io/gorm"
)

var errNoPath = errors.New("the URL of a SQLite database is sqlite::memory: or sqlite: and a path, " +
	"for example sqlite:openintent.db or sqlite:/var/lib/openintent.db")

// sqliteFile is the dialect of one SQLite file in WAL mode: one connection that writes, some that read.
type sqliteFile struct {
	path      string
	lock      *fileLock // this process holds it as long as the file is open
	opened    bool      // true once the schema is up to date
	temporary string    // a directory to remove at the end, or ""
	readOnly  bool      // true for a snapshot, which writes nothing

	writePool, readPool *sql.DB
	writer, readers     *gate[*sqliteConnection]
	heavy, ping         *gate[*sqliteConnection] // with connections of the readPool, too

	texts statementTexts
	steps func(sql string, steps int64) // Hooks.Steps
}

func openSQLite(path string, most Connections, steps func(sql string, steps int64)) (_ dialect, err error) {
	s := &sqliteFile{steps: steps}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.abandon())
		}
	}()
	switch {
	case path == ":memory:":
		if s.temporary, err = os.MkdirTemp("", "openintent-"); err != nil {
			return nil, err
		}
		path = filepath.Join(s.temporary, "openintent.db")
	case path == "" || strings.HasPrefix(path, "//"):
		return nil, errNoPath
	}
	if s.path, err = realPath(path); err != nil {
		return nil, err
	}
	if err = probe(s.path); err != nil {
		return nil, err
	}
	if s.lock, err = lockFile(s.path); err != nil {
		return nil, err
	}
	if err = makeFile(s.path); err != nil {
		return nil, err
	}
	if err = s.lock.coverContents(s.path); err != nil {
		return nil, err
	}
	if s.writePool, err = sql.Open("sqlite", s.address(url.Values{})); err != nil {
		return nil, err
	}
	if s.readPool, err = sql.Open("sqlite", s.address(url.Values{"_query_only": {"1"}})); err != nil {
		return nil, err
	}
	bound(s.writePool, 1)
	bound(s.readPool, most.Read+most.Heavy+1)
	s.writer, s.readers = s.connections(s.writePool, 1), s.connections(s.readPool, most.Read)
	s.heavy, s.ping = s.connections(s.readPool, most.Heavy), s.connections(s.readPool, 1)
	return s, nil
}

// address returns the file's address with all settings, so that every connection of a pool has them.
func (s *sqliteFile) moves() int64 { return 0 }

func (s *sqliteFile) address(settings url.Values) string {
	settings.Set("_busy_timeout", strconv.FormatInt(lockPatience.Milliseconds(), 10))
	settings.Set("_journal_mode", "WAL")
	settings.Set("_synchronous", s.synchronous())
	settings.Set("_foreign_keys", "0")
	settings.Set("_txlock", "immediate")
	settings.Set("_dqs", "0") // makes a misspelt name in double quotes an error instead of a text
	return fileURL(s.path, settings)
}

// synchronous says when SQLite waits for the disk: at each commit, and never for a temporary file, which does not outlast the process.
func (s *sqliteFile) synchronous() string {
	if s.temporary != "" {
		return "OFF"
	}
	return "FULL"
}

func bound(pool *sql.DB, connections int) {
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
}

func (s *sqliteFile) connections(pool *sql.DB, n int) *gate[*sqliteConnection] {
	connections := make([]*sqliteConnection, n)
	for i := range connections {
		connections[i] = &sqliteConnection{pool: pool, steps: s.steps}
	}
	home := newGate(connections...)
	for _, c := range connections {
		c.home = home
	}
	return home
}

func (s *sqliteFile) engine() Engine { return SQLite }

func (s *sqliteFile) acquire(ctx context.Context, mode mode) (connection, error) {
	home := s.readers
	switch mode {
	case writing, writingInLane:
		home = s.writer
	case readingHeavily:
		home = s.heavy
	case pinging:
		home = s.ping
	}
	c, err := home.enter(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.open(ctx); err != nil {
		home.leave(c)
		return nil, err
	}
	return c, nil
}

func (s *sqliteFile) begin(mode mode) string {
	switch {
	case mode.writes():
		return "BEGIN IMMEDIATE"
	case mode.snapshot():
		return "BEGIN DEFERRED"
	}
	return ""
}

func (s *sqliteFile) gorm(pool gorm.ConnPool) gorm.Dialector { return sqliteGorm{pool} }

func (s *sqliteFile) migrator() (*migrator, error) {
	address := s.address(url.Values{})
	if s.readOnly {
		address = readOnlyAddress(s.path)
	}
	pool, err := sql.Open("sqlite", address)
	return &migrator{pool: pool, books: pool, engine: SQLite, dialect: goose.DialectSQLite3}, err
}

func (s *sqliteFile) prepare(context.Context) error {
	s.opened = true
	return nil
}

func (s *sqliteFile) clock() string { return "" }

func (s *sqliteFile) forUpdate() string { return "" }

func (s *sqliteFile) contains(column string) string { return "instr(" + column + ", ?) > 0" }

func (s *sqliteFile) indexedBy(index string) string { return " INDEXED BY " + index }

func (s *sqliteFile) waitingPlaces() waitingPlaces { return nil }

func (s *sqliteFile) in(column string, values any) (string, any) {
	condition := column + " IN (SELECT value FROM json_each(?))"
	switch list := values.(type) {
	case []int64:
		if len(list) == 0 {
			return condition, "[]"
		}
		text := make([]byte, 0, 8*len(list))
		for _, n := range list {
			text = strconv.AppendInt(append(text, ','), n, 10)
		}
		text[0] = '['
		return condition, string(append(text, ']'))
	case []string:
		if len(list) == 0 {
			return condition, "[]"
		}
		text, err := json.Marshal(list)
		if err != nil {
			panic(err) // texts always have a JSON form
		}
		return condition, string(text)
	}
	panic(fmt.Sprintf("database: In takes []int64 or []string, not %T", values))
}

func (s *sqliteFile) close(ctx context.Context) error {
	var errs []error
	// Close the readers first, because the last connection writes the log back into the file and must be able to write.
	for _, home := range []*gate[*sqliteConnection]{s.heavy, s.ping, s.readers, s.writer} {
		for _, c := range home.close(ctx) {
			errs = append(errs, c.discard())
		}
	}
	return errors.Join(append(errs, s.readPool.Close(), s.writePool.Close(), s.abandon())...)
}

// abandon releases the file's lock and removes a temporary file.
func (s *sqliteFile) abandon() error {
	var errs []error
	if s.lock != nil {
		errs = append(errs, s.lock.release(s.opened))
	}
	if s.temporary != "" {
		errs = append(errs, os.RemoveAll(s.temporary))
	}
	return errors.Join(errs...)
}
