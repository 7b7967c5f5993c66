package database_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

var errStop = errors.New("stop")

func TestWriteCommitsAndRollsBack(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error { return insertThing(tx, 1) }))
		require.EqualValues(t, 1, count(t, db, "things"))

		runs := 0
		err := db.Write(t.Context(), func(tx *database.Tx) error {
			runs++
			require.NoError(t, insertThing(tx, 2))
			return errStop
		})
		require.ErrorIs(t, err, errStop)
		require.Equal(t, 1, runs, "only a conflict is tried again")
		require.PanicsWithValue(t, "boom", func() {
			_ = db.Write(t.Context(), func(tx *database.Tx) error {
				require.NoError(t, insertThing(tx, 3))
				panic("boom")
			})
		})
		left := make(chan struct{})
		go func() {
			defer close(left)
			_ = db.Write(context.Background(), func(tx *database.Tx) error {
				_ = insertThing(tx, 4)
				runtime.Goexit()
				return nil
			})
		}()
		within(t, left)
		require.EqualValues(t, 1, count(t, db, "things"))

		require.NoError(t, db.Write(t.Context(), func(*database.Tx) error { return nil }), "nothing to commit")
	})
}

func TestPanicInScanRollsBack(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		require.PanicsWithValue(t, "boom", func() {
			_ = db.Write(t.Context(), func(tx *database.Tx) error {
				require.NoError(t, insertThing(tx, 1))
				return tx.Pipeline(database.Statement{SQL: "SELECT 1", Scan: func(database.Row) error { panic("boom") }})
			})
		})
		require.Zero(t, count(t, db, "things"))
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error { return insertThing(tx, 1) }))
	})
}

func TestHooksOfATransaction(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		var order []string
		say := func(word string) func() { return func() { order = append(order, word) } }
		err := db.Write(t.Context(), func(tx *database.Tx) error {
			tx.AfterCommit(say("after 1"))
			tx.BeforeCommit(func() error {
				say("before 1")()
				tx.BeforeCommit(func() error { say("before 3")(); return insertThing(tx, 1) })
				return nil
			})
			tx.BeforeCommit(func() error { say("before 2")(); return nil })
			tx.AfterCommit(say("after 2"))
			say("body")()
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, []string{"body", "before 1", "before 2", "before 3", "after 1", "after 2"}, order)
		require.EqualValues(t, 1, count(t, db, "things"))

		order = nil
		require.ErrorIs(t, db.Write(t.Context(), func(tx *database.Tx) error {
			tx.AfterCommit(say("after"))
			return errStop
		}), errStop)
		require.ErrorIs(t, db.Write(t.Context(), func(tx *database.Tx) error {
			tx.AfterCommit(say("after"))
			tx.BeforeCommit(func() error { return errStop })
			return insertThing(tx, 2)
		}), errStop)
		require.True(t, database.IsData(db.Write(t.Context(), func(tx *database.Tx) error {
			tx.AfterCommit(say("after"))
			return insertThing(tx, 1)
		})))
		require.Empty(t, order, "no function runs after a rollback")
		require.EqualValues(t, 1, count(t, db, "things"))
	})
}

func TestAfterCommitMayBeginATransaction(t *testing.T) {
	each(t, func(cfg *database.Config) { cfg.Connections = database.Connections{Write: 1, Read: 1} }, func(t *testing.T, db *database.DB) {
		done := make(chan error, 1)
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
			tx.AfterCommit(func() {
				done <- db.Write(t.Context(), func(tx *database.Tx) error { return insertThing(tx, 2) })
			})
			return insertThing(tx, 1)
		}))
		require.NoError(t, within(t, done))
		require.EqualValues(t, 2, count(t, db, "things"))
	})
}

func TestLocalValues(t *testing.T) {
	type key struct{}
	each(t, nil, func(t *testing.T, db *database.DB) {
		for range 2 {
			require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
				require.Nil(t, tx.Local(key{}))
				tx.SetLocal(key{}, 7)
				require.Equal(t, 7, tx.Local(key{}))
				return nil
			}))
		}
	})
}

