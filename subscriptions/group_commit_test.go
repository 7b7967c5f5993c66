package subscriptions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault/faulttest"
	"openintent/subscriptions/record"
)

// awaitChanges waits until a number of changes wait.
func (r rooms) awaitChanges(t *testing.T, count int) {
	eventually(t, func() bool { return r.subscriptions.changes.Waits() == count }, fmt.Sprintf("there are not %d changes waiting", count))
}

// locks counts how often subscriptions were locked for changes.
type locks struct{ atomic.Int64 }

func (l *locks) count(s *settings) {
	s.database.Hooks.Statement = func(_ context.Context, sql string) func() {
		if strings.Contains(sql, "ORDER BY s.subscription_no") {
			l.Add(1)
		}
		return nil
	}
}

// numbered makes a number of subscriptions and returns their numbers.
func (h *house) numbered(t *testing.T, count int) []int64 {
	nos := make([]int64, count)
	for i := range nos {
		found, err := h.subscriptions.find(asOperator(), h.subscribe(t, fmt.Sprint("agent-", i), &createInput{}).GetId())
		require.NoError(t, err)
		nos[i] = found.No
	}
	return nos
}

// marks returns a decision that can be seen in the stored subscription.
func marks(text string) record.Decision {
	return func(c *record.Change) error {
		c.Locked.LastError += text
		return nil
	}
}

// panicsOnce returns a decision that panics in its group, and refuses afterwards.
func panicsOnce() record.Decision {
	panicked := false
	return func(*record.Change) error {
		if !panicked {
			panicked = true
			panic("the decision of a group")
		}
		return record.ErrEnded
	}
}

// begin makes a change on another goroutine.
func (h *house) begin(ctx context.Context, no int64, decide record.Decision) <-chan error {
	return h.beginWanting(ctx, no, record.Wanted{}, decide)
}

func (h *house) beginWanting(ctx context.Context, no int64, want record.Wanted, decide record.Decision) <-chan error {
	done := make(chan error, 1)
	go func() { done <- h.subscriptions.changes.Change(ctx, no, want, decide) }()
	return done
}

func (h *house) marked(t *testing.T, no int64) (text string) {
	require.NoError(t, h.db.ReadStatement(context.Background(), func(tx *database.Tx) error {
		return tx.Pipeline(database.ReadValue(&text, "SELECT COALESCE(last_error, '') FROM subscriptions WHERE subscription_no = ?", no))
	}))
	return text
}

// Changes that come while a group is committed are the next group. Two changes of one subscription are in two groups, in their order.
func TestChangesThatWaitAreCommittedTogether(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			locked := new(locks)
			h := newHouse(t, engine, locked.count)
			nos := h.numbered(t, 20)
			release := h.subscriptions.changes.HoldUp()
			var begun []<-chan error
			for i, no := range nos {
				begun = append(begun, h.begin(t.Context(), no, marks("a")))
				h.awaitChanges(t, i+1)
			}
			begun = append(begun, h.begin(t.Context(), nos[3], marks("b")))
			h.awaitChanges(t, len(nos)+1)
			locked.Store(0)
			release()
			for _, done := range begun {
				require.NoError(t, <-done)
			}
			require.Equal(t, int64(2), locked.Load())
			for i, no := range nos {
				require.Equal(t, map[bool]string{true: "ab", false: "a"}[i == 3], h.marked(t, no))
			}
		})
	}
}

// A change that is refused, that the database refuses, or that panics is not made. The others of its group are.
func TestOneChangeOfAGroupDoesNotSpoilTheOthers(t *testing.T) {
	broken := database.Statement{SQL: "UPDATE subscriptions SET id = NULL"}
	planted := map[string]func() record.Decision{
		"refused":     func() record.Decision { return func(*record.Change) error { return record.ErrEnded } },
		"no data":     func() record.Decision { return func(c *record.Change) error { c.Also(broken); return nil } },
		"panics once": panicsOnce,
		"deleted":     func() record.Decision { return marks("never") },
	}
	for name, planted := range planted {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, h *house) {
				nos, decide := h.numbered(t, 3), planted()
				if name == "deleted" {
					require.NoError(t, h.subscriptions.hide(t.Context(), nos[1]))
				}
				release := h.subscriptions.changes.HoldUp()
				first := h.begin(t.Context(), nos[0], marks("first"))
				h.awaitChanges(t, 1)
				second := h.begin(t.Context(), nos[1], decide)
				h.awaitChanges(t, 2)
				third := h.begin(t.Context(), nos[2], marks("third"))
				h.awaitChanges(t, 3)
				release()
				require.NoError(t, <-first)
				require.NoError(t, <-third)
				require.Equal(t, []string{"first", "", "third"}, []string{h.marked(t, nos[0]), h.marked(t, nos[1]), h.marked(t, nos[2])})
				switch err := <-second; name {
				case "no data":
					require.True(t, database.IsData(err), "%v", err)
				case "deleted":
					require.Equal(t, record.ErrNotFound, err)
				default:
					require.Equal(t, record.ErrEnded, err)
				}
			})
		})
	}
}

