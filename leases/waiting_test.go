package leases

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
)

type tx = database.Tx

// outcome is what a waiting call returned.
type outcome struct {
	agent string
	lease *openintentv1.Lease
	err   error
}

// await makes a call that waits for a scope on a replica, and returns once it has its place.
func (h *house) await(t *testing.T, r rooms, agent, scope string) <-chan outcome {
	t.Helper()
	return h.awaitIn(t, as(agent), r, agent, scope, 600)
}

func (h *house) awaitIn(
	t *testing.T, ctx context.Context, r rooms, agent, scope string, seconds int32, //nolint:revive // a test's first argument is t
) <-chan outcome {
	t.Helper()
	before := h.waiting(t)
	ended := make(chan outcome, 1)
	go func() {
		req := h.acquiring(scope)
		req.WaitSeconds = seconds
		lease, err := r.AcquireLease(ctx, req)
		ended <- outcome{agent, lease, err}
	}()
	require.Eventually(t, func() bool { return h.waiting(t) > before || len(ended) > 0 }, patience, time.Millisecond)
	return ended
}

// waiting counts the calls that wait.
func (h *house) waiting(t *testing.T) (count int64) {
	t.Helper()
	require.NoError(t, h.db.ReadStatement(t.Context(), func(tx *tx) error {
		return tx.Pipeline(database.ReadValue(&count, "SELECT count(*) FROM lease_waiters"))
	}))
	return count
}

func (h *house) granted(t *testing.T, ended <-chan outcome) *openintentv1.Lease {
	t.Helper()
	select {
	case got := <-ended:
		require.NoError(t, got.err, got.agent)
		return got.lease
	case <-time.After(patience):
		t.Fatal("the scope was not granted")
		return nil
	}
}

func TestAScopeGoesToThoseWhoWaitInTheOrderOfAsking(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		other := h.rooms
		if h.db.Engine() == database.PostgreSQL {
			other = h.replica(t)
		}
		lease := h.hold(t, "ann", "parser")
		bob := h.await(t, other, "bob", "parser")
		eve := h.await(t, h.rooms, "eve", "parser")
		require.NoError(t, h.free("ann", lease.GetId()))
		lease = h.granted(t, bob)
		_, err := h.AcquireLease(as("ann"), h.acquiring("parser"))
		requireReason(t, err, fault.AlreadyExists, "LEASE_HELD")
		require.Empty(t, eve)
		require.NoError(t, h.free("bob", lease.GetId()))
		lease = h.granted(t, eve)
		require.Equal(t, "eve", lease.GetAgentId())
		require.Zero(t, h.waiting(t))
	})
}

func TestAWaitingCallKeepsItsPlace(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.lookAgain = 5 * time.Millisecond
		lease := h.hold(t, "ann", "parser")
		bob := h.await(t, h.rooms, "bob", "parser")
		alive := func() (until int64) {
			require.NoError(t, h.db.ReadStatement(t.Context(), func(tx *tx) error {
				return tx.Pipeline(database.ReadValue(&until, "SELECT COALESCE(max(alive_until), 0) FROM lease_waiters"))
			}))
			return until
		}
		before := alive()
		h.clock.Advance(time.Second)
		require.Eventually(t, func() bool { return alive() > before }, patience, time.Millisecond, "it shows that it is alive")
		require.NoError(t, h.db.Write(t.Context(), func(tx *tx) error {
			return tx.Pipeline(database.Statement{SQL: "DELETE FROM lease_waiters"})
		}))
		require.Eventually(t, func() bool { return h.waiting(t) == 1 }, patience, time.Millisecond, "it asks for another place")
		require.NoError(t, h.free("ann", lease.GetId()))
		h.granted(t, bob)
	})
}

// A call that waits looks again if the commit of its grant fails. It returns a lease that is stored, also if nobody told it so.
func TestAWaitReturnsOnlyALeaseThatIsStored(t *testing.T) {
	for name, fail := range map[string]func(*databasetest.CommitFaults, int){
		"lost commit":          (*databasetest.CommitFaults).FailBefore,
		"lost acknowledgement": (*databasetest.CommitFaults).FailAfter,
	} {
		t.Run(name, func(t *testing.T) {
			eachHouse(t, func(t *testing.T, h *house) {
				h.hold(t, "ann", "parser")
				before := h.faults.Commits()
				bob := h.await(t, h.rooms, "bob", "parser")
				require.Eventually(t, func() bool { return h.faults.Commits() > before }, patience, time.Millisecond) // of bob's place
				_, intentNo, err := h.resolve(as("bob"), h.intent.GetId())
				require.NoError(t, err)
				h.clock.Advance(6 * time.Minute) // the lease is over, and nobody has said so yet
				fail(&h.faults, 1)
				require.Eventually(t, func() bool {
					h.messaging.WakeLeases(intentNo)
					return len(bob) > 0
				}, patience, time.Millisecond)
				_, err = h.renew("bob", h.granted(t, bob).GetId(), 60)
				require.NoError(t, err)
				require.Equal(t, map[string]string{"parser": "bob"}, h.holders(t))
			})
		})
	}
}

