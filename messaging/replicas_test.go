package messaging

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/wake"
)

// notified lets replicas wake each other. Those who wait look by themselves too rarely for a test.
func notified(_ *database.Config, cfg *Config) { cfg.LookAgain, cfg.Notifications = time.Hour, true }

// newReplicas are two replicas on one database. With notifications, each hears the other.
func newReplicas(t *testing.T, options ...option) (one, other *house) {
	one = newHouse(t, database.PostgreSQL, options...)
	other = &house{url: one.url, clock: one.clock, rooms: one.replica(t, options...)}
	if one.messaging.relay != nil {
		requireHears(t, one, other)
		requireHears(t, other, one)
	}
	return one, other
}

// requireHears waits until one replica listens and hears of the other's wake-ups.
func requireHears(t require.TestingT, listens, tells *house) {
	const probe = wake.RequestTopic("probe")
	listening := listens.messaging.hub.Listen(probe)
	defer listening.Close()
	for range 2 { // the first wake-up may be that of listening having begun
		eventually(t, func() bool {
			tells.messaging.hub.WakeUp(probe)
			return wasWoken(listening)
		}, "a replica does not hear the other")
	}
}

// eachWay runs a test on two replicas that wake each other, and on two that only look again now and then.
func eachWay(t *testing.T, run func(t *testing.T, one, other *house)) {
	t.Parallel()
	for way, apply := range map[string]option{"notified": notified, "looking again": restless} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			one, other := newReplicas(t, apply)
			run(t, one, other)
		})
	}
}

func TestMessagesReachStreamsOfTheOtherReplica(t *testing.T) {
	eachWay(t, func(t *testing.T, one, other *house) {
		id := one.open(t)
		here, there := one.follow(t, "bob", id, nil), other.follow(t, "carol", id, nil)
		for i := range 10 {
			speaks := []*house{one, other}[i%2]
			speaks.say(t, "alice", id, fmt.Sprint(i))
			require.Equal(t, []string{fmt.Sprint(i)}, here.texts(t, 1))
			require.Equal(t, []string{fmt.Sprint(i)}, there.texts(t, 1))
		}
	})
}

func TestAskIsAnsweredOnTheOtherReplica(t *testing.T) {
	eachWay(t, func(t *testing.T, one, other *house) {
		id := one.open(t)
		asking := one.askMeanwhile(as("alice"), t, id, 600)
		other.reply(t, "bob", id, asking.request.GetId(), "here")
		out := asking.result(t)
		require.NoError(t, out.err)
		require.Equal(t, "here", textOf(out.message))
	})
}

func TestAwaitedResponsesComeFromTheOtherReplica(t *testing.T) {
	eachWay(t, func(t *testing.T, one, other *house) {
		id := one.open(t)
		question := one.asks(t, "alice", id, "role:tester")
		one.register(t, "bob", "tester")
		one.register(t, "carol", "tester")
		awaiting := one.awaitMeanwhile(as("alice"), t, &awaitRequest{
			ChannelId: id, MessageId: question.GetId(), WaitSeconds: ptr(600.0), MinResponses: ptr(int32(2)),
		})
		other.reply(t, "bob", id, question.GetId(), "one")
		other.reply(t, "carol", id, question.GetId(), "two")
		got := within(t, awaiting)
		require.NoError(t, got.err)
		require.Equal(t, []string{"one", "two"}, textsOf(got.responses))
	})
}

func TestClosingOnTheOtherReplicaEndsStreamsAndWaits(t *testing.T) {
	for name, closes := range map[string]func(t *testing.T, h *house, id string){
		"closed":  func(t *testing.T, h *house, id string) { h.closeChannel(t, id) },
		"deleted": func(t *testing.T, h *house, id string) { h.deleteChannel(t, id) },
		"its intent ended": func(t *testing.T, h *house, id string) {
			h.setStatus(t, h.channel(t, id).GetIntentId(), completed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, one, other *house) {
				id := one.open(t)
				asking := one.askMeanwhile(as("alice"), t, id, 600)
				f := one.follow(t, "bob", id, nil)
				closes(t, other, id)
				faulttest.Require(t, f.end(t), fault.Conflict, "CHANNEL_CLOSED")
				faulttest.Require(t, asking.result(t).err, fault.Conflict, "CHANNEL_CLOSED")
			})
		})
	}
}

func TestRevocationOnTheOtherReplicaEndsStreamsAndWaits(t *testing.T) {
	eachWay(t, func(t *testing.T, one, other *house) {
		id := one.open(t)
		asking := one.askMeanwhile(as("alice"), t, id, 600)
		f, stays := one.follow(t, "carol", id, nil), one.follow(t, "bob", id, nil)
		other.admit(t, one.channel(t, id).GetIntentId(), "bob")
		require.Equal(t, fault.Denied, fault.From(f.end(t)).Kind)
		require.Equal(t, fault.Denied, fault.From(asking.result(t).err).Kind)
		other.say(t, "bob", id, "still here")
		require.Equal(t, []string{"still here"}, stays.texts(t, 1))
	})
}