// A failed statement dooms the transaction on both engines, however it was made, and even if the closure overlooks its error.
func TestFailedStatementDooms(t *testing.T) {
	failures := map[string]func(tx *database.Tx) error{
		"pipeline":     func(tx *database.Tx) error { return insertThing(tx, 1) },
		"gorm create":  func(tx *database.Tx) error { return tx.Gorm().Create(&thing{ID: 1, Owner: "o"}).Error },
		"gorm exec":    func(tx *database.Tx) error { return tx.Gorm().Exec("INSERT INTO things (id) VALUES (1)").Error },
		"gorm query":   func(tx *database.Tx) error { return tx.Gorm().Raw("SELECT nonsense").Scan(new(int)).Error },
		"gorm row":     func(tx *database.Tx) error { return tx.Gorm().Raw("SELECT nonsense").Row().Err() },
		"scanning row": func(tx *database.Tx) error { return tx.Pipeline(scanOne("SELECT 'x'", new(int64))) },
	}
	each(t, nil, func(t *testing.T, db *database.DB) {
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error { return insertThing(tx, 1) }))
		for name, fail := range failures {
			t.Run(name, func(t *testing.T) {
				err := db.Write(t.Context(), func(tx *database.Tx) error {
					require.NoError(t, insertThing(tx, 2))
					require.Error(t, fail(tx))
					require.Error(t, insertThing(tx, 3))
					require.Error(t, tx.Gorm().First(&thing{}).Error)
					require.Error(t, tx.Gorm().Raw("SELECT 1").Row().Err())
					return nil
				})
				require.ErrorContains(t, err, "cannot be committed")
				require.EqualValues(t, 1, count(t, db, "things"))
			})
		}
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
			require.Error(t, tx.Gorm().First(&thing{}, 99).Error, "finding nothing is not a failure")
			return insertThing(tx, 4)
		}))
	})
}

func TestReadsCannotWrite(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		for name, read := range map[string]func(context.Context, func(*database.Tx) error) error{
			"Read": db.Read, "ReadStatement": db.ReadStatement,
		} {
			t.Run(name, func(t *testing.T) {
				err := read(t.Context(), func(tx *database.Tx) error { return insertThing(tx, 1) })
				require.Error(t, err)
				require.False(t, database.IsUnavailable(err), "%v", err)
				require.Error(t, read(t.Context(), func(tx *database.Tx) error {
					return tx.Gorm().Create(&thing{ID: 1, Owner: "o"}).Error
				}))
				require.Error(t, read(t.Context(), func(tx *database.Tx) error {
					_ = insertThing(tx, 1)
					return nil
				}), "an overlooked failure is still a failure")
			})
		}
		require.Zero(t, count(t, db, "things"))
	})
}

func TestReadSeesOneSnapshot(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		require.NoError(t, db.Read(t.Context(), func(tx *database.Tx) error {
			var before, after, viaGorm int64
			require.NoError(t, tx.Pipeline(scanOne("SELECT count(*) FROM things", &before)))
			require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error { return insertThing(tx, 1) }))
			require.NoError(t, tx.Pipeline(scanOne("SELECT count(*) FROM things", &after)))
			require.NoError(t, tx.Gorm().Model(&thing{}).Count(&viaGorm).Error)
			require.Zero(t, before+after+viaGorm)
			return nil
		}))
		require.EqualValues(t, 1, count(t, db, "things"))
	})
}

func TestConflictsAreTriedAgain(t *testing.T) {
	conflict := &pgconn.PgError{Code: "40001", Message: "could not serialize"}
	faults := 0
	adjust := func(cfg *database.Config) {
		cfg.Hooks.BeforeCommit = func(context.Context) error {
			if faults--; faults >= 0 {
				return conflict
			}
			return nil
		}
	}
	each(t, adjust, func(t *testing.T, db *database.DB) {
		write := func() (runs, after int, err error) {
			err = db.Write(t.Context(), func(tx *database.Tx) error {
				runs++
				tx.AfterCommit(func() { after++ })
				return tx.Pipeline(database.Statement{
					SQL: "INSERT INTO things (id, owner) SELECT count(*), 'o' FROM things",
				})
			})
			return runs, after, err
		}
		faults = 3
		runs, after, err := write()
		require.NoError(t, err)
		require.Equal(t, 4, runs)
		require.Equal(t, 1, after)
		require.EqualValues(t, 1, count(t, db, "things"))

		faults = 1000
		runs, after, err = write()
		require.ErrorIs(t, err, conflict)
		require.True(t, database.IsUnavailable(err))
		require.Equal(t, 5, runs)
		require.Zero(t, after)
		require.EqualValues(t, 1, count(t, db, "things"))

		runs, faults = 0, 1
		err = db.Lane().Write(t.Context(), func(tx *database.Tx) error {
			runs++
			return insertThing(tx, 7)
		})
		require.True(t, database.IsConflict(err), "%v", err)
		require.Equal(t, 1, runs, "a lane leaves it to its caller to try again")
		require.EqualValues(t, 1, count(t, db, "things"))
	})
}

func TestInjectedCommitFaults(t *testing.T) {
	var faults databasetest.CommitFaults
	each(t, func(cfg *database.Config) { cfg.Hooks = faults.Hooks() }, func(t *testing.T, db *database.DB) {
		after := 0
		insert := func(id int64) error {
			return db.Write(t.Context(), func(tx *database.Tx) error {
				tx.AfterCommit(func() { after++ })
				return insertThing(tx, id)
			})
		}
		faults.FailBefore(1)
		err := insert(1)
		require.ErrorIs(t, err, databasetest.ErrInjected)
		require.True(t, database.IsUnavailable(err))
		require.False(t, database.IsCommitUnknown(err))
		require.Zero(t, after)
		require.Zero(t, count(t, db, "things"))

		faults.FailAfter(1)
		err = insert(1)
		require.ErrorIs(t, err, databasetest.ErrInjected)
		require.True(t, database.IsCommitUnknown(err))
		require.True(t, database.IsUnavailable(err))
		require.Equal(t, 1, after, "waiting readers are woken to look")
		require.EqualValues(t, 1, count(t, db, "things"), "it was stored, once")
		require.NoError(t, insert(2))
	})
}

