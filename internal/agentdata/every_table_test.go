package agentdata

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// schema reads the tables of a database, with their columns.
func schema(t *testing.T, db *database.DB) map[string][]string {
	t.Helper()
	query := "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'"
	if db.Engine() == database.PostgreSQL {
		query = "SELECT table_name::text, column_name::text FROM information_schema.columns WHERE table_schema = current_schema()"
	}
	tables := make(map[string][]string)
	require.NoError(t, db.Read(t.Context(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{SQL: query, Scan: func(row database.Row) error {
			var table, column string
			err := row.Scan(&table, &column)
			tables[table] = append(tables[table], column)
			return err
		}})
	}))
	require.NotEmpty(t, tables)
	return tables
}

// missing compares the list with a schema, and says what is wrong with it.
func missing(list []Table, schema map[string][]string) (wrong []string) {
	for name, columns := range schema {
		at := slices.IndexFunc(list, func(t Table) bool { return t.Name == name })
		if at < 0 {
			wrong = append(wrong, "the table "+name)
			continue
		}
		if list[at].Of == "" {
			continue
		}
		listed := strings.Fields(list[at].Hidden)
		for _, f := range list[at].fields() {
			listed = append(listed, f.name)
		}
		for _, column := range columns {
			if !slices.Contains(listed, column) {
				wrong = append(wrong, "the column "+name+"."+column)
			}
		}
		for i, column := range listed {
			if !slices.Contains(columns, column) || slices.Contains(listed[:i], column) {
				wrong = append(wrong, "no column "+name+"."+column)
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

// The list has each table and each column of both engines, and finds one that is planted.
func TestTheListIsTheSchema(t *testing.T) {
	seen := make(map[string]bool)
	for _, engine := range databasetest.Engines() {
		db := databasetest.Open(t, database.Config{URL: databasetest.URL(t, engine)})
		there := schema(t, db)
		for name := range there {
			seen[name] = true
		}
		require.Empty(t, missing(Tables, there), "%s: say in every_table.go what an export and an erasure make of it", engine)
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(
				database.Statement{SQL: "CREATE TABLE diaries (agent_id text, entry text)"},
				database.Statement{SQL: "ALTER TABLE members ADD COLUMN mood text"},
			)
		}))
		require.Equal(t, []string{"the column members.mood", "the table diaries"}, missing(Tables, schema(t, db)), engine)
	}
	for _, table := range Tables {
		require.True(t, seen[table.Name], "there is no table %s", table.Name)
	}
}

// byRooms are the tables that rooms erase with functions of their own.
var byRooms = []string{
	record, contents, delivering, heard, signedIn, "contacts", "contact_codes", "contact_looks", "contact_calls", "contact_posts",
}

// Each entry says what it has to say, once.
func TestTheListSaysWhy(t *testing.T) {
	names := make(map[string]bool)
	for _, table := range Tables {
		require.False(t, names[table.Name], table.Name)
		names[table.Name] = true
		require.NotEmpty(t, table.Erased+table.Stays, table.Name)
		erases := table.change != nil || slices.Contains(byRooms, table.Name)
		require.Equal(t, erases, table.Erased != "", table.Name)
		if table.Of == "" {
			require.Empty(t, table.Columns+table.Hidden+table.Erased, table.Name)
		}
		for _, f := range table.fields() {
			require.NotContains(t, []string{"api_keys.digest", "api_keys.former_digest", "idempotency_keys.fingerprint", "subscriptions.secret",
				"console_sessions.session_id", "console_sessions.secret_digest", "console_sessions.key_check", "console_tokens.refresh_token",
				"contacts.address", "contacts.code_digest", "contact_codes.address_digest"},
				table.Name+"."+f.name)
		}
	}
}

// The page has the list as a table.
func TestThePageHasTheList(t *testing.T) {
	page, err := os.ReadFile("../../docs/personal-data.md")
	require.NoError(t, err)
	var rows []string
	for _, table := range Tables {
		if table.Of != "" {
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |", table.Name, table.Erased, table.Stays))
		}
	}
	_, shown, found := strings.Cut(string(page), "| Table | Erased | What stays, and why |\n|---|---|---|\n")
	require.True(t, found)
	require.Equal(t, strings.Join(rows, "\n")+"\n", shown)
}
