package migrations_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/database/migrations"
)

// allowed are the statements that break the rule, with the reason why the programs of the release before bear them nonetheless. What
// contracts the schema stands here too, with the release whose programs were the last to need it.
var allowed = map[string]string{
	"00020_presence.sql: UPDATE channels SET name = '_system-' || id WHERE name = '_system'": "the server's own channel takes the " +
		"name; a channel that somebody had made under it goes on under another one, and older programs serve it so",
	"00035_mesh_channel.sql: UPDATE channels SET created_by = 'system' WHERE name = 'default' AND intent_no IN " +
		"(SELECT intent_no FROM intents WHERE id = 'repomesh' AND created_by = 'system')": "older programs do not make the intent, and serve " +
		"a channel whatever its creator is called",
	"00031_inbox_indexes.sql: DROP INDEX open_requests_target": "the next statement makes it again with a longer key, in the same transaction",
	"00037_lists.sql: DROP INDEX coordinators_agent":           "the next statement makes it again with a longer key, in the same transaction",
}

// digests are those of the files of the releases, which never change again.
var digests = map[string]string{
	"0.1": "37be3168e05fecf954dc56415060255eadecbaeec7874c2cab86cb93180e0698",
	"0.2": "89fa6d01bce9cf310973d4e10f95908adb2fc2b12648cd1ecb7f28df04e3bfe1",
}

// rule judges the statements of one engine's migrations, in order.
type rule struct {
	// made is the release that made each table.
	made map[string]string
	// removed are the indexes that the present file has removed in order to make them again.
	removed map[string]bool
}

var (
	createTable = regexp.MustCompile(`^CREATE (?:VIRTUAL )?TABLE (\w+)`)
	createIndex = regexp.MustCompile(`^CREATE (UNIQUE )?INDEX (CONCURRENTLY )?(?:IF NOT EXISTS )?(\w+) ON (\w+)`)
	dropIndex   = regexp.MustCompile(`^DROP INDEX CONCURRENTLY IF EXISTS (\w+)$`)
	alterTable  = regexp.MustCompile(`^ALTER TABLE (?:ONLY )?(\w+) (.*)$`)
	addColumn   = regexp.MustCompile(`^ADD COLUMN \w+ \w+`)
	ofTable     = regexp.MustCompile(`^(?:INSERT INTO|UPDATE|DELETE FROM|DROP TABLE) (\w+)`)
	setting     = regexp.MustCompile(`^(?:SET lock_timeout = '\w+'|RESET lock_timeout)$`)
	bound       = regexp.MustCompile(`\b(UNIQUE|CHECK|REFERENCES|PRIMARY KEY|GENERATED|FOREIGN)\b`)
)

// judge returns why the programs of the release before might not bear a statement; "" if they do.
func (r *rule) judge(engine, release, statement string) string {
	old := func(table string) bool { return r.made[table] != release }
	if m := createTable.FindStringSubmatch(statement); m != nil {
		r.made[m[1]] = release
		return ""
	}
	if m := createIndex.FindStringSubmatch(statement); m != nil {
		switch {
		case !old(m[4]):
			return ""
		case m[1] != "":
			return "an older program may store rows that a new unique index refuses"
		case engine == "postgres" && m[2] == "":
			return "it keeps everybody from writing to a table that is in use; say CONCURRENTLY in a file with -- +goose NO TRANSACTION"
		case m[2] != "" && !r.removed[m[3]]:
			return "an index that PostgreSQL could not finish would stay; first say DROP INDEX CONCURRENTLY IF EXISTS"
		}
		delete(r.removed, m[3])
		return ""
	}
	if m := dropIndex.FindStringSubmatch(statement); m != nil {
		r.removed[m[1]] = true
		return ""
	}
	if m := alterTable.FindStringSubmatch(statement); m != nil {
		switch {
		case !old(m[1]):
			return ""
		case !addColumn.MatchString(m[2]) || strings.Contains(m[2], ","):
			return "an older program may need what it changes"
		case bound.MatchString(m[2]):
			return "an older program may store rows that the bound refuses"
		case strings.Contains(m[2], "NOT NULL") && !strings.Contains(m[2], "DEFAULT"):
			return "an older program stores rows without the column; give it a DEFAULT"
		}
		return ""
	}
	if m := ofTable.FindStringSubmatch(statement); m != nil && !old(m[1]) || setting.MatchString(statement) {
		return ""
	}
	return "an older program may not expect it"
}

