package siege

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// frozenWaits are two replicas, one of which freezes while calls wait there. Each leads to the same database.
type frozenWaits struct {
	t             *testing.T
	frozen, other *harness.Server
	db            *database.DB
	at            place
}

// maxFrozenWaits is how many calls of one caller may wait at a replica of these tests.
const maxFrozenWaits = 4

func newFrozenWaits(t *testing.T) *frozenWaits {
	url := databasetest.URL(t, database.PostgreSQL)
	options := harness.Options{URL: url, Flags: []string{fmt.Sprint("--max-waits=", maxFrozenWaits)}}
	w := &frozenWaits{t: t, frozen: harness.StartProcess(t, options), other: harness.StartProcess(t, options)}
	w.db = databasetest.Open(t, database.Config{URL: url})
	w.at = newPlace(t, w.other, "talk")
	t.Cleanup(func() { harness.RequireWhole(t, url) })
	return w
}

// freeze freezes the replica until thaw is called, or until the test ends.
func (w *frozenWaits) freeze() (thaw func()) {
	w.t.Helper()
	w.frozen.Freeze(w.t)
	thaw = sync.OnceFunc(func() { w.frozen.Thaw(w.t) })
	w.t.Cleanup(thaw)
	return thaw
}

// A call waits for a lease at a replica that freezes. Another agent gets the lease meanwhile. When the replica goes on, the call does not get
// what is held, and waits on.
func TestAFrozenReplicaGivesNoHeldLease(t *testing.T) {
	w := newFrozenWaits(t)
	held, err := w.acquire(t.Context(), w.other, "hal", 0)
	require.NoError(t, err)
	late := begin(func() (*openintentv1.Lease, error) { return w.acquire(t.Context(), w.frozen, "gus", 600) })
	w.awaitWaiters("gus", 1)

	thaw := w.freeze()
	next := begin(func() (*openintentv1.Lease, error) { return w.acquire(t.Context(), w.other, "joe", 600) })
	w.awaitWaiters("joe", 1)
	w.silence("gus")
	w.release(held)
	joes := end(t, next)
	require.Greater(t, joes.GetFence(), held.GetFence())

	thaw()
	listed, err := w.frozen.As("gus").Leases.ListLeases(t.Context(), &openintentv1.ListLeasesRequest{IntentId: w.at.intent})
	require.NoError(t, err)
	require.Len(t, listed.GetLeases(), 1)
	require.Equal(t, joes.GetId(), listed.GetLeases()[0].GetId())
	require.Empty(t, late, "it waits")
	w.release(joes)
	require.Greater(t, end(t, late).GetFence(), joes.GetFence())
}

// Calls wait for an inbox and for deliveries at a replica that freezes. Those at the other replica go on. When the replica goes on, its calls
// get what came meanwhile, and a sender that was refused meanwhile is refused there at once.
func TestAFrozenReplicaReceivesAndRefusesWhatItMissed(t *testing.T) {
	w := newFrozenWaits(t)
	_, err := w.other.As("bob").Agents.RegisterAgent(t.Context(), &openintentv1.RegisterAgentRequest{AgentId: proto.String("bob")})
	require.NoError(t, err)
	work, err := w.other.As("dan").Subscriptions.CreateSubscription(t.Context(), &openintentv1.CreateSubscriptionRequest{
		Name: proto.String("work"), IntentId: &w.at.intent, MessageType: openintentv1.MessageType_MESSAGE_TYPE_NOTIFY.Enum(),
	})
	require.NoError(t, err)
	for _, server := range []*harness.Server{w.frozen, w.other} { // so that both remember that bob refuses nobody
		require.NoError(t, w.say(server, "mallory", "bob"))
		w.markRead(server)
	}
	inbox := begin(insisting(func() (*openintentv1.Inbox, error) { return w.inbox(w.frozen) }))
	fetched := begin(insisting(func() (*openintentv1.FetchDeliveriesResponse, error) {
		return w.frozen.As("dan").Subscriptions.FetchDeliveries(t.Context(), &openintentv1.FetchDeliveriesRequest{
			SubscriptionId: work.GetId(), WaitSeconds: proto.Float64(600),
		})
	}))
	w.awaitWaiting("bob")
	w.awaitWaiting("dan")

	thaw := w.freeze()
	_, err = w.other.As("bob").Agents.RefuseSender(t.Context(), &openintentv1.RefuseSenderRequest{AgentId: "bob", Sender: "mallory"})
	require.NoError(t, err)
	woken := begin(func() (*openintentv1.Inbox, error) { return w.inbox(w.other) })
	require.NoError(t, w.say(w.other, "alice", "dan"))
	require.NoError(t, w.say(w.other, "alice", "bob"))
	require.Len(t, end(t, woken).GetItems(), 1)
	refused := begin(func() (*struct{}, error) { return nil, w.say(w.frozen, "mallory", "bob") }) // it waits in the replica's connection

	thaw()
	o := <-refused
	require.Equal(t, "REFUSED", harness.Reason(o.err), "%v", o.err)
	require.Len(t, end(t, inbox).GetItems(), 1)
	require.Len(t, end(t, fetched).GetDeliveries(), 1)
}

