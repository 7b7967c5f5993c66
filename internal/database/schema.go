package database

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"openintent/internal/database/migrations"
)

const (
	// firstBook is the table with the numbers of the migrations up to those of the first release. That release refuses to start if
	// the table has a higher number than it knows, and cannot be changed any more. So all further numbers stand in laterBook, and
	// programs of the first release can be started beside those of the second.
	firstBook = "goose_db_version"
	laterBook = "schema_versions"
	// releaseBook is the table with the releases whose programs have brought the database up to date.
	releaseBook = "schema_releases"
	// closed is the number in firstBook that keeps programs of the first release out. The third release writes it.
	closed = 1_000_000
)

// Migration is a step of the schema.
type Migration struct {
	Number int64
	Name   string
	// Release is the release with which it came, such as 0.2.
	Release string
}

// Outlook says how a database's schema compares with the program's.
type Outlook struct {
	// Release is the program's release.
	Release string
	// Pending are the migrations that the database lacks, in order.
	Pending []Migration
	// Newer is the release whose program has brought the database further than this program knows; empty if none has.
	Newer string
}

// knownSchema is what a program knows: the migrations of one engine, in order, and the releases.
type knownSchema struct {
	files      fs.FS
	migrations []Migration
	releases   []migrations.Release
}

// newSchema reads the migrations of an engine. The release that is under way gets the number of the newest one.
func newSchema(of migrations.Schema, engine Engine) (*knownSchema, error) {
	s := &knownSchema{releases: slices.Clone(of.Releases)}
	var err error
	if s.files, err = fs.Sub(of.Files, engine.String()); err != nil {
		return nil, err
	}
	names, err := fs.Glob(s.files, "*.sql")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		digits, rest, _ := strings.Cut(strings.TrimSuffix(name, ".sql"), "_")
		number, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the migration %s has no number", name)
		}
		s.migrations = append(s.migrations, Migration{Number: number, Name: rest})
	}
	slices.SortFunc(s.migrations, func(a, b Migration) int { return cmp.Compare(a.Number, b.Number) })
	if last := &s.releases[len(s.releases)-1]; last.Newest == 0 && len(s.migrations) > 0 {
		last.Newest = s.migrations[len(s.migrations)-1].Number
	}
	for i, m := range s.migrations {
		s.migrations[i].Release = s.releaseOf(m.Number)
	}
	return s, nil
}

// releaseOf returns the release with which a migration came, or "" for an unknown number.
func (s *knownSchema) releaseOf(number int64) string {
	for _, release := range s.releases {
		if number <= release.Newest {
			return release.Name
		}
	}
	return ""
}

// release is the program's own.
func (s *knownSchema) release() string { return s.releases[len(s.releases)-1].Name }

// lastInFirstBook is the highest number that belongs into firstBook.
func (s *knownSchema) lastInFirstBook() int64 { return s.releases[0].Newest }

// books are what a database says about its schema.
type books struct {
	first, later []int64
	releases     []migrations.Release
}

// outlook compares the books with what the program knows. It refuses a database that programs of two or more later releases have
// brought up to date, and one whose numbers nobody can explain.
func (s *knownSchema) outlook(b books) (Outlook, error) {
	o := Outlook{Release: s.release()}
	var newer []string
	for _, release := range b.releases {
		if !slices.ContainsFunc(s.releases, func(known migrations.Release) bool { return known.Name == release.Name }) {
			newer = append(newer, release.Name)
		}
	}
	newest := s.releases[len(s.releases)-1].Newest
	switch strays := b.strays(s.lastInFirstBook()); {
	case len(newer) > 1:
		return o, fmt.Errorf("the database was brought up to date by the releases %s, and this program is of release %s, which serves "+
			"a schema that is newer by one release at most; run a program of release %s or a newer one", strings.Join(newer, ", "),
			o.Release, newer[0])
	case len(strays) > 0 && slices.Max(strays) > newest:
		return o, fmt.Errorf("the database has schema version %d, but this program knows only versions up to %d; "+
			"run the newer program that wrote it, or open another database", slices.Max(strays), newest)
	case len(newer) == 1:
		o.Newer = newer[0]
	case len(b.later) > 0 && slices.Max(b.later) > newest:
		o.Newer = o.Release // a later state of the same release, while that is under way
	}
	for _, m := range s.migrations {
		if !slices.Contains(b.first, m.Number) && !slices.Contains(b.later, m.Number) {
			o.Pending = append(o.Pending, m)
		}
	}
	return o, nil
}

