package databasetest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"openintent/internal/database"
	"openintent/internal/database/migrations"
)

// environment is the variable that names the server to use instead of a private one.
const environment = "OPENINTENT_TEST_POSTGRES"

// freshOptions make a database whose default collation is not the order of bytes.
const freshOptions = ` TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'en-US'`

// copyFiles makes a database by copying the files of its template. PostgreSQL's other strategy also writes each page to its log,
// which takes twice as long on a server that does not wait for the disk.
const copyFiles = " STRATEGY FILE_COPY"

// maintenance returns the URL of the server's maintenance database.
var maintenance = sync.OnceValues(func() (string, error) {
	if address := os.Getenv(environment); address != "" {
		return address, nil
	}
	return startServer()
})

// administration returns a pool of connections to the maintenance database, which all tests of the process share.
var administration = sync.OnceValues(func() (*sql.DB, error) {
	address, err := maintenance()
	if err != nil {
		return nil, err
	}
	pool, err := sql.Open("pgx", address) // the driver that package database registers
	if err == nil {
		pool.SetMaxOpenConns(4)
	}
	return pool, err
})

func administer(do func(conn *sql.DB) error) error {
	pool, err := administration()
	if err != nil {
		return err
	}
	return do(pool)
}

// postgresURL makes a database, either from the template or blank, and drops it when the test ends.
func postgresURL(tb testing.TB, migrated bool) string {
	tb.Helper()
	NeedsPostgreSQL(tb)
	origin := freshOptions
	if migrated {
		template, err := postgresTemplate()
		if err != nil {
			tb.Fatalf("making the PostgreSQL template: %v", err)
		}
		origin = " TEMPLATE " + template + copyFiles
	}
	name := fmt.Sprintf("openintent_test_%016x", rand.Uint64())
	if err := execute("CREATE DATABASE " + name + origin); err != nil {
		tb.Fatalf("making the test's database: %v", err)
	}
	tb.Cleanup(func() {
		if err := administer(func(pool *sql.DB) error { return drop(pool, name) }); err != nil {
			tb.Errorf("dropping the test's database: %v", err)
		}
	})
	return onServer(tb, name)
}

// drop drops a database. The sessions of connections that were just closed end within some milliseconds. It waits for that, because
// otherwise PostgreSQL would wait for a tenth of a second.
func drop(pool *sql.DB, name string) error {
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for range 100 {
		var sessions int
		row := pool.QueryRow("SELECT numbackends FROM pg_stat_database WHERE datname = $1", name)
		if err := row.Scan(&sessions); err != nil || sessions == 0 {
			break
		}
		<-again.C
	}
	_, err := pool.Exec("DROP DATABASE " + name + " WITH (FORCE)")
	return err
}

func execute(statement string) error {
	return administer(func(conn *sql.DB) error {
		_, err := conn.Exec(statement)
		return err
	})
}

// onServer returns the URL of another database on the server.
func onServer(tb testing.TB, name string) string {
	tb.Helper()
	address, err := serverURL(name)
	if err != nil {
		tb.Fatal(err)
	}
	return address
}

func serverURL(name string) (string, error) {
	address, err := maintenance()
	if err != nil {
		return "", err
	}
	parsed, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("%s is not a postgres:// URL", environment)
	}
	parsed.Path = "/" + name
	return parsed.String(), nil
}

// postgresTemplate returns the name of a migrated database. The name contains a hash of the migrations, and the database stays
// on the server, so all test processes of a run share it.
var postgresTemplate = sync.OnceValues(func() (string, error) {
	hash, err := hashMigrations()
	if err != nil {
		return "", err
	}
	name := "openintent_template_" + hex.EncodeToString(hash[:8])
	return name, administer(func(pool *sql.DB) error {
		ctx := context.Background()
		conn, err := pool.Conn(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		lock := int64(binary.BigEndian.Uint64(hash[8:16]))
		if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", lock); err != nil {
			return err
		}
		defer func() { _, _ = conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", lock) }()
		var exists bool
		row := conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)", name)
		if err := row.Scan(&exists); err != nil || exists {
			return err
		}
		return makeTemplate(ctx, conn, name)
	})
})

// makeTemplate migrates a database under another name first, so that nobody uses a half-made database as the template.
func makeTemplate(ctx context.Context, conn *sql.Conn, name string) error {
	building := name + "_building"
	for _, statement := range []string{
		"DROP DATABASE IF EXISTS " + building + " WITH (FORCE)",
		"CREATE DATABASE " + building + freshOptions,
	} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	address, err := serverURL(building)
	if err != nil {
		return err
	}
	db, err := database.Open(ctx, database.Config{URL: address})
	if err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "ALTER DATABASE "+building+" RENAME TO "+name)
	return err
}

// hashMigrations hashes the names and contents of PostgreSQL's migrations, their releases, and the options with which databases are made.
func hashMigrations() ([]byte, error) {
	hash := sha256.New()
	_, _ = fmt.Fprint(hash, freshOptions, migrations.Current.Releases)
	err := fs.WalkDir(migrations.Current.Files, database.PostgreSQL.String(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(migrations.Current.Files, path)
		hash.Write([]byte(path))
		hash.Write(content)
		return err
	})
	return hash.Sum(nil), err
}
