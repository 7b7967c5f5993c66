package database_test

import (
	"bytes"
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
)

// watched runs a test on both engines with a log of statements that took at least as long as given, by a clock that moves a second ahead
// whenever it is read.
func watched(t *testing.T, least time.Duration, run func(t *testing.T, db *database.DB, log *bytes.Buffer)) {
	var log *bytes.Buffer
	each(t, func(cfg *database.Config) {
		log = &bytes.Buffer{}
		cfg.SlowStatements, cfg.Logger = least, slog.New(slog.NewTextHandler(log, nil))
		cfg.Clock = time.Now // otherwise reading the database's clock makes statements, too
	}, func(t *testing.T, db *database.DB) {
		var seconds atomic.Int64
		db.SetSlowClock(func() time.Time { return time.Unix(seconds.Add(1), 0) })
		log.Reset()
		run(t, db, log)
	})
}

// lines returns the lines of a log that contain a text.
func lines(log *bytes.Buffer, text string) (found []string) {
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

func TestSlowStatementsAreLoggedWithoutValues(t *testing.T) {
	watched(t, time.Second, func(t *testing.T, db *database.DB, log *bytes.Buffer) {
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
			owners := database.Column{Name: "owner", Values: []string{"secret-a", "secret-b"}}
			tx.SendWithCommit(database.Statement{SQL: "UPDATE things SET name = ?", Args: []any{"secret-c"}})
			return tx.Pipeline(tx.Insert("things", database.Column{Name: "id", Values: []int64{1, 2}}, owners)...)
		}))
		require.NotContains(t, log.String(), "secret")
		require.Len(t, lines(log, "waited long for a connection"), 1)
		require.NotEmpty(t, lines(log, "INSERT INTO"))
		update := lines(log, "UPDATE things SET name = ?")
		require.Len(t, update, 1)
		require.Contains(t, update[0], "level=WARN")
		require.Contains(t, update[0], "took_seconds=1 rows=2 waited_seconds=1 left_out=0")
		require.Len(t, lines(log, "sql=COMMIT"), 1)
	})
}

func TestSlowStatementsOfEachWayToTheDatabase(t *testing.T) {
	statement := database.Statement{SQL: "SELECT count(*) FROM things WHERE owner <> ?", Args: []any{"secret"}}
	for name, way := range map[string]func(ctx context.Context, db *database.DB, run func(tx *database.Tx) error) error{
		"write": func(ctx context.Context, db *database.DB, run func(tx *database.Tx) error) error {
			return db.Write(ctx, run)
		},
		"lane": func(ctx context.Context, db *database.DB, run func(tx *database.Tx) error) error {
			return db.Lane().Write(ctx, run)
		},
		"at once": func(ctx context.Context, db *database.DB, _ func(tx *database.Tx) error) error {
			return db.Lane().WriteAtOnce(ctx, func(tx *database.Tx) error { tx.SendWithCommit(statement); return nil })
		},
		"read": func(ctx context.Context, db *database.DB, run func(tx *database.Tx) error) error {
			return db.Read(ctx, run)
		},
		"statement": func(ctx context.Context, db *database.DB, run func(tx *database.Tx) error) error {
			return db.ReadStatement(ctx, run)
		},
		"for a caller": func(ctx context.Context, db *database.DB, run func(tx *database.Tx) error) error {
			return db.ReadFor(ctx, database.Reader{Key: "k"}, run)
		},
		"heavy": func(ctx context.Context, db *database.DB, run func(tx *database.Tx) error) error {
			return db.ReadHeavy(ctx, database.Reader{Key: "k"}, run)
		},
	} {
		t.Run(name, func(t *testing.T) {
			watched(t, time.Second, func(t *testing.T, db *database.DB, log *bytes.Buffer) {
				require.NoError(t, way(t.Context(), db, func(tx *database.Tx) error { return tx.Pipeline(statement) }))
				require.Len(t, lines(log, "SELECT count(*) FROM things WHERE owner <> ?"), 1, log)
				require.NotContains(t, log.String(), "secret")
			})
		})
	}
	t.Run("gorm", func(t *testing.T) { // measures by its own clock
		watched(t, 1, func(t *testing.T, db *database.DB, log *bytes.Buffer) {
			require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
				return tx.Gorm().Create(&thing{ID: 7, Owner: "secret"}).Error
			}))
			require.Len(t, lines(log, "INSERT INTO"), 1, log)
			require.NotContains(t, log.String(), "secret")
		})
	})
}

func TestAStatementThatFailsIsLoggedAsSlowToo(t *testing.T) {
	watched(t, time.Second, func(t *testing.T, db *database.DB, log *bytes.Buffer) {
		require.Error(t, db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{SQL: "SELECT 1"}, database.Statement{
				SQL: "INSERT INTO things (id, owner, size) VALUES (?, ?, ?)", Args: []any{1, "secret", -1},
			})
		}))
		require.Len(t, lines(log, "INSERT INTO things"), 1, log)
		require.NotContains(t, log.String(), "secret")
	})
}

func TestQuickStatementsAreNotLogged(t *testing.T) {
	for _, least := range []time.Duration{0, 2 * time.Second} {
		watched(t, least, func(t *testing.T, db *database.DB, log *bytes.Buffer) {
			require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error { return insertThing(tx, 1) }))
			require.Empty(t, log.String())
		})
	}
}

func TestASlowDatabaseDoesNotFloodTheLog(t *testing.T) {
	watched(t, time.Second, func(t *testing.T, db *database.DB, log *bytes.Buffer) {
		read := func() {
			require.NoError(t, db.ReadStatement(t.Context(), func(tx *database.Tx) error {
				return tx.Pipeline(database.Statement{SQL: "SELECT 1"})
			}))
		}
		began := db.SlowNow()
		for range 1000 {
			read()
		}
		bound := 10 + int(db.SlowNow().Sub(began)/(10*time.Second)) + 1
		got := strings.Count(log.String(), "\n")
		require.LessOrEqual(t, got, bound)
		require.Greater(t, got, 10)
		leftOut := 0
		for line := range strings.Lines(log.String()) {
			_, after, _ := strings.Cut(line, "left_out=")
			n, err := strconv.Atoi(strings.TrimSpace(after))
			require.NoError(t, err)
			leftOut += n
		}
		require.InDelta(t, 2000, got+leftOut, 20, "each wait and each statement is a line or counted")
	})
}