// strays are the numbers in firstBook that belong into laterBook. Programs between the first two releases wrote them.
func (b books) strays(last int64) (found []int64) {
	for _, number := range b.first {
		if number > last && number != closed {
			found = append(found, number)
		}
	}
	return found
}

// kept reports whether the books need no change.
func (s *knownSchema) kept(b books) bool {
	for _, release := range s.releases {
		if !slices.ContainsFunc(b.releases, func(r migrations.Release) bool { return r.Name == release.Name && r.Newest >= release.Newest }) {
			return false
		}
	}
	return len(b.strays(s.lastInFirstBook())) == 0 && (!s.closesFirstBook() || slices.Contains(b.first, closed))
}

// closesFirstBook reports whether programs of the first release may no longer use the database, because this program is newer by
// more than one release.
func (s *knownSchema) closesFirstBook() bool { return len(s.releases) > 2 }

// readBooks reads what a database says. A book that is not there is empty.
func (m *migrator) readBooks(ctx context.Context) (b books, err error) {
	b.first, err = m.numbersIn(ctx, firstBook)
	if err != nil {
		return b, err
	}
	if b.later, err = m.numbersIn(ctx, laterBook); err != nil {
		return b, err
	}
	err = m.rows(ctx, releaseBook, "SELECT name, newest FROM "+releaseBook+" ORDER BY newest, name", func(rows *sql.Rows) error {
		var release migrations.Release
		err := rows.Scan(&release.Name, &release.Newest)
		b.releases = append(b.releases, release)
		return err
	})
	return b, err
}

func (m *migrator) numbersIn(ctx context.Context, book string) (numbers []int64, err error) {
	err = m.rows(ctx, book, "SELECT version_id FROM "+book+" WHERE version_id > 0", func(rows *sql.Rows) error {
		var number int64
		err := rows.Scan(&number)
		numbers = append(numbers, number)
		return err
	})
	return numbers, err
}

// rows calls a function for each row of a query, if the table is there.
func (m *migrator) rows(ctx context.Context, table, query string, each func(*sql.Rows) error) error {
	there := "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '" + table + "'"
	if m.engine == PostgreSQL {
		there = "SELECT count(*) FROM (SELECT to_regclass('" + table + "') AS oid) t WHERE oid IS NOT NULL"
	}
	var count int
	if err := m.books.QueryRowContext(ctx, there).Scan(&count); err != nil || count == 0 {
		return err
	}
	rows, err := m.books.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// write makes the books say what is in force: which releases have brought the database up to date, and each number in its book. It is
// called before the migrations of later releases are applied, so that the books never say too little.
func (s *knownSchema) write(ctx context.Context, conn *sql.Conn, later bool) error {
	statements := []string{"CREATE TABLE IF NOT EXISTS " + releaseBook + " (name text PRIMARY KEY, newest bigint NOT NULL)"}
	if later {
		strays := fmt.Sprintf("version_id > %d AND version_id <> %d", s.lastInFirstBook(), closed)
		statements = append(statements,
			fmt.Sprintf("INSERT INTO %[1]s (version_id, is_applied, tstamp) SELECT version_id, is_applied, tstamp FROM %[2]s WHERE %[3]s"+
				" AND version_id NOT IN (SELECT version_id FROM %[1]s) ORDER BY id", laterBook, firstBook, strays),
			fmt.Sprintf("DELETE FROM %s WHERE %s", firstBook, strays))
	}
	for _, release := range s.releases {
		statements = append(statements, fmt.Sprintf("INSERT INTO %[1]s (name, newest) VALUES ('%[2]s', %[3]d) ON CONFLICT (name) DO UPDATE"+
			" SET newest = excluded.newest WHERE %[1]s.newest < excluded.newest", releaseBook, release.Name, release.Newest))
	}
	if s.closesFirstBook() {
		statements = append(statements, fmt.Sprintf("INSERT INTO %[1]s (version_id, is_applied) SELECT %[2]d, is_applied FROM %[1]s"+
			" WHERE version_id = 0 AND NOT EXISTS (SELECT 1 FROM %[1]s WHERE version_id = %[2]d)", firstBook, closed))
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, statement := range statements {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return tx.Commit()
}