// check judges the files of one engine, and returns what breaks the rule: the file and the statement, with the reason.
func check(t *testing.T, of migrations.Schema, engine string) map[string]string {
	t.Helper()
	r, found := &rule{made: make(map[string]string)}, make(map[string]string)
	for _, name := range names(t, of, engine) {
		number, err := strconv.ParseInt(name[:5], 10, 64)
		require.NoError(t, err, name)
		release := releaseOf(of, number)
		r.removed = make(map[string]bool)
		for _, statement := range statements(t, of, engine+"/"+name) {
			why := r.judge(engine, release, statement)
			if why != "" && release != of.Releases[0].Name {
				found[name+": "+statement] = why
			}
		}
		for index := range r.removed {
			found[name+": DROP INDEX "+index] = "it does not make the index again"
		}
	}
	return found
}

func names(t *testing.T, of migrations.Schema, engine string) (names []string) {
	t.Helper()
	entries, err := fs.ReadDir(of.Files, engine)
	require.NoError(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func releaseOf(of migrations.Schema, number int64) string {
	for _, release := range of.Releases {
		if number <= release.Newest || release.Newest == 0 {
			return release.Name
		}
	}
	return ""
}

var (
	comment = regexp.MustCompile(`--[^\n]*`)
	spaces  = regexp.MustCompile(`\s+`)
)

// statements returns the statements with which a file brings the schema up to date, each in one line without comments.
func statements(t *testing.T, of migrations.Schema, path string) (found []string) {
	t.Helper()
	text, err := fs.ReadFile(of.Files, path)
	require.NoError(t, err)
	require.NotContains(t, string(text), "StatementBegin", "%s: this test cuts statements at each semicolon", path)
	_, up, there := strings.Cut(string(text), "-- +goose Up")
	require.True(t, there, path)
	up, _, _ = strings.Cut(up, "-- +goose Down")
	for _, statement := range strings.Split(comment.ReplaceAllString(up, ""), ";") {
		if statement = strings.TrimSpace(spaces.ReplaceAllString(statement, " ")); statement != "" {
			found = append(found, statement)
		}
	}
	return found
}

// The programs of a release bear the migrations of the next one.
func TestMigrationsOnlyExpandTheSchema(t *testing.T) {
	used := make(map[string]bool)
	for _, engine := range []string{"sqlite", "postgres"} {
		for statement, why := range check(t, migrations.Current, engine) {
			if allowed[statement] != "" {
				used[statement] = true
				continue
			}
			t.Errorf("%s/%s\n\t%s; or name it among the exceptions with the reason why that does no harm (docs/upgrading.md)", engine, statement, why)
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(allowed)), slices.Collect(maps.Keys(used)), "each exception is needed")
}

// The engines have the same migrations.
func TestBothEnginesHaveTheSameMigrations(t *testing.T) {
	require.Equal(t, names(t, migrations.Current, "sqlite"), names(t, migrations.Current, "postgres"))
}

// A release's files are as they were released.
func TestReleasedMigrationsNeverChange(t *testing.T) {
	for _, release := range migrations.Current.Releases {
		if release.Newest == 0 {
			continue
		}
		hash := sha256.New()
		for _, engine := range []string{"sqlite", "postgres"} {
			for _, name := range names(t, migrations.Current, engine) {
				number, err := strconv.ParseInt(name[:5], 10, 64)
				require.NoError(t, err)
				if releaseOf(migrations.Current, number) != release.Name {
					continue
				}
				text, err := fs.ReadFile(migrations.Current.Files, engine+"/"+name)
				require.NoError(t, err)
				_, _ = fmt.Fprintf(hash, "%s/%s %d\n%s", engine, name, len(text), text)
			}
		}
		require.Equal(t, digests[release.Name], hex.EncodeToString(hash.Sum(nil)),
			"the migrations of release %s changed; put the change into a new file", release.Name)
	}
}