// A call waits behind living calls for its own scope alone.
func TestACallWaitsBehindNobodyElse(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		lease := h.hold(t, "ann", "parser")
		bob := h.await(t, h.rooms, "bob", "parser")
		// All of these have places before bob's.
		h.wait(t, "eve", "parser", h.clock.Now()) // whose server is dead
		h.wait(t, "eve", "lexer", h.clock.Now().Add(time.Hour))
		h.elsewhere(t, func() { h.wait(t, "eve", "parser", h.clock.Now().Add(time.Hour)) })
		require.NoError(t, h.free("ann", lease.GetId()))
		h.granted(t, bob)
	})
}

// Only the first of those who wait is granted a scope, also if another one looks before it: at the end of its patience, say.
func TestOnlyTheFirstOfThoseWhoWaitIsGranted(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.waitAt(t, 1, "bob", "parser", h.clock.Now().Add(time.Hour))
		h.waitAt(t, 2, "eve", "parser", h.clock.Now().Add(time.Hour))
		lease, place, err := h.try(t, "eve", "parser", 2)
		require.NoError(t, err)
		require.Nil(t, lease)
		require.EqualValues(t, 2, place)
		lease, _, err = h.try(t, "bob", "parser", 1)
		require.NoError(t, err)
		require.Equal(t, "bob", lease.AgentID)
	})
}

func TestWhoComesLaterDoesNotOvertake(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.wait(t, "bob", "parser", h.clock.Now().Add(time.Minute))
		_, err := h.AcquireLease(as("ann"), h.acquiring("parser"))
		requireReason(t, err, fault.AlreadyExists, "LEASE_HELD")
		require.ErrorContains(t, err, "Other agents wait")
		h.clock.Advance(time.Minute)
		h.hold(t, "ann", "parser") // the place of the dead waiter is void
	})
}

// When the first one in a line gives up, the next one looks at once, also if the scope has been free for long.
func TestWhoeverGivesUpWakesTheNextOne(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.waitAt(t, 1, "bob", "parser", h.clock.Now().Add(time.Hour))
		_, intentNo, err := h.resolve(as("bob"), h.intent.GetId())
		require.NoError(t, err)
		next := h.messaging.WatchLeases("eve", intentNo)
		defer next.Close()
		h.leaveLine(intentNo, 1)
		require.Zero(t, h.waiting(t))
		select {
		case <-next.C():
		case <-time.After(patience):
			t.Fatal("nobody was woken")
		}
	})
}

// wait stores a call that waits, as a server does that dies later. Its place is before those of real calls.
func (h *house) wait(t *testing.T, agent, scope string, aliveUntil time.Time) {
	t.Helper()
	h.waitAt(t, rand.Int64N(1<<40), agent, scope, aliveUntil)
}

func (h *house) waitAt(t *testing.T, place int64, agent, scope string, aliveUntil time.Time) {
	t.Helper()
	h.store(t, waiter{Place: place, Scope: scope, AgentID: agent, AliveUntil: database.Micros(aliveUntil)})
}

// store stores calls that wait in the intent.
func (h *house) store(t *testing.T, waiting ...waiter) {
	t.Helper()
	require.NoError(t, h.db.Write(t.Context(), func(tx *tx) error {
		no, err := h.intents.Resolve(tx, h.intent.GetId())
		if err != nil {
			return err
		}
		for i := range waiting {
			waiting[i].IntentNo = no
		}
		return tx.Gorm().Create(&waiting).Error
	}))
}

// try makes one attempt of a call that may wait. A place of 0 is none.
func (h *house) try(t *testing.T, agent, scope string, place int64) (lease *Lease, kept int64, err error) {
	t.Helper()
	by, intentNo, err := h.resolve(as(agent), h.intent.GetId())
	require.NoError(t, err)
	return h.attempt(as(agent), wanted{
		by: by, agentID: agent, intentNo: intentNo, scope: scope, duration: time.Minute, leaseID: agent + " " + scope,
	}, place, true)
}

