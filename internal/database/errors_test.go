package database_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
)

func TestErrorsOfRows(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		write := func(statements ...database.Statement) error {
			return db.Write(t.Context(), func(tx *database.Tx) error { return tx.Pipeline(statements...) })
		}
		insert := func(id int64, owner, name any, size int64) database.Statement {
			return database.Statement{SQL: "INSERT INTO things (id, owner, name, size) VALUES (?, ?, ?, ?)",
				Args: []any{id, owner, name, size}}
		}
		pair := database.Statement{SQL: "INSERT INTO pairs (a, b) VALUES (1, 'x')"}
		require.NoError(t, write(insert(1, "o", "n", 1), pair))

		for _, test := range []struct {
			name string
			err  error
			data bool
		}{
			{"primary key", write(insert(1, "o", "m", 1)), true},
			{"compound primary key", write(pair), true},
			{"unique index", write(insert(2, "o", "n", 1)), true},
			{"not null", write(insert(2, nil, "n", 1)), true},
			{"check", write(insert(2, "o", "m", -1)), true},
			{"syntax", write(database.Statement{SQL: "nonsense"}), false},
			{"no table", write(database.Statement{SQL: "SELECT 1 FROM absent"}), false},
		} {
			t.Run(test.name, func(t *testing.T) {
				require.Error(t, test.err)
				hidden := fault.New(fault.Conflict, "X", "Hidden.").Because(fmt.Errorf("wrapped: %w", test.err))
				for _, err := range []error{test.err, hidden} {
					require.Equal(t, test.data, database.IsData(err), "%v", err)
					require.False(t, database.IsUnavailable(err))
					require.False(t, database.IsCommitUnknown(err))
				}
			})
		}
		require.True(t, database.IsData(db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Gorm().Create(&thing{ID: 2, Owner: "o", Name: ptr("n")}).Error
		})), "through gorm too")
	})
}

// The driver gives a connection up when its caller goes, and may call it bad then. To the caller it is their own end, not an outage.
func TestALostConnectionOfACallerWhoHasGoneIsTheirEnd(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		for name, run := range map[string]func(context.Context, func(*database.Tx) error) error{
			"Read": db.Read, "Write": db.Write,
			"ReadFor": func(ctx context.Context, fn func(*database.Tx) error) error { return db.ReadFor(ctx, me, fn) },
		} {
			require.ErrorIs(t, run(t.Context(), func(*database.Tx) error { return databasetest.ErrInjected }), databasetest.ErrInjected, name)
			ctx, cancel := context.WithCancel(t.Context())
			err := run(ctx, func(*database.Tx) error {
				cancel()
				return databasetest.ErrInjected
			})
			require.ErrorIs(t, err, context.Canceled, name)
			require.False(t, database.IsUnavailable(err), name)
			err = run(ctx, func(*database.Tx) error { return databasetest.ErrInjected })
			require.ErrorIs(t, err, context.Canceled, "%s, gone before it began", name)
		}
	})
}

func TestErrorsOfOthers(t *testing.T) {
	require.True(t, database.IsUnavailable(databasetest.ErrInjected))
	for _, err := range []error{nil, errors.New("other"), context.Canceled, context.DeadlineExceeded, sql.ErrNoRows,
		gorm.ErrRecordNotFound} {
		require.False(t, database.IsData(err))
		require.False(t, database.IsUnavailable(err))
		require.False(t, database.IsCommitUnknown(err))
	}
}

// If a context ends while its caller waits for a connection, the caller gets the context's error and not one of the database.
func TestWaitingInLineEndsWithTheContext(t *testing.T) {
	each(t, func(cfg *database.Config) { cfg.Connections = database.Connections{Write: 1, Read: 1} }, func(t *testing.T, db *database.DB) {
		require.NoError(t, db.Write(t.Context(), func(*database.Tx) error {
			ctx, cancel := context.WithCancel(t.Context())
			result := make(chan error, 1)
			go func() { result <- db.Write(ctx, func(*database.Tx) error { return nil }) }()
			cancel()
			err := within(t, result)
			require.ErrorIs(t, err, context.Canceled)
			require.False(t, database.IsUnavailable(err))
			require.NoError(t, db.Ping(t.Context()), "writers do not delay readers")
			return nil
		}))
	})
}
