package databasetest

import (
	"context"
	"testing"

	"openintent/internal/database"
)

// keptPrefix begins the names of the tables with the copies.
const keptPrefix = "kept_"

// Past is the content of a database at some time. Putting it back has the same effect as restoring a backup, or as a failover
// to a standby that lagged: while servers run, everything that was committed since is lost.
type Past struct {
	db     *database.DB
	name   string
	tables []string
}

// Remember copies the content of the database, under a name that the test chooses.
func Remember(tb testing.TB, db *database.DB, name string) *Past {
	tb.Helper()
	past := &Past{db: db, name: keptPrefix + name + "_", tables: tables(tb, db)}
	past.each(tb, func(table, kept string) []string {
		return []string{"CREATE TABLE " + kept + " AS SELECT * FROM " + table}
	})
	return past
}

// PutBack restores the remembered content in one transaction.
func (p *Past) PutBack(tb testing.TB) {
	tb.Helper()
	p.each(tb, func(table, kept string) []string {
		return []string{"DELETE FROM " + table, "INSERT INTO " + table + " SELECT * FROM " + kept}
	})
}

func (p *Past) each(tb testing.TB, queries func(table, kept string) []string) {
	tb.Helper()
	err := p.db.Write(context.Background(), func(tx *database.Tx) error {
		for _, table := range p.tables {
			for _, query := range queries(table, p.name+table) {
				if err := tx.Pipeline(database.Statement{SQL: query}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		tb.Fatalf("copying the tables: %v", err)
	}
}

// tables returns the names of a database's tables, except the copies.
func tables(tb testing.TB, db *database.DB) (names []string) {
	tb.Helper()
	query := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'" +
		" AND name NOT LIKE 'search_words%'" // the word index only names candidates, and its tables belong together
	if db.Engine() == database.PostgreSQL {
		query = "SELECT name FROM (SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()) AS t WHERE 1 = 1"
	}
	err := db.Read(context.Background(), func(tx *database.Tx) error {
		return tx.Pipeline(database.ReadValues(&names, query+" AND name NOT LIKE '"+keptPrefix+"%'"))
	})
	if err != nil {
		tb.Fatalf("listing the tables: %v", err)
	}
	return names
}
