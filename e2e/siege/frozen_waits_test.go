package siege

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"openintent/database"
	"openintent/database/databasetest"
	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// frozenWaits are two replicas, one of which freezes while calls wait there.
type frozenWaits struct {
	t             *testing.T
	frozen, other *harness.Server
	at, elsewhere place
}

// maxFrozenWaits is how many calls of one caller may wait at a replica of this test.
const maxFrozenWaits = 4

// TestWaitsAtAFrozenReplica freezes a replica while calls wait there for an inbox, for deliveries and for a lease. Agents at the other
// replica go on: they receive, and they get the lease. When the replica goes on, it gives nobody a lease that is held. It refuses a sender
// that was refused meanwhile, and what waited there gets what came meanwhile. Calls that were given up meanwhile count no more.
func TestWaitsAtAFrozenReplica(t *testing.T) {
	options := harness.Options{URL: databasetest.URL(t, database.PostgreSQL), Flags: []string{"--max-waits=4"}}
	w := &frozenWaits{t: t, frozen: harness.StartProcess(t, options), other: harness.StartProcess(t, options)}
	w.at, w.elsewhere = newPlace(t, w.other, "talk"), newPlace(t, w.other, "elsewhere")
	db := databasetest.Open(t, database.Config{URL: options.URL})
	_, err := w.other.As("bob").Agents.RegisterAgent(t.Context(), &openintentv1.RegisterAgentRequest{AgentId: proto.String("bob")})
	require.NoError(t, err)
	work, err := w.other.As("dan").Subscriptions.CreateSubscription(t.Context(), &openintentv1.CreateSubscriptionRequest{
		Name: proto.String("work"), IntentId: &w.at.intent, MessageType: openintentv1.MessageType_MESSAGE_TYPE_NOTIFY.Enum(),
	})
	require.NoError(t, err)
	for _, server := range []*harness.Server{w.frozen, w.other} { // so that both remember that bob refuses nobody
		require.NoError(t, w.say(server, "mallory", "dan"))
		require.NoError(t, w.say(server, "mallory", "bob"))
		w.markRead(server)
	}
	w.fetch(w.other, work.GetId(), true)
	held, err := w.acquire(t.Context(), w.other, w.at, "hal", 0)
	require.NoError(t, err)
	_, err = w.acquire(t.Context(), w.other, w.elsewhere, "hal", 0)
	require.NoError(t, err)

	inbox, fetched := begin(func() (*openintentv1.Inbox, error) { return w.inbox(t.Context(), w.frozen) }),
		begin(func() (*openintentv1.FetchDeliveriesResponse, error) {
			return w.fetch(w.frozen, work.GetId(), false), nil
		})
	late := begin(func() (*openintentv1.Lease, error) { return w.acquire(t.Context(), w.frozen, w.at, "gus", 600) })
	await(t, db, "SELECT COUNT(*) FROM lease_waiters", 1)
	given, giveUp := context.WithCancel(t.Context())
	for range maxFrozenWaits {
		begin(func() (*openintentv1.Lease, error) { return w.acquire(given, w.frozen, w.elsewhere, "ida", 600) })
	}
	await(t, db, "SELECT COUNT(*) FROM lease_waiters", 1+maxFrozenWaits)
	_, err = w.acquire(t.Context(), w.frozen, w.elsewhere, "ida", 600)
	require.Equal(t, "TOO_MANY_WAITS", harness.Reason(err), "%v", err)

	w.frozen.Freeze(t)
	thaw := func() { w.frozen.Thaw(t) }
	defer func() { thaw() }()
	giveUp()
	next := begin(func() (*openintentv1.Lease, error) { return w.acquire(t.Context(), w.other, w.at, "joe", 600) })
	await(t, db, "SELECT COUNT(*) FROM lease_waiters", 2+maxFrozenWaits)
	w.change(db, "UPDATE lease_waiters SET alive_until = 1 WHERE agent_id IN ('gus', 'ida')") // as if they had been silent for long
	_, err = w.other.As("hal").Leases.ReleaseLease(t.Context(), &openintentv1.ReleaseLeaseRequest{IntentId: w.at.intent, LeaseId: held.GetId()})
	require.NoError(t, err)
	joes := end(t, next)
	require.Greater(t, joes.GetFence(), held.GetFence())
	_, err = w.other.As("bob").Agents.RefuseSender(t.Context(), &openintentv1.RefuseSenderRequest{AgentId: "bob", Sender: "mallory"})
	require.NoError(t, err)
	woken := begin(func() (*openintentv1.Inbox, error) { return w.inbox(t.Context(), w.other) })
	require.NoError(t, w.say(w.other, "alice", "dan"))
	require.NoError(t, w.say(w.other, "alice", "bob"))
	require.Len(t, end(t, woken).GetItems(), 1)
	refused := begin(func() (*struct{}, error) { return nil, w.say(w.frozen, "mallory", "bob") }) // it waits in the frozen replica's connection

	thaw()
	thaw = func() {}
	o := <-refused
	require.Equal(t, "REFUSED", harness.Reason(o.err), "%v", o.err)
	require.Len(t, end(t, inbox).GetItems(), 1)
	require.Len(t, end(t, fetched).GetDeliveries(), 1)
	require.EventuallyWithT(t, func(c *assert.CollectT) { // what was given up has ended
		_, err := w.frozen.As("ida").Messages.GetInbox(t.Context(), &openintentv1.GetInboxRequest{AgentId: "ida", WaitSeconds: proto.Float64(0.001)})
		assert.NoError(c, err)
		assert.Equal(c, int64(1), w.count(db, "SELECT COUNT(*) FROM lease_waiters WHERE agent_id <> 'joe'"), "gus waits")
	}, harness.Patience, 10*time.Millisecond)
	again, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	for range maxFrozenWaits { // as many calls may wait as before
		begin(func() (*openintentv1.Lease, error) { return w.acquire(again, w.frozen, w.elsewhere, "ida", 600) })
	}
	await(t, db, "SELECT COUNT(*) FROM lease_waiters WHERE agent_id = 'ida'", maxFrozenWaits)
	listed, err := w.frozen.As("gus").Leases.ListLeases(t.Context(), &openintentv1.ListLeasesRequest{IntentId: w.at.intent})
	require.NoError(t, err)
	require.Len(t, listed.GetLeases(), 1)
	require.Equal(t, joes.GetId(), listed.GetLeases()[0].GetId())
	_, err = w.other.As("joe").Leases.ReleaseLease(t.Context(), &openintentv1.ReleaseLeaseRequest{IntentId: w.at.intent, LeaseId: joes.GetId()})
	require.NoError(t, err)
	require.Greater(t, end(t, late).GetFence(), joes.GetFence())
	harness.RequireWhole(t, options.URL)
}

