package database_test

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"openintent/internal/database"
)

// Writers always change two rows together. No reader ever sees them differ, and no change is lost.
func TestConcurrentUse(t *testing.T) {
	const workers, turns = 8, 20
	each(t, func(cfg *database.Config) { cfg.Connections = database.Connections{Write: 3, Read: 3} }, func(t *testing.T, db *database.DB) {
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
			require.NoError(t, insertThing(tx, 1))
			return insertThing(tx, 2)
		}))
		sizes := func(tx *database.Tx, clause string) (things []thing, err error) {
			err = tx.Gorm().Raw("SELECT * FROM things ORDER BY id" + clause).Scan(&things).Error
			return things, err
		}
		add := func(tx *database.Tx) error {
			things, err := sizes(tx, tx.ForUpdate())
			if err != nil {
				return err
			}
			next := *things[0].Size + 1
			tx.SendWithCommit(tx.Update("things", []database.Column{{Name: "id", Values: []int64{2}}},
				[]database.Column{{Name: "size", Values: []int64{next}}})...)
			return tx.Gorm().Model(&thing{}).Where("id = ?", 1).Update("size", next).Error
		}
		var all sync.WaitGroup
		for range workers {
			all.Go(func() {
				for range turns {
					assert.NoError(t, db.Write(t.Context(), add))
				}
			})
			all.Go(func() {
				for range turns {
					assert.NoError(t, db.ReadStatement(t.Context(), func(tx *database.Tx) error {
						things, err := sizes(tx, "")
						if err == nil {
							assert.Equal(t, things[0].Size, things[1].Size)
						}
						return err
					}))
				}
			})
		}
		all.Wait()
		require.NoError(t, db.Read(t.Context(), func(tx *database.Tx) error {
			things, err := sizes(tx, "")
			require.NoError(t, err)
			require.EqualValues(t, workers*turns, *things[0].Size)
			require.EqualValues(t, workers*turns, *things[1].Size)
			return nil
		}))
	})
}

// Writers get their turns in the order in which they came, however many there are.
func TestWritersTakeTurns(t *testing.T) {
	const writers = 40
	each(t, func(cfg *database.Config) { cfg.Connections = database.Connections{Write: 1, Read: 1} }, func(t *testing.T, db *database.DB) {
		var mutex sync.Mutex
		var order []int
		var all sync.WaitGroup
		hold, held := make(chan struct{}), make(chan struct{})
		all.Go(func() {
			_ = db.Write(t.Context(), func(*database.Tx) error { close(held); <-hold; return nil })
		})
		within(t, held)
		require.Zero(t, db.FreeWriters())
		for i := range writers {
			all.Go(func() {
				_ = db.Write(t.Context(), func(*database.Tx) error {
					mutex.Lock()
					defer mutex.Unlock()
					order = append(order, i)
					return nil
				})
			})
			require.Eventually(t, func() bool { return waiting() == i+1 }, patience, 100*time.Microsecond)
		}
		close(hold)
		all.Wait()
		want := make([]int, writers)
		for i := range want {
			want[i] = i
		}
		require.Equal(t, want, order)
	})
}

// waiting returns the number of goroutines that wait in line at a gate.
func waiting() (n int) {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, stack := range strings.Split(string(stacks), "\n\n") {
		state, frames, _ := strings.Cut(stack, "\n")
		if strings.Contains(state, "[select") && strings.HasPrefix(frames, "openintent/internal/database.(*gate[") {
			n++
		}
	}
	return n
}