func TestSendWithCommit(t *testing.T) {
	insert := database.Statement{SQL: "INSERT INTO things (id, owner) VALUES (?, 'o')", Args: []any{int64(1)}}
	each(t, nil, func(t *testing.T, db *database.DB) {
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
			tx.SendWithCommit(insert)
			return nil
		}))
		require.EqualValues(t, 1, count(t, db, "things"))

		err := db.Write(t.Context(), func(tx *database.Tx) error {
			tx.SendWithCommit(insert)
			return insertThing(tx, 2)
		})
		require.True(t, database.IsData(err), "%v", err)
		require.False(t, database.IsCommitUnknown(err), "the failure is certain")
		err = db.Write(t.Context(), func(tx *database.Tx) error {
			tx.SendWithCommit(database.Statement{SQL: "nonsense"})
			return insertThing(tx, 2)
		})
		require.Error(t, err)
		require.False(t, database.IsCommitUnknown(err))
		err = db.Write(t.Context(), func(tx *database.Tx) error {
			tx.SendWithCommit(database.Statement{SQL: insert.SQL, Args: []any{struct{}{}}})
			return nil
		})
		require.Error(t, err)
		require.False(t, database.IsCommitUnknown(err), "%v", err)
		require.EqualValues(t, 1, count(t, db, "things"))
		require.Panics(t, func() {
			_ = db.Write(t.Context(), func(tx *database.Tx) error {
				tx.SendWithCommit(scanOne("SELECT 1", new(int)))
				return nil
			})
		})
	})
}

func TestCancelledContext(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		ctx, cancel := context.WithCancel(t.Context())
		err := db.Write(ctx, func(tx *database.Tx) error {
			require.NoError(t, insertThing(tx, 1))
			cancel()
			return nil
		})
		require.ErrorIs(t, err, context.Canceled)
		require.False(t, database.IsUnavailable(err))
		require.ErrorIs(t, db.Write(ctx, func(tx *database.Tx) error { return insertThing(tx, 1) }), context.Canceled)

		ctx, cancel = context.WithCancel(t.Context())
		err = db.Write(ctx, func(tx *database.Tx) error {
			require.NoError(t, insertThing(tx, 1))
			cancel()
			require.Error(t, insertThing(tx, 2), "a statement after the end of the context fails")
			return nil
		})
		require.Error(t, err)
		require.Zero(t, count(t, db, "things"))
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error { return insertThing(tx, 1) }))
	})
}

// Cancelling once the commit is under way does not leave its outcome open.
func TestCancelDuringCommit(t *testing.T) {
	var cancel context.CancelFunc
	adjust := func(cfg *database.Config) {
		cfg.Hooks.BeforeCommit = func(context.Context) error { cancel(); return nil }
	}
	each(t, adjust, func(t *testing.T, db *database.DB) {
		var ctx context.Context
		ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		require.NoError(t, db.Write(ctx, func(tx *database.Tx) error { return insertThing(tx, 1) }))
		require.EqualValues(t, 1, count(t, db, "things"))
	})
}

func TestOnWrite(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		stored := 0
		db.OnWrite(func(tx *database.Tx) { tx.AfterCommit(func() { stored++ }) })
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error { return insertThing(tx, 1) }))
		require.ErrorIs(t, db.Write(t.Context(), func(*database.Tx) error { return errStop }), errStop)
		require.Equal(t, 1, stored)
	})
}

func TestClosedDatabaseIsUnavailable(t *testing.T) {
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			db, err := database.Open(t.Context(), database.Config{URL: databasetest.URL(t, engine)})
			require.NoError(t, err)
			inside, leave, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			go func() {
				done <- db.Write(context.Background(), func(tx *database.Tx) error {
					close(inside)
					<-leave
					return tx.Pipeline(database.Statement{SQL: "SELECT 1"})
				})
			}()
			within(t, inside)
			closed := make(chan error, 1)
			go func() { closed <- db.Close() }()
			require.Eventually(t, func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				err := db.Ping(ctx)
				return err != nil && database.IsUnavailable(err)
			}, patience, 5*time.Millisecond, "new work is turned away")
			close(leave)
			require.NoError(t, within(t, done), "work under way is finished first")
			require.NoError(t, within(t, closed))
			require.NoError(t, db.Close(), "closing twice is safe")
			require.True(t, database.IsUnavailable(db.Write(t.Context(), func(*database.Tx) error { return nil })))
		})
	}
}