func (w *frozenWaits) say(server *harness.Server, from, to string) error {
	_, err := server.As(from).Messages.SendMessage(w.t.Context(), &openintentv1.SendMessageRequest{
		ChannelId: w.at.channel, To: &to, MessageType: openintentv1.MessageType_MESSAGE_TYPE_NOTIFY.Enum(), Payload: text("for " + to),
	})
	return err
}

func (w *frozenWaits) inbox(ctx context.Context, server *harness.Server) (*openintentv1.Inbox, error) {
	return server.As("bob").Messages.GetInbox(ctx, &openintentv1.GetInboxRequest{AgentId: "bob", WaitSeconds: proto.Float64(600)})
}

func (w *frozenWaits) markRead(server *harness.Server) {
	w.t.Helper()
	inbox, err := w.inbox(w.t.Context(), server)
	require.NoError(w.t, err)
	for _, item := range inbox.GetItems() {
		_, err = server.As("bob").Messages.MarkInboxRead(w.t.Context(), &openintentv1.MarkInboxReadRequest{
			AgentId: "bob", MessageIds: []string{item.GetMessage().GetId()},
		})
		require.NoError(w.t, err)
	}
}

// fetch fetches deliveries of dan's subscription, and acknowledges them if it is told to.
func (w *frozenWaits) fetch(server *harness.Server, subscription string, acknowledge bool) *openintentv1.FetchDeliveriesResponse {
	dan := server.As("dan").Subscriptions
	fetched, err := dan.FetchDeliveries(w.t.Context(), &openintentv1.FetchDeliveriesRequest{
		SubscriptionId: subscription, WaitSeconds: proto.Float64(600),
	})
	assert.NoError(w.t, err)
	if acknowledge {
		_, err = dan.AcknowledgeDeliveries(w.t.Context(), &openintentv1.AcknowledgeDeliveriesRequest{
			SubscriptionId: subscription, Through: proto.Int64(fetched.GetDeliveries()[len(fetched.GetDeliveries())-1].GetNumber()),
		})
		assert.NoError(w.t, err)
	}
	return fetched
}

// acquire asks for a scope of one of the intents.
func (w *frozenWaits) acquire(
	ctx context.Context, server *harness.Server, at place, agent string, seconds int32,
) (*openintentv1.Lease, error) {
	return server.As(agent).Leases.AcquireLease(ctx, &openintentv1.AcquireLeaseRequest{
		IntentId: at.intent, Scope: "press", DurationSeconds: proto.Int32(3600), WaitSeconds: seconds,
	})
}

func (w *frozenWaits) change(db *database.DB, sql string) {
	w.t.Helper()
	require.NoError(w.t, db.Write(w.t.Context(), func(tx *database.Tx) error { return tx.Pipeline(database.Statement{SQL: sql}) }))
}

func (w *frozenWaits) count(db *database.DB, sql string) (n int64) {
	assert.NoError(w.t, db.Read(w.t.Context(), func(tx *database.Tx) error { return tx.Pipeline(database.ReadValue(&n, sql)) }))
	return n
}

// await waits until a query counts so many.
func await(t *testing.T, db *database.DB, sql string, count int64) {
	t.Helper()
	w := &frozenWaits{t: t}
	require.Eventually(t, func() bool { return w.count(db, sql) == count }, harness.Patience, 10*time.Millisecond, sql)
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
