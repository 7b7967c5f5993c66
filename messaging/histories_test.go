package messaging

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/wake"
)

// A message reaches its recipients although the database has lost that an earlier one did.
func TestLostAudiencesAreStoredAgain(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.say(t, "ann", id, "before")
		past := databasetest.Remember(t, h.db, "before")
		for range 2 {
			h.send(t, "ann", &sendRequest{ChannelId: id, To: ptr("bob"), Payload: content("lost")})
		}
		require.Equal(t, []int64{h.key(t, id).IntentNo}, h.reaching(t, "bob", ""))
		past.PutBack(t)
		require.Empty(t, h.reaching(t, "bob", ""))
		h.send(t, "ann", &sendRequest{ChannelId: id, To: ptr("bob"), Payload: content("after")})
		require.Equal(t, []int64{h.key(t, id).IntentNo}, h.reaching(t, "bob", ""))
		inbox, err := h.messaging.GetInbox(as("bob"), &openintentv1.GetInboxRequest{AgentId: "bob"})
		require.NoError(t, err)
		require.Len(t, inbox.GetItems(), 1)
		require.Equal(t, "after", textOf(inbox.GetItems()[0].GetMessage()))
	})
}

// Two replicas that write to one intent in turn read once what the other has stored, and then write no audiences.
func TestReplicasLearnEachOthersAudiences(t *testing.T) {
	one, other := newReplicas(t, restless)
	id := one.open(t)
	tag := func() int64 {
		var head intents.Head
		require.NoError(t, one.db.Read(context.Background(), func(tx *database.Tx) (err error) {
			head, err = intents.ReadHead(tx, one.key(t, id).IntentNo)
			return err
		}))
		return head.AudienceTag
	}
	speak := func() {
		for _, h := range []*house{one, other} {
			h.send(t, "ann", &sendRequest{ChannelId: id, To: ptr("bob")})
			h.send(t, "bob", &sendRequest{ChannelId: id, To: ptr("ann")})
		}
	}
	require.Zero(t, tag())
	speak()
	speak()
	settled := tag()
	require.NotZero(t, settled)
	speak()
	require.Equal(t, settled, tag())
	other.send(t, "carol", &sendRequest{ChannelId: id, To: ptr("ann")})
	added := tag()
	require.NotEqual(t, settled, added)
	speak()
	require.Equal(t, added, tag())
	require.Equal(t, 5, one.rows(t, "audiences", "intent_no = ?", one.key(t, id).IntentNo))
}

// What the writer remembers of a lost history does not count, although the log has come equally far by the same times since.
func TestALostRequestCannotBeAnswered(t *testing.T) {
	eachRemembering(t, func(t *testing.T, h *house, atOnce *atomic.Int64) {
		id := h.open(t)
		h.say(t, "alice", id, "before")
		common := databasetest.Remember(t, h.db, "common")
		for range 3 {
			h.say(t, "alice", id, "after")
		}
		after := databasetest.Remember(t, h.db, "after")
		common.PutBack(t)
		question := h.asks(t, "alice", id, "bob")
		h.say(t, "alice", id, "lost")
		before := atOnce.Load()
		h.say(t, "alice", id, "lost too")
		require.Equal(t, before+1, atOnce.Load(), "the writer remembers the intent")
		after.PutBack(t)
		_, err := h.tryReply(as("bob"), id, question.GetId(), "an answer to nothing")
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		require.Equal(t, []string{"before", "after", "after", "after"}, textsOf(h.list(t, "alice", &listRequest{ChannelId: id})))
		h.say(t, "alice", id, "and on")
		require.EqualValues(t, 5, h.channel(t, id).GetMessageCount())
	})
}

// A channel that was lost is not another one that was made instead of it, and takes no messages.
func TestALostChannelIsNoOther(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		past := databasetest.Remember(t, h.db, "before")
		found := func(intentID, name string) string {
			channel, err := h.channels.CreateChannel(as("creator"), &createRequest{IntentId: intentID, Name: name})
			require.NoError(t, err)
			return channel.GetId()
		}
		lost, alone := found(intentID, "lost"), h.open(t)
		for range 3 {
			h.say(t, "creator", lost, "lost")
			h.say(t, "creator", alone, "lost with its intent")
		}
		past.PutBack(t)
		other, further := found(intentID, "other"), h.open(t)
		for _, id := range []string{lost, alone} {
			_, err := h.messaging.SendMessage(as("creator"), &sendRequest{ChannelId: id, Payload: content("astray")})
			require.Equal(t, fault.NotFound, fault.From(err).Kind, "%v", err)
		}
		for _, id := range []string{other, further} {
			require.Empty(t, h.list(t, "creator", &listRequest{ChannelId: id}))
		}
		require.Zero(t, h.rows(t, "messages", "1 = 1"))
	})
}

