package intents

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/jsonvalue"
)

func TestLockUnknownIntent(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		no := h.numberOf(t, h.newIntent(t).GetId())
		err := h.inWrite(func(tx *database.Tx) error {
			_, err := Lock(tx, no, no+1000)
			return err
		})
		require.ErrorIs(t, err, ErrIntentNotFound)
	})
}

func TestLockGivesOneHeadPerIntentInOrder(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		first, second := h.newIntent(t), h.newIntent(t)
		low, high := h.numberOf(t, first.GetId()), h.numberOf(t, second.GetId())
		require.NoError(t, h.inWrite(func(tx *database.Tx) error {
			heads, err := Lock(tx, high, low, high)
			require.NoError(t, err)
			require.Len(t, heads, 2)
			require.Equal(t, []int64{low, high}, []int64{heads[0].IntentNo, heads[1].IntentNo})
			require.Equal(t, first.GetId(), heads[0].IntentID)
			require.Same(t, heads[1], heads.Get(high))
			require.Nil(t, heads.Get(high+1))
			require.True(t, heads[0].Locked())

			again, err := Lock(tx, high)
			require.NoError(t, err)
			require.Same(t, heads[1], again[0])
			return nil
		}))
	})
}

func TestLockingAFurtherHeadPanics(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		low, high := h.numberOf(t, h.newIntent(t).GetId()), h.numberOf(t, h.newIntent(t).GetId())
		require.Panics(t, func() {
			_ = h.inWrite(func(tx *database.Tx) error {
				_, err := Lock(tx, high)
				require.NoError(t, err)
				_, err = Lock(tx, low)
				return err
			})
		})
	})
}

func TestACopyOfAHeadHandsOutNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		head := h.head(t, h.newIntent(t).GetId())
		require.False(t, head.Locked())
		require.Equal(t, h.clock.Now(), head.Now())
		require.Panics(t, func() { head.Next() })
		require.Panics(t, func() { head.RaiseEpoch() })
	})
}

func TestWhatAHeadHandsOutIsStoredAtTheCommit(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intent := h.newIntent(t)
		before := h.head(t, intent.GetId())
		require.NoError(t, h.inWrite(func(tx *database.Tx) error {
			heads, err := Lock(tx, before.IntentNo)
			require.NoError(t, err)
			head := heads[0]
			require.Greater(t, head.NextChannel(), before.lastChannel)
			require.Greater(t, head.NextChannel(), before.lastChannel)
			position, at := head.Next()
			require.Equal(t, before.LastPosition+1, position)
			require.True(t, at.After(before.LastAt))
			event, err := head.LogAt(position, at, EventDraft{Type: "channel_message", Actor: "ann"})
			require.NoError(t, err)
			require.Equal(t, position, event.Position)
			require.True(t, head.Tick().After(at))
			require.Equal(t, position, head.LastPosition)
			head.RaiseEpoch()
			return nil
		}))
		after := h.head(t, intent.GetId())
		require.Equal(t, before.LastPosition+1, after.LastPosition)
		require.Equal(t, before.LastSequence+1, after.LastSequence)
		require.Greater(t, after.Epoch, before.Epoch)
		require.Equal(t, before.LastAt.Add(2*time.Microsecond), after.LastAt)
		require.Greater(t, after.lastChannel, before.lastChannel)
		events := h.log(t, intent.GetId())
		require.Equal(t, after.lastHash, events[len(events)-1].GetEventHash())
	})
}

func TestARolledBackTransactionLeavesNoTrace(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intent := h.newIntent(t)
		before := h.head(t, intent.GetId())
		var woken atomic.Int32
		h.OnChanged(func(int64) { woken.Add(1) })
		failure := errors.New("no")
		err := h.inWrite(func(tx *database.Tx) error {
			heads, err := Lock(tx, before.IntentNo)
			require.NoError(t, err)
			_, err = heads[0].Log(EventDraft{Type: "comment", Actor: "ann"})
			require.NoError(t, err)
			require.NoError(t, tx.Pipeline(heads.Statements()...))
			heads[0].RaiseEpoch()
			return failure
		})
		require.ErrorIs(t, err, failure)
		after := h.head(t, intent.GetId())
		require.Equal(t, before.LastPosition, after.LastPosition)
		require.Equal(t, before.Epoch, after.Epoch)
		require.Len(t, h.log(t, intent.GetId()), 1)
		require.Zero(t, woken.Load())
	})
}

func TestStatementsAreTakenOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intent := h.newIntent(t)
		no := h.numberOf(t, intent.GetId())
		require.NoError(t, h.inWrite(func(tx *database.Tx) error {
			lock, locked := PrepareLock(tx, []int64{no}, false)
			require.NoError(t, tx.Pipeline(lock, PrepareClock(tx)))
			heads, err := locked()
			require.NoError(t, err)
			for range 3 {
				_, err := heads[0].Log(EventDraft{Type: "comment", Actor: "ann", Payload: jsonvalue.Object(`{"n":1}`)})
				require.NoError(t, err)
			}
			require.NoError(t, tx.Pipeline(heads.Statements()...))
			require.Empty(t, heads.Statements())
			_, err = heads[0].Log(EventDraft{Type: "comment", Actor: "ann"}) // stored with the commit
			require.NoError(t, err)
			return nil
		}))
		require.Len(t, h.log(t, intent.GetId()), 5)
		requireValidChain(t, h, intent.GetId())
	})
}

