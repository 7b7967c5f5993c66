package migrations_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"openintent/internal/database/migrations"
)

// The rule finds what older programs cannot bear, and nothing else.
func TestTheRuleFindsWhatContracts(t *testing.T) {
	const first = "-- +goose Up\nCREATE TABLE old (id bigint PRIMARY KEY, name text);\n"
	for statement, refused := range map[string]bool{
		"CREATE TABLE fresh (id bigint PRIMARY KEY, name text NOT NULL)":                                                    false,
		"CREATE TABLE fresh (id bigint);\nCREATE UNIQUE INDEX fresh_id ON fresh (id);\nINSERT INTO fresh VALUES (1)":        false,
		"CREATE TABLE fresh (id bigint);\nALTER TABLE fresh ADD COLUMN n bigint NOT NULL;\nALTER TABLE fresh DROP COLUMN n": false,
		"CREATE VIRTUAL TABLE words USING fts5 (words)":                                                                     false,
		"ALTER TABLE old ADD COLUMN n bigint -- ; DROP TABLE old":                                                           false,
		"ALTER TABLE old ADD COLUMN n text COLLATE \"C\" NOT NULL DEFAULT ''":                                               false,
		"DROP INDEX CONCURRENTLY IF EXISTS old_n;\nCREATE INDEX CONCURRENTLY old_n\n    ON old (name)":                      false,

		"ALTER TABLE old ADD COLUMN n bigint NOT NULL":            true,
		"ALTER TABLE old ADD COLUMN n bigint UNIQUE":              true,
		"ALTER TABLE old ADD COLUMN n bigint CHECK (n > 0)":       true,
		"ALTER TABLE old ADD COLUMN n bigint, DROP COLUMN name":   true,
		"ALTER TABLE old DROP COLUMN name":                        true,
		"ALTER TABLE old RENAME COLUMN name TO title":             true,
		"ALTER TABLE old RENAME TO older":                         true,
		"ALTER TABLE old ALTER COLUMN name TYPE bigint":           true,
		"ALTER TABLE old ALTER COLUMN name SET NOT NULL":          true,
		"ALTER TABLE old ADD CONSTRAINT named CHECK (name <> '')": true,
		"DROP TABLE old":                                                    true,
		"DROP INDEX old_n":                                                  true,
		"DROP INDEX CONCURRENTLY IF EXISTS old_n":                           true,
		"CREATE INDEX CONCURRENTLY old_n ON old (name)":                     true,
		"CREATE INDEX old_n ON old (name)":                                  true,
		"CREATE UNIQUE INDEX CONCURRENTLY old_n ON old (name)":              true,
		"UPDATE old SET name = ''":                                          true,
		"DELETE FROM old":                                                   true,
		"INSERT INTO old VALUES (1, '')":                                    true,
		"CREATE TRIGGER t AFTER INSERT ON old EXECUTE FUNCTION f()":         true,
		"SET search_path = other":                                           true,
		"CREATE TABLE fresh (id bigint);\nALTER TABLE old DROP COLUMN name": true,
	} {
		of := migrations.Schema{
			Files: fstest.MapFS{
				"postgres/00001_first.sql": {Data: []byte(first)},
				"postgres/00002_next.sql":  {Data: []byte("-- +goose Up\n" + statement + ";\n\n-- +goose Down\nDROP TABLE fresh;\n")},
			},
			Releases: []migrations.Release{{Name: "1.0", Newest: 1}, {Name: "1.1"}},
		}
		if found := check(t, of, "postgres"); refused {
			require.NotEmpty(t, found, statement)
		} else {
			require.Empty(t, found, statement)
		}
	}
}