func TestAWaitEndsWithItsTimeItsCallerAndItsIntent(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hold(t, "ann", "parser")
		got := <-h.awaitIn(t, as("bob"), h.rooms, "bob", "parser", 1)
		requireReason(t, got.err, fault.AlreadyExists, "LEASE_HELD")
		ctx, cancel := context.WithCancel(as("bob"))
		ended := h.awaitIn(t, ctx, h.rooms, "bob", "parser", 600)
		cancel()
		require.ErrorIs(t, (<-ended).err, context.Canceled)
		require.Zero(t, h.waiting(t))

		over := h.await(t, h.rooms, "bob", "parser")
		h.setStatus(t, openintentv1.IntentStatus_INTENT_STATUS_COMPLETED)
		require.Eventually(t, func() bool { return len(over) > 0 }, patience, time.Millisecond)
		requireReason(t, (<-over).err, fault.Conflict, "INTENT_ENDED")
		require.Zero(t, h.waiting(t))
	})
}

func TestOnlySoManyWait(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hold(t, "ann", "parser")
		many := func(count int, agent string, aliveUntil time.Time) (waiting []waiter) {
			for range count {
				waiting = append(waiting, waiter{
					Place: rand.Int64N(1 << 60), Scope: "lexer", AgentID: agent, AliveUntil: database.Micros(aliveUntil),
				})
			}
			return waiting
		}
		later := h.clock.Now().Add(time.Minute)
		h.store(t, many(maxWaitingEach-1, "bob", later)...)
		h.store(t, many(maxWaitingEach, "bob", h.clock.Now())...) // whose servers are dead
		waits := func(agent string) error {
			_, _, err := h.try(t, agent, "parser", 0)
			return err
		}
		require.NoError(t, waits("bob"))
		requireReason(t, waits("bob"), fault.Quota, "TOO_MANY_LEASE_WAITERS")
		require.NoError(t, waits("eve"))
		h.store(t, many(maxWaiting-maxWaitingEach-2, "of many agents", later)...)
		require.NoError(t, waits("fay"))
		requireReason(t, waits("gus"), fault.Quota, "TOO_MANY_LEASE_WAITERS")
		h.elsewhere(t, func() {
			h.hold(t, "ann", "parser")
			require.NoError(t, waits("gus"))
		})
	})
}

// resource refuses a fence lower than the highest that it has seen.
type resource struct {
	mutex   sync.Mutex
	highest int64
	used    int
}

func (r *resource) use(fence int64) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if fence < r.highest {
		return false
	}
	r.highest = fence
	r.used++
	return true
}

// Agents on two replicas take turns with a scope, and some of them stand still until their lease is over.
func TestAtNoTimeDoTwoHoldersHaveFencesThatAResourceAccepts(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		replicas := []rooms{h.rooms, h.rooms}
		if h.db.Engine() == database.PostgreSQL {
			replicas[1] = h.replica(t)
		}
		var shared resource
		var group sync.WaitGroup
		for n := range 8 {
			group.Go(func() {
				agent := string(rune('a' + n))
				for range 10 {
					req := h.acquiring("shared")
					req.WaitSeconds = 600
					lease, err := replicas[n%2].AcquireLease(as(agent), req)
					if !assert.NoError(t, err) {
						return
					}
					assert.True(t, shared.use(lease.GetFence()), "the newest holder is accepted")
					if n == 0 { // stands still until another holds the scope
						h.clock.Advance(6 * time.Minute)
						assert.NoError(t, h.Sweep(t.Context()))
						continue
					}
					if err := h.free(agent, lease.GetId()); err != nil {
						assert.ErrorIs(t, err, ErrNotFound) // it was over meanwhile
					}
				}
			})
		}
		group.Wait()
		require.Equal(t, 80, shared.used)
	})
}

func TestTheSweepRemovesThePlacesOfDeadCalls(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		places := func() (count int64) {
			require.NoError(t, h.db.Read(t.Context(), func(tx *tx) error { return tx.Gorm().Model(&waiter{}).Count(&count).Error }))
			return count
		}
		require.NoError(t, h.db.Write(t.Context(), func(tx *tx) error {
			return tx.Gorm().Create(&waiter{
				IntentNo: 1, Place: 1, Scope: "parser", AgentID: "ann", AliveUntil: database.Micros(h.clock.Now()),
			}).Error
		}))
		h.clock.Advance(deadFor - time.Second)
		require.NoError(t, h.Sweep(t.Context()))
		require.EqualValues(t, 1, places())
		h.clock.Advance(time.Second)
		require.NoError(t, h.Sweep(t.Context()))
		require.Zero(t, places())
	})
}