// As many calls of one agent as may wait at a replica are given up while it is frozen. When it goes on, as many may wait again.
func TestWaitsThatWereGivenUpAtAFrozenReplicaCountNoMore(t *testing.T) {
	w := newFrozenWaits(t)
	_, err := w.acquire(t.Context(), w.other, "hal", 0)
	require.NoError(t, err)
	fill := func() (giveUp func()) {
		ctx, giveUp := context.WithCancel(t.Context())
		for range maxFrozenWaits {
			begin(func() (*openintentv1.Lease, error) { return w.acquire(ctx, w.frozen, "ida", 600) })
		}
		w.awaitWaiters("ida", maxFrozenWaits)
		_, err = w.acquire(t.Context(), w.frozen, "ida", 600)
		require.Equal(t, "TOO_MANY_WAITS", harness.Reason(err), "%v", err)
		return giveUp
	}
	giveUp := fill()
	thaw := w.freeze()
	giveUp()
	thaw()
	w.awaitWaiters("ida", 0)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		_, err := w.acquire(t.Context(), w.frozen, "ida", 1)
		assert.Equal(c, "LEASE_HELD", harness.Reason(err))
	}, harness.Patience, 10*time.Millisecond)
	fill()()
}

func (w *frozenWaits) say(server *harness.Server, from, to string) error {
	_, err := server.As(from).Messages.SendMessage(w.t.Context(), &openintentv1.SendMessageRequest{
		ChannelId: w.at.channel, To: &to, MessageType: openintentv1.MessageType_MESSAGE_TYPE_NOTIFY.Enum(), Payload: text("for " + to),
	})
	return err
}

func (w *frozenWaits) inbox(server *harness.Server) (*openintentv1.Inbox, error) {
	return server.As("bob").Messages.GetInbox(w.t.Context(), &openintentv1.GetInboxRequest{AgentId: "bob", WaitSeconds: proto.Float64(600)})
}

func (w *frozenWaits) markRead(server *harness.Server) {
	w.t.Helper()
	inbox, err := w.inbox(server)
	require.NoError(w.t, err)
	for _, item := range inbox.GetItems() {
		_, err = server.As("bob").Messages.MarkInboxRead(w.t.Context(), &openintentv1.MarkInboxReadRequest{
			AgentId: "bob", MessageIds: []string{item.GetMessage().GetId()},
		})
		require.NoError(w.t, err)
	}
}

func (w *frozenWaits) acquire(ctx context.Context, server *harness.Server, agent string, seconds int32) (*openintentv1.Lease, error) {
	return server.As(agent).Leases.AcquireLease(ctx, &openintentv1.AcquireLeaseRequest{
		IntentId: w.at.intent, Scope: "press", DurationSeconds: proto.Int32(3600), WaitSeconds: seconds,
	})
}

// release gives a lease up at the other replica.
func (w *frozenWaits) release(lease *openintentv1.Lease) {
	w.t.Helper()
	_, err := w.other.As(lease.GetAgentId()).Leases.ReleaseLease(w.t.Context(), &openintentv1.ReleaseLeaseRequest{
		IntentId: w.at.intent, LeaseId: lease.GetId(),
	})
	require.NoError(w.t, err)
}

// awaitWaiters waits until so many calls of an agent wait for a lease.
func (w *frozenWaits) awaitWaiters(agent string, count int64) {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		var n int64
		assert.NoError(w.t, w.db.Read(w.t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(database.ReadValue(&n, "SELECT COUNT(*) FROM lease_waiters WHERE agent_id = ?", agent))
		}))
		return n == count
	}, harness.Patience, 10*time.Millisecond, "%d calls of %s", count, agent)
}

// silence makes an agent's call that waits for a lease count as one that has been silent for too long.
func (w *frozenWaits) silence(agent string) {
	w.t.Helper()
	require.NoError(w.t, w.db.Write(w.t.Context(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{SQL: "UPDATE lease_waiters SET alive_until = 1 WHERE agent_id = ?", Args: []any{agent}})
	}))
}

// awaitWaiting waits until a call of an agent waits at the replica that is to freeze: it lets one call less than may wait there begin, and waits
// until there is no room for another.
func (w *frozenWaits) awaitWaiting(agent string) {
	w.t.Helper()
	messages := w.frozen.As(agent).Messages
	waits := func(seconds float64) (*openintentv1.Inbox, error) {
		return messages.GetInbox(w.t.Context(), &openintentv1.GetInboxRequest{AgentId: agent, WaitSeconds: &seconds})
	}
	for range maxFrozenWaits - 1 {
		begin(insisting(func() (*openintentv1.Inbox, error) { return waits(600) }))
	}
	require.Eventually(w.t, func() bool {
		_, err := waits(0.001)
		return harness.Reason(err) == "TOO_MANY_WAITS"
	}, harness.Patience, 10*time.Millisecond)
}

// insisting makes a call again for as long as there is no room for it.
func insisting[T any](call func() (*T, error)) func() (*T, error) {
	return func() (answer *T, err error) {
		for again := true; again; again = harness.Reason(err) == "TOO_MANY_WAITS" {
			answer, err = call()
		}
		return answer, err
	}
}

// ended is how a call has ended.
type ended[T any] struct {
	answer *T
	err    error
}

// begin makes a call in the background.
func begin[T any](call func() (*T, error)) <-chan ended[T] {
	made := make(chan ended[T], 1)
	go func() {
		answer, err := call()
		made <- ended[T]{answer, err}
	}()
	return made
}

// end waits for a call that must succeed.
func end[T any](t *testing.T, made <-chan ended[T]) *T {
	t.Helper()
	select {
	case o := <-made:
		require.NoError(t, o.err)
		return o.answer
	case <-time.After(harness.Patience):
		require.FailNow(t, "a call does not end")
		return nil
	}
}
