package database_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
)

var me = database.Reader{Key: "key", Agent: "me"}

// flood is one key's reads that hang. They have all places that one key's reads can have, and as many wait.
type flood struct {
	running, places int64
	release         chan struct{} // lets one go
}

// settled waits until all places that one key can have are taken by the flood.
func (f *flood) settled(t *testing.T, db *database.DB) {
	t.Helper()
	require.Eventually(t, func() bool { return atomic.LoadInt64(&f.running) == f.places }, patience, time.Millisecond)
	require.Eventually(t, func() bool { reads, _ := db.WaitingReads(); return reads > 0 }, patience, time.Millisecond)
}

func startFlood(t *testing.T, db *database.DB) *flood {
	t.Helper()
	const reads = 30
	f, all := &flood{places: int64(db.FreeTurnsOfAKey()), release: make(chan struct{}, reads)}, sync.WaitGroup{}
	for n := range reads {
		all.Go(func() {
			by := database.Reader{Key: "greedy", Agent: fmt.Sprint("agent ", n%3)}
			err := db.ReadFor(context.Background(), by, func(*database.Tx) error {
				atomic.AddInt64(&f.running, 1)
				<-f.release
				atomic.AddInt64(&f.running, -1)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() { close(f.release); all.Wait() })
	f.settled(t, db)
	return f
}

// However many reads of one key hang, nothing else waits for them: not what sends and heartbeats need, and not Ping. The next place is for
// another key, if none is free for it.
func TestAFloodOfOneKeysReadsHoldsNobodyUp(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		greedy := startFlood(t, db)
		done, one := make(chan error), database.Statement{SQL: "SELECT 1"}
		for name, do := range map[string]func() error{
			"a write": func() error { return db.Write(t.Context(), func(tx *database.Tx) error { return insertThing(tx, 1) }) },
			"a lane": func() error {
				return db.Lane().Write(t.Context(), func(tx *database.Tx) error { return insertThing(tx, 2) })
			},
			"a read": func() error { return db.Read(t.Context(), func(tx *database.Tx) error { return tx.Pipeline(one) }) },
			"a statement": func() error {
				return db.ReadStatement(t.Context(), func(tx *database.Tx) error { return tx.Pipeline(one) })
			},
			"a ping": func() error { return db.Ping(t.Context()) },
		} {
			go func() { done <- do() }()
			require.NoError(t, within(t, done), name)
		}
		for _, modest := range []database.Reader{{Key: "modest", Agent: "ann"}, {}} {
			greedy.settled(t, db)
			before, _ := db.WaitingReads()
			waits := db.FreeTurns() == 0
			go func() {
				done <- db.ReadFor(t.Context(), modest, func(tx *database.Tx) error { return tx.Pipeline(one) })
			}()
			if waits {
				require.Eventually(t, func() bool { now, _ := db.WaitingReads(); return now == before+1 }, patience, time.Millisecond)
				greedy.release <- struct{}{}
			}
			require.NoError(t, within(t, done), "%v", modest)
		}
	})
}

// A read that looks at much lets short ones of other keys in between on SQLite, where all reads together have few processors.
func TestAReadThatGivesWayHoldsNobodyUp(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		one, done, long := database.Statement{SQL: "SELECT 1"}, make(chan error), make(chan error)
		var taken sync.WaitGroup
		step, stop := make(chan struct{}), make(chan struct{})
		runs := db.FreeTurnsOfAKey()
		for range runs {
			taken.Add(1)
			go func() {
				long <- db.ReadFor(context.Background(), me, func(tx *database.Tx) error {
					taken.Done()
					for {
						select {
						case <-step:
							tx.GiveWay()
						case <-stop:
							return tx.Pipeline(one)
						}
					}
				})
			}()
		}
		taken.Wait()
		waits := db.FreeTurns() == 0
		go func() {
			done <- db.ReadFor(t.Context(), database.Reader{Key: "other"}, func(tx *database.Tx) error { return tx.Pipeline(one) })
		}()
		if waits {
			require.Eventually(t, func() bool { reads, _ := db.WaitingReads(); return reads == 1 }, patience, time.Millisecond)
			step <- struct{}{}
		}
		require.NoError(t, within(t, done))
		close(stop)
		for range runs {
			require.NoError(t, within(t, long))
		}
	})
}

// A read that has its turn and gets no connection gives its place back: otherwise an outage would use up all places.
func TestAReadWithoutAConnectionGivesItsPlaceBack(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		for range 100 {
			_ = db.ReadFor(gone, me, func(*database.Tx) error { return nil }) // SQLite may give a connection all the same
			_ = db.ReadHeavy(gone, me, func(*database.Tx) error { return nil })
		}
		done := make(chan error, 2)
		go func() { done <- db.ReadFor(t.Context(), me, func(*database.Tx) error { return nil }) }()
		go func() { done <- db.ReadHeavy(t.Context(), me, func(*database.Tx) error { return nil }) }()
		require.NoError(t, within(t, done))
		require.NoError(t, within(t, done))
	})
}

// A read whose caller has gone ends within its statement, also after that has found a row, and the connection serves on.
func TestAReadEndsWithItsContext(t *testing.T) {
	endless := map[database.Engine][]string{
		database.SQLite: {
			"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
			"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i IN (1, -1)",
		},
		database.PostgreSQL: {"SELECT count(*) FROM pg_sleep(1000)", "SELECT 1 UNION ALL SELECT count(*) FROM pg_sleep(1000)"},
	}
	begun := make(chan struct{}, 1)
	each(t, func(cfg *database.Config) {
		cfg.Hooks.Statement = func(ctx context.Context, _ string) func() {
			if ctx.Value(begunKey{}) != nil {
				begun <- struct{}{}
			}
			return nil
		}
	}, func(t *testing.T, db *database.DB) {
		for name, read := range map[string]func(context.Context, database.Reader, func(*database.Tx) error) error{
			"ReadFor": db.ReadFor, "ReadHeavy": db.ReadHeavy,
		} {
			for _, sql := range endless[db.Engine()] {
				for _, gorm := range []bool{false, true} {
					ctx, cancel := context.WithCancel(context.WithValue(t.Context(), begunKey{}, true))
					done := make(chan error)
					go func() {
						done <- read(ctx, me, func(tx *database.Tx) error {
							if gorm {
								var found []int64
								return tx.Gorm().Raw(sql).Scan(&found).Error
							}
							return tx.Pipeline(database.Statement{SQL: sql, Scan: func(database.Row) error { return nil }})
						})
					}()
					within(t, begun)
					cancel()
					for over := false; !over; { // gorm begins with two statements
						select {
						case err := <-done:
							require.ErrorIs(t, err, context.Canceled, "%s %v %s", name, gorm, sql)
							over = true
						case <-begun:
						case <-time.After(patience):
							require.FailNow(t, "the read went on", "%s %v %s", name, gorm, sql)
						}
					}
				}
			}
			for range 20 {
				var n int64
				require.NoError(t, read(t.Context(), me, func(tx *database.Tx) error { return tx.Pipeline(scanOne("SELECT 7", &n)) }))
				require.EqualValues(t, 7, n)
			}
		}
	})
}

type begunKey struct{}