// TestConcurrentLogsHaveNoGapsAndRisingTimes lets many writers race on few intents while the clock stands still.
func TestConcurrentLogsHaveNoGapsAndRisingTimes(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		const writers, rounds = 8, 10
		ids := []string{h.newIntent(t).GetId(), h.newIntent(t).GetId()}
		nos := []int64{h.numberOf(t, ids[0]), h.numberOf(t, ids[1])}
		var group sync.WaitGroup
		failures := make(chan error, writers*rounds)
		for w := range writers {
			group.Go(func() {
				for range rounds {
					failures <- h.inWrite(func(tx *database.Tx) error {
						heads, err := Lock(tx, nos[w%2], nos[1])
						if err != nil {
							return err
						}
						for _, head := range heads {
							if _, err := head.Log(EventDraft{Type: "comment", Actor: fmt.Sprint(w)}); err != nil {
								return err
							}
						}
						return nil
					})
				}
			})
		}
		group.Wait()
		close(failures)
		for err := range failures {
			require.NoError(t, err)
		}
		for i, want := range []int{1 + writers*rounds/2, 1 + writers*rounds} {
			events := h.log(t, ids[i])
			require.Len(t, events, want)
			for at := range events {
				require.EqualValues(t, at+1, events[at].GetSequence())
				if at > 0 {
					require.True(t, events[at].GetCreatedAt().AsTime().After(events[at-1].GetCreatedAt().AsTime()))
				}
			}
			require.EqualValues(t, want, h.head(t, ids[i]).LastPosition)
			requireValidChain(t, h, ids[i])
		}
	})
}

func TestALockThatDoesNotWaitLeavesOutWhatOthersHold(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		low, high := h.numberOf(t, h.newIntent(t).GetId()), h.numberOf(t, h.newIntent(t).GetId())
		want := []int64{high}
		if h.db.Engine() == database.SQLite {
			want = []int64{low, high} // SQLite runs one writer at a time, so no other transaction holds a lock
		} else {
			let := h.holdElsewhere(t, low)
			defer let()
		}
		require.NoError(t, h.inWrite(func(tx *database.Tx) error {
			statement, locked := PrepareLock(tx, []int64{low, high}, true)
			require.NoError(t, tx.Pipeline(statement))
			heads, err := locked()
			require.NoError(t, err)
			var had []int64
			for _, head := range heads {
				had = append(had, head.IntentNo)
			}
			require.Equal(t, want, had)
			return nil
		}))
	})
}

func TestLockWaitsAndSeesWhatTheOneBeforeWrote(t *testing.T) {
	h := newHouse(t, databasetest.URL(t, database.PostgreSQL)) // on SQLite a whole Write waits
	id := h.newIntent(t).GetId()
	no, before := h.numberOf(t, id), h.head(t, id)
	let := h.holdElsewhere(t, no)
	epoch := make(chan int64, 1)
	failed := make(chan error, 1)
	go func() {
		failed <- h.inWrite(func(tx *database.Tx) error {
			heads, err := Lock(tx, no)
			if err == nil {
				epoch <- heads[0].Epoch
			}
			return err
		})
	}()
	require.Eventually(t, func() bool { return h.someoneWaits(t) }, soon, time.Millisecond)
	let()
	require.NoError(t, <-failed)
	require.Greater(t, <-epoch, before.Epoch)
}

// holdElsewhere locks a head in another transaction, which raises its epoch, until the test calls let.
func (h *house) holdElsewhere(t *testing.T, intentNo int64) (let func()) {
	t.Helper()
	held, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- h.inWrite(func(tx *database.Tx) error {
			heads, err := Lock(tx, intentNo)
			if err != nil {
				return err
			}
			heads[0].RaiseEpoch()
			close(held)
			<-release
			return nil
		})
	}()
	select {
	case <-held:
	case err := <-done:
		t.Fatalf("the head cannot be locked: %v", err)
	}
	return func() {
		close(release)
		require.NoError(t, <-done)
	}
}

// someoneWaits reports whether a transaction of this database waits for a lock.
func (h *house) someoneWaits(t *testing.T) bool {
	var waiting int64
	require.NoError(t, h.db.Read(context.Background(), func(tx *database.Tx) error {
		return tx.Gorm().Raw("SELECT count(*) FROM pg_stat_activity" +
			" WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&waiting).Error
	}))
	return waiting > 0
}

func TestAHeadsTimeNeverFallsBack(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intent := h.newIntent(t)
		before := h.head(t, intent.GetId())
		h.clock.Advance(-time.Hour)
		require.NoError(t, h.inWrite(func(tx *database.Tx) error {
			heads, err := Lock(tx, before.IntentNo)
			require.NoError(t, err)
			require.Equal(t, h.clock.Now(), heads[0].Now(), "the clock decides")
			_, at := heads[0].Next()
			require.Equal(t, before.LastAt.Add(time.Microsecond), at)
			require.Equal(t, h.clock.Now(), heads[0].Now())
			return nil
		}))
		require.Equal(t, before.LastAt.Add(time.Microsecond), h.head(t, intent.GetId()).LastAt)
	})
}

func TestObserversHearOfRaisedEpochsOnly(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		var heard []int64
		h.OnChanged(func(intentNo int64) { heard = append(heard, intentNo) })
		logged, raised := h.numberOf(t, h.newIntent(t).GetId()), h.numberOf(t, h.newIntent(t).GetId())
		quiet := h.numberOf(t, h.newIntent(t).GetId())
		require.Empty(t, heard, "nobody can have kept rules of a new intent")
		require.NoError(t, h.inWrite(func(tx *database.Tx) error {
			heads, err := Lock(tx, logged, raised, quiet)
			require.NoError(t, err)
			_, err = heads.Get(logged).Log(EventDraft{Type: "comment", Actor: "ann"})
			require.NoError(t, err)
			heads.Get(raised).RaiseEpoch()
			heads.Get(quiet).Next()
			return nil
		}))
		require.Equal(t, []int64{raised}, heard, "logging an event does not call the hook")
	})
}