func TestRoleGainedOnTheOtherReplicaBringsOpenRequests(t *testing.T) {
	eachWay(t, func(t *testing.T, one, other *house) {
		id := one.open(t)
		one.register(t, "bob", "writer")
		question := one.asks(t, "alice", id, "role:tester")
		f := one.follow(t, "bob", id, nil)
		other.register(t, "bob", "tester")
		d := f.next(t)
		require.Equal(t, question.GetId(), d.GetMessage().GetId())
		require.True(t, d.GetBackfill())
	})
}

func TestDepartureOnTheOtherReplicaIsTold(t *testing.T) {
	eachWay(t, func(t *testing.T, one, other *house) {
		one.register(t, "bob", "")
		id := one.explicit(t, "alice", "bob")
		f := one.follow(t, "alice", id, nil)
		other.deregister(t, "bob")
		departed := f.next(t).GetMessage()
		require.Equal(t, "agent_departed", departed.GetPayload().GetFields()["event"].GetStringValue())
	})
}

// Connections that are lost at any moment may lose notifications, but nobody then waits for the slow timer: whoever listens
// again looks at everything.
func TestLostNotificationsAreMadeUpFor(t *testing.T) {
	t.Parallel()
	one, other := newReplicas(t, notified)
	id := one.open(t)
	f := one.follow(t, "bob", id, nil)
	for i := range 5 {
		asking := one.askMeanwhile(as("alice"), t, id, 600)
		require.Equal(t, "?", textOf(f.next(t).GetMessage()))
		databasetest.KillConnections(t, one.url)
		insist(t, func(key *string) (*wireMessage, error) {
			return other.messaging.ReplyMessage(as("bob"), &replyRequest{
				ChannelId: id, MessageId: asking.request.GetId(), Payload: content(fmt.Sprint(i)), IdempotencyKey: key,
			})
		})
		require.Equal(t, fmt.Sprint(i), textOf(f.next(t).GetMessage()))
		out := asking.result(t)
		require.NoError(t, out.err)
		require.Equal(t, fmt.Sprint(i), textOf(out.message))
	}
}

// What was rolled back wakes nobody anywhere.
func TestRolledBackChangesNotifyNobody(t *testing.T) {
	t.Parallel()
	faults := &databasetest.CommitFaults{}
	one, other := newReplicas(t, notified, withHooks(faults.Hooks()))
	id := one.open(t)
	intentID, key := one.channel(t, id).GetIntentId(), one.key(t, id)
	marker := other.messaging.hub.Listen(wake.RequestTopic("marker"))
	defer marker.Close()
	concerned := other.messaging.hub.Listen(wake.IntentTopic(key.IntentNo))
	defer concerned.Close()
	requireHears(t, other, one) // and so whatever was told before has arrived
	wasWoken(concerned)
	change := func() error {
		_, err := one.intents.SetAccessControl(asOperator(), &openintentv1.SetAccessControlRequest{
			IntentId: intentID, DefaultPolicy: openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED,
		})
		return err
	}
	faults.FailBefore(1)
	require.Error(t, change())
	one.messaging.hub.WakeUp(wake.RequestTopic("marker"))
	eventually(t, func() bool { return wasWoken(marker) }, "the marker does not arrive")
	require.False(t, wasWoken(concerned), "notifications arrive in their order, and there was none before")
	require.NoError(t, change())
	eventually(t, func() bool { return wasWoken(concerned) }, "what is committed is told")
}

// Without notifications nothing is told, and nobody listens.
func TestNotificationsAreOptional(t *testing.T) {
	t.Parallel()
	quiet := newHouse(t, database.PostgreSQL, restless)
	listening := func() int {
		return quiet.rows(t, "pg_locks", "locktype = 'advisory' AND mode = 'ShareLock' AND granted"+
			" AND database = (SELECT oid FROM pg_database WHERE datname = current_database())") // every listener's
	}
	id := quiet.open(t)
	quiet.say(t, "alice", id, "to nobody")
	require.Zero(t, listening())
	quiet.replica(t, notified)
	eventually(t, func() bool { return listening() == 1 }, "a replica with notifications does not listen")
}

// A watch wakes for whatever it listens to, wherever that happens.
func TestWatchesWakeForTheOtherReplica(t *testing.T) {
	t.Parallel()
	one, other := newReplicas(t, notified)
	id, further := one.open(t), one.open(t)
	one.register(t, "bob", "")
	one.say(t, "bob", id, "so that bob takes part")
	watch := one.messaging.Watch(Watched{Agent: "bob"})
	defer watch.Close()
	look(t, watch)
	watch.Subscription(7)
	for name, happens := range map[string]func(){
		"a message":              func() { other.say(t, "alice", id, "something") },
		"access":                 func() { other.admit(t, other.channel(t, id).GetIntentId(), "alice", "bob") },
		"the agent's role":       func() { other.register(t, "bob", "tester") },
		"a further intent":       func() { other.asks(t, "alice", further, "bob") },
		"the room above's signs": func() { other.messaging.WakeSubscription(7) },
	} {
		requireHears(t, one, other) // whatever was told before has arrived
		wasWoken(watch.listener)
		other.messaging.WakeSubscription(8)
		requireHears(t, one, other)
		require.False(t, wasWoken(watch.listener), "before %s", name)
		happens()
		eventually(t, func() bool { return wasWoken(watch.listener) }, name+" does not wake")
	}
}