// streams begins a stream of a channel and one of its intent.
func (h *house) streams(t *testing.T, agent, channelID string) map[string]*streaming {
	t.Helper()
	all := map[string]*streaming{"channel": h.follow(t, agent, channelID, nil)}
	f, err := h.trySubscribe(as(agent), &openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_IntentId{IntentId: h.channel(t, channelID).GetIntentId()},
	})
	require.NoError(t, err)
	t.Cleanup(f.cancel)
	all["intent"] = f
	return all
}

// A stream that has handed on what the database has lost ends and says so; one that has not goes on.
func TestAStreamBeyondTheLogEnds(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.say(t, "alice", id, "kept")
		kept := h.positionOf(t, id)
		past := databasetest.Remember(t, h.db, "before")
		live := h.streams(t, "bob", id)
		for range 2 {
			h.say(t, "alice", id, "lost")
		}
		for _, f := range live {
			require.Equal(t, []string{"lost", "lost"}, f.texts(t, 2))
		}
		beyond := h.positionOf(t, id)
		past.PutBack(t)
		h.say(t, "alice", id, "after")
		for name, f := range live {
			refused := faulttest.Require(t, f.end(t), fault.Conflict, "CURSOR_BEYOND_LOG")
			require.Contains(t, refused.Metadata, "last_position", name)
		}
		_, err := h.tryFollow(as("bob"), id, &beyond)
		faulttest.Require(t, err, fault.Conflict, "CURSOR_BEYOND_LOG")
		require.Equal(t, []string{"after"}, h.follow(t, "bob", id, &kept).texts(t, 1))
	})
}

// That a log has grown beyond a stream's position again does not hide that the stream missed something.
func TestAStreamThatTheLogOvertookEnds(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		past := databasetest.Remember(t, h.db, "before")
		live := h.streams(t, "bob", id)
		for range 2 {
			h.say(t, "alice", id, "lost")
		}
		for _, f := range live {
			require.Equal(t, []string{"lost", "lost"}, f.texts(t, 2))
		}
		past.PutBack(t)
		h.clock.Advance(wake.SharedFor + time.Second)
		h.fill(t, id, "alice", 5) // without a wake-up
		h.messaging.hub.WakeUp(wake.IntentTopic(h.key(t, id).IntentNo))
		for _, f := range live {
			faulttest.Require(t, f.end(t), fault.Conflict, "CURSOR_BEYOND_LOG")
		}
	})
}

// A call that waits for an inbox sees what came after the loss, in places that it had seen before.
func TestAnInboxIsReadAgainAfterALoss(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.say(t, "bob", id, "so that bob takes part")
		past := databasetest.Remember(t, h.db, "before")
		for range 3 {
			h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("carol")})
		}
		watch := h.watchInbox(t, "bob")
		past.PutBack(t)
		h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("bob")})
		watch.differs = false
		require.NoError(t, watch.look(context.Background()))
		require.True(t, watch.differs)
	})
}

// An offer is recorded although the place of its message, or the mark of its channel, was another's before the loss.
func TestOffersAreRecordedAgainAfterALoss(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		past := databasetest.Remember(t, h.db, "before")
		offered := func(to string) *openintentv1.Message {
			m := h.send(t, "alice", &sendRequest{ChannelId: id, To: &to})
			h.list(t, "bob", &listRequest{ChannelId: id})
			require.NoError(t, h.messaging.offers.flush(context.Background()))
			return m
		}
		offered("bob")
		offered("*")
		past.PutBack(t)
		h.clock.Advance(time.Second)
		offered("bob")
		offered("*")
		no := h.key(t, id).IntentNo
		require.Equal(t, 1, h.rows(t, "offers", "intent_no = ?", no))
		require.Equal(t, 1, h.rows(t, "channel_offers", "intent_no = ?", no))
	})
}
