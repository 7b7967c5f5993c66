package database_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// payer is an account that notes what it pays for.
type payer struct {
	refusal     error
	rows, bytes int64
}

func (p *payer) Admit() error { return p.refusal }

func (p *payer) Charge(rows, bytes int64) { p.rows, p.bytes = p.rows+rows, p.bytes+bytes }

type payerKey struct{}

func charged(db *database.DB) {
	db.ChargeTo(func(ctx context.Context) database.Account {
		if p, ok := ctx.Value(payerKey{}).(*payer); ok {
			return p
		}
		return nil
	})
}

// accountThing is a row of accounted.
type accountThing struct {
	ID   int64 `gorm:"primaryKey;autoIncrement:false"`
	Text string
}

func (accountThing) TableName() string { return "accounted" }

func TestATransactionPaysForWhatItStores(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		charged(db)
		run := func(sql string, args ...any) database.Statement { return database.Statement{SQL: sql, Args: args} }
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(run("CREATE TABLE accounted (id bigint PRIMARY KEY, text text)"))
		}))
		p := &payer{}
		ctx := context.WithValue(t.Context(), payerKey{}, p)
		write := func(fn func(tx *database.Tx) error) (rows, bytes int64) {
			t.Helper()
			*p = payer{}
			require.NoError(t, db.Write(ctx, fn))
			return p.rows, p.bytes
		}
		requireCharge := func(what string, rows, bytes int64, fn func(tx *database.Tx) error) {
			t.Helper()
			gotRows, gotBytes := write(fn)
			require.Equal(t, []int64{rows, bytes}, []int64{gotRows, gotBytes}, what)
		}
		ids, texts := func(ids ...int64) database.Column { return database.Column{Name: "id", Values: ids} },
			func(texts ...string) database.Column { return database.Column{Name: "text", Values: texts} }

		requireCharge("a row", 1, 8+5, func(tx *database.Tx) error { return tx.Pipeline(tx.Insert("accounted", ids(1), texts("hello"))...) })
		requireCharge("many rows", 5, 5*8+5, func(tx *database.Tx) error {
			return tx.Pipeline(tx.Insert("accounted", ids(2, 3, 4, 5, 6), texts("a", "b", "c", "d", "e"))...)
		})
		requireCharge("with the commit", 1, 8+3, func(tx *database.Tx) error {
			tx.SendWithCommit(tx.Insert("accounted", ids(7), texts("end"))...)
			return nil
		})
		requireCharge("gorm", 1, 8+4, func(tx *database.Tx) error { return tx.Gorm().Create(&accountThing{8, "gorm"}).Error })
		requireCharge("changed rows", 8, 3, func(tx *database.Tx) error {
			var changed int64
			s := run("UPDATE accounted SET text = ?", "new")
			s.Affected = &changed
			err := tx.Pipeline(s)
			require.EqualValues(t, 8, changed)
			return err
		})
		requireCharge("what was there", 0, 0, func(tx *database.Tx) error {
			return tx.Pipeline(tx.InsertIgnore("accounted", ids(1), texts("again"))...)
		})
		requireCharge("removal and reading", 0, 0, func(tx *database.Tx) error {
			var number int64
			return tx.Pipeline(run("DELETE FROM accounted WHERE id = ?", int64(8)), database.ReadValue(&number, "SELECT count(*) FROM accounted"))
		})
		*p = payer{}
		require.ErrorIs(t, db.Write(ctx, func(tx *database.Tx) error {
			require.NoError(t, tx.Pipeline(tx.Insert("accounted", ids(9), texts("gone"))...))
			return errStop
		}), errStop)
		require.Zero(t, p.rows, "what is rolled back costs nothing")

		*p = payer{refusal: errors.New("no credit")}
		began := false
		require.ErrorIs(t, db.Write(ctx, func(*database.Tx) error { began = true; return nil }), p.refusal)
		require.False(t, began, "a transaction that is refused does not begin")
	})
}

// A transaction that conflicts pays for the run that is stored, whether the conflict comes before or with the commit.
func TestATransactionThatRunsAgainPaysOnce(t *testing.T) {
	conflicts := 0
	adjust := func(cfg *database.Config) {
		cfg.Hooks.BeforeCommit = func(context.Context) error {
			if conflicts--; conflicts >= 0 {
				return &pgconn.PgError{Code: "40001"}
			}
			return nil
		}
	}
	each(t, adjust, func(t *testing.T, db *database.DB) {
		charged(db)
		conflicts = 2
		p, left := &payer{}, 2
		require.NoError(t, db.Write(context.WithValue(t.Context(), payerKey{}, p), func(tx *database.Tx) error {
			if err := insertThing(tx, 1); err != nil {
				return err
			}
			if left--; left >= 0 {
				return &pgconn.PgError{Code: "40001"}
			}
			return nil
		}))
		require.EqualValues(t, 1, p.rows)
	})
}

// A transaction of which nobody knows whether it was stored pays, because it may have been.
func TestATransactionOfUnknownOutcomePays(t *testing.T) {
	var faults databasetest.CommitFaults
	each(t, func(cfg *database.Config) { cfg.Hooks = faults.Hooks() }, func(t *testing.T, db *database.DB) {
		charged(db)
		p := &payer{}
		faults.FailAfter(1)
		err := db.Write(context.WithValue(t.Context(), payerKey{}, p), func(tx *database.Tx) error { return insertThing(tx, 1) })
		require.True(t, database.IsCommitUnknown(err), "%v", err)
		require.EqualValues(t, 1, p.rows)
	})
}
