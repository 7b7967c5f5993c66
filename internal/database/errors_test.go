package database_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
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

// A server in trouble is away for a while. What it says of a row, or of the program's own mistakes, is none of that.
func TestErrorsOfAServerInTrouble(t *testing.T) {
	for code, away := range map[string]bool{
		"53300": true, "53100": true, "53200": true, "58030": true, "57014": true, "57P01": true, "57P03": true, "25P03": true, "08006": true,
		"40001": true, "40P01": true, "55P03": true,
		"23505": false, "22001": false, "42P01": false, "42601": false, "25006": false, "0A000": false, "54000": false,
	} {
		err := fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: code})
		require.Equal(t, away, database.IsUnavailable(err), code)
		require.Equal(t, code == "23505" || code == "22001" || code == "54000", database.IsData(err), code)
		require.Equal(t, code == "40001" || code == "40P01" || code == "55P03", database.IsConflict(err), code)
		require.False(t, database.IsCommitUnknown(err), code)
	}
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