// A subscription that another transaction has locked waits by itself. Its group and the next ones do not.
func TestALockedSubscriptionHoldsUpNoGroup(t *testing.T) {
	t.Parallel()
	tried := new(locks)
	h := newHouse(t, database.PostgreSQL, tried.count)
	nos := h.numbered(t, 2)
	locked, proceed, gone := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		gone <- h.db.Write(context.Background(), func(tx *database.Tx) error {
			return record.ChangeIn(tx, nos[0], record.Wanted{}, func(*record.Change) error {
				close(locked)
				<-proceed
				return nil
			})
		})
	}()
	<-locked
	release := h.subscriptions.changes.HoldUp()
	held := h.begin(t.Context(), nos[0], marks("held"))
	h.awaitChanges(t, 1)
	free := h.begin(t.Context(), nos[1], marks("free"))
	h.awaitChanges(t, 2)
	tried.Store(0)
	release()
	require.NoError(t, <-free)
	require.LessOrEqual(t, tried.Load(), int64(2), "the group was tried again, because it waited for the lock")
	require.NoError(t, <-h.begin(t.Context(), nos[1], marks(" again")))
	require.Equal(t, "free again", h.marked(t, nos[1]))
	require.Empty(t, h.marked(t, nos[0]))
	close(proceed)
	require.NoError(t, <-gone)
	require.NoError(t, <-held)
	require.Equal(t, "held", h.marked(t, nos[0]))
}

// A caller that goes away before its change is made takes it along. One whose change is being made does not end the group of the others,
// also if it commits that group.
func TestACallerThatGoesAwayDoesNotStopTheOthers(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		nos := h.numbered(t, 4)
		release := h.subscriptions.changes.HoldUp()
		leading, leave := context.WithCancelCause(t.Context())
		deciding, proceed := make(chan struct{}), make(chan struct{})
		leader := h.begin(leading, nos[0], func(c *record.Change) error {
			close(deciding)
			<-proceed
			return marks("leader")(c)
		})
		h.awaitChanges(t, 1)
		other := h.begin(t.Context(), nos[1], marks("other"))
		h.awaitChanges(t, 2)
		release()
		<-deciding

		left := errors.New("the caller has gone")
		leave(left)
		waiting, quit := context.WithCancelCause(t.Context())
		early := h.begin(waiting, nos[2], marks("early"))
		h.awaitChanges(t, 1)
		late := h.begin(t.Context(), nos[3], marks("late"))
		h.awaitChanges(t, 2)
		quit(left)
		require.ErrorIs(t, <-early, left)
		close(proceed)
		require.NoError(t, <-leader)
		require.NoError(t, <-other)
		require.NoError(t, <-late)
		require.Equal(t, "leader", h.marked(t, nos[0]))
		require.Equal(t, "other", h.marked(t, nos[1]))
		require.Empty(t, h.marked(t, nos[2]))
		require.Equal(t, "late", h.marked(t, nos[3]))
	})
}

// If the commit of a group has an unknown outcome, all of its callers learn that, and nothing is made twice.
func TestAGroupWhoseCommitIsUnknownIsNotRepeated(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		nos := h.numbered(t, 2)
		release := h.subscriptions.changes.HoldUp()
		first := h.begin(as("agent-0"), nos[0], marks("a"))
		h.awaitChanges(t, 1)
		second := h.begin(as("agent-1"), nos[1], marks("b"))
		h.awaitChanges(t, 2)
		h.faults.set(nil, nth(1))
		release()
		require.True(t, database.IsCommitUnknown(<-first))
		require.True(t, database.IsCommitUnknown(<-second))
		require.Equal(t, []string{"a", "b"}, []string{h.marked(t, nos[0]), h.marked(t, nos[1])})
	})
}

// A message to everyone is numbered in the agents' own logs, and for fetches, by one transaction for all who look at that time.
func TestABroadcastIsNumberedForManyTogether(t *testing.T) {
	const agents = 12
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			locked := new(locks)
			h := newHouse(t, engine, locked.count)
			channel := h.open(t, h.intent(t), "talk")
			var streams []*stream[wireOwn]
			for i := range agents {
				h.send(t, fmt.Sprint("agent-", i), channel, "ann", "I take part")
				streams = append(streams, h.follow(t, fmt.Sprint("agent-", i), nil))
				requireNext(t, streams[i], "0 caught up")
			}
			release := h.subscriptions.changes.HoldUp()
			h.send(t, "ann", channel, "*", "to all")
			h.awaitChanges(t, agents)
			locked.Store(0)
			release()
			for _, s := range streams {
				requireNext(t, s, "1 to all")
			}
			require.Equal(t, int64(1), locked.Load())

			var subs []*openintentv1.Subscription
			for i := range agents {
				subs = append(subs, h.subscribe(t, fmt.Sprint("agent-", i), &createInput{ChannelId: &channel}))
				streams[i].cancel()
			}
			h.send(t, "ann", channel, "*", "more")
			release = h.subscriptions.changes.HoldUp()
			fetched := make(chan []*wireDelivery, agents)
			for _, sub := range subs {
				go func() {
					found, err := h.tryFetch(as(sub.GetSubscriberId()), sub, 10)
					if err != nil {
						found = nil
					}
					fetched <- found
				}()
			}
			h.awaitChanges(t, agents)
			release()
			for range agents {
				require.Equal(t, []string{"1:more"}, described(<-fetched))
			}
		})
	}
}

// A decision sees only rows of its own subscription, however many subscriptions its transaction locks.
func TestEachChangeKnowsItsOwnSubscription(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		var nos []int64
		for i := range 3 {
			sub := h.subscribe(t, fmt.Sprint("agent-", i), &createInput{ChannelId: &channel})
			found, err := h.subscriptions.find(asOperator(), sub.GetId())
			require.NoError(t, err)
			nos = append(nos, found.No)
			for range i + 1 {
				h.send(t, "ann", channel, fmt.Sprint("agent-", i), "one")
			}
			h.fetch(t, sub)
		}
		found, err := h.subscriptions.find(asOperator(), h.subscribe(t, "agent-9", &createInput{ChannelId: &channel}).GetId())
		require.NoError(t, err)
		want := record.Wanted{IntentNo: found.IntentNo, Numbers: []int64{2, 3}, Unfinished: true}
		all := make(map[int64]*record.Change)
		release := h.subscriptions.changes.HoldUp()
		var begun []<-chan error
		for i, no := range append(nos, found.No) {
			begun = append(begun, h.beginWanting(t.Context(), no, []record.Wanted{want, want, {}, want}[i], func(c *record.Change) error {
				all[no] = c
				return nil
			}))
			h.awaitChanges(t, i+1)
		}
		release()
		for _, done := range begun {
			require.NoError(t, <-done)
		}
		require.Len(t, all, 4)
		require.Empty(t, all[nos[0]].Rows)
		require.Equal(t, []int64{1}, record.NumbersOf(all[nos[0]].Unfinished))
		require.Equal(t, []int64{2}, record.NumbersOf(all[nos[1]].Rows))
		require.Equal(t, []int64{1, 2}, record.NumbersOf(all[nos[1]].Unfinished))
		require.Greater(t, all[nos[1]].Position, all[nos[0]].Position)
		require.Empty(t, append(all[nos[2]].Rows, all[nos[2]].Unfinished...))
		require.Zero(t, all[nos[2]].Position)
		require.Empty(t, all[found.No].Unfinished)
		faulttest.Require(t, h.subscriptions.changes.Change(t.Context(), 1<<40, record.Wanted{}, marks("never")), record.ErrNotFound.Kind, record.ErrNotFound.Reason)
	})
}
