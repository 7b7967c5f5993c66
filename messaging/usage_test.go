package messaging

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

// bound lets each intent of a house hold so many bytes.
func (h *house) bound(t *testing.T, bytes int64) {
	t.Helper()
	h.intents.Usage().SetBound(bytes)
	t.Cleanup(func() { h.intents.Usage().SetBound(0) })
}

// countAgain counts what the intents hold when their counts are too old.
func (h *house) countAgain(t *testing.T) {
	t.Helper()
	h.clock.Advance(time.Minute)
	require.NoError(t, h.intents.Usage().Recount(context.Background()))
}

// kilobyte is a payload of about 1,000 bytes.
func kilobyte() *structpb.Struct { return content(strings.Repeat("x", 990)) }

// trySay sends a kilobyte to everyone.
func (h *house) trySay(agent, channelID string) error {
	_, err := h.messaging.SendMessage(as(agent), &sendRequest{ChannelId: channelID, Payload: kilobyte()})
	return err
}

// fillUp sends kilobytes until the intent is full, and returns how many it took.
func (h *house) fillUp(t *testing.T, agent, channelID string) (taken int) {
	t.Helper()
	for ; taken < 1000; taken++ {
		if err := h.trySay(agent, channelID); err != nil {
			refusal := faulttest.Require(t, err, fault.Quota, "INTENT_FULL")
			require.NotEmpty(t, refusal.Metadata["quota_bytes"])
			return taken
		}
	}
	require.Fail(t, "the intent takes everything")
	return 0
}

func TestAFullIntentTakesOnlyAnswers(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.bound(t, 20_000)
		id, other := h.open(t), h.open(t)
		audited := h.create(t, &createRequest{Options: &optionsInput{Audit: ptr(true)}})
		intentID := h.channel(t, id).GetIntentId()
		asked, err := h.messaging.SendMessage(as("alice"), &sendRequest{
			ChannelId: id, MessageType: ptr(request), To: ptr("mallory"), Payload: content("?"),
		})
		require.NoError(t, err)
		h.countAgain(t)
		require.InDelta(t, 19, h.fillUp(t, "mallory", id), 1)
		require.InDelta(t, 9, h.fillUp(t, "mallory", audited), 1, "each message has a copy in the log")

		_, err = h.intents.AppendEvent(as("mallory"), &openintentv1.AppendEventRequest{
			IntentId: intentID, EventType: "comment", Payload: kilobyte(),
		})
		faulttest.Require(t, err, fault.Quota, "INTENT_FULL")
		_, err = h.tryEdit(as("alice"), asked, &updateRequest{Payload: kilobyte()})
		faulttest.Require(t, err, fault.Quota, "INTENT_FULL")
		reply := func() error {
			_, err := h.messaging.ReplyMessage(as("mallory"), &replyRequest{ChannelId: id, MessageId: asked.GetId(), Payload: kilobyte()})
			return err
		}
		require.NoError(t, reply(), "an answer gets through")
		for range 3 {
			err = reply()
		}
		faulttest.Require(t, err, fault.Quota, "INTENT_FULL")
		require.NoError(t, h.trySay("alice", other), "other intents are not affected")

		_, err = h.channels.DeleteChannel(asOperator(), &openintentv1.DeleteChannelRequest{ChannelId: id})
		require.NoError(t, err)
		require.NoError(t, h.messaging.Sweep(t.Context()))
		h.countAgain(t)
		again := h.create(t, &createRequest{IntentId: intentID, Name: "again"})
		require.InDelta(t, 18, h.fillUp(t, "alice", again), 2, "deletion made room")
	})
}

// An edit keeps what the message said before, so it takes room, and that counts at once.
func TestEditsTakeRoom(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.bound(t, 20_000)
		m := h.say(t, "alice", h.open(t), "")
		h.countAgain(t)
		edits := 0
		for ; edits < 50; edits++ {
			payload := kilobyte()
			payload.Fields["edit"] = structpb.NewNumberValue(float64(edits))
			if _, err := h.tryEdit(as("alice"), m, &updateRequest{Payload: payload}); err != nil {
				faulttest.Require(t, err, fault.Quota, "INTENT_FULL")
				break
			}
		}
		require.InDelta(t, 19, edits, 1)
	})
}

// An edit counts in the caller's quota as a message does.
func TestAnEditTakesOfTheQuota(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		m := h.say(t, "alice", h.open(t), "before")
		spent := caller.NewQuota(caller.Rates{BytesPerSecond: 1})
		require.NoError(t, spent.Take(100_000)) // which keeps the key waiting for a day
		ctx := caller.NewContext(t.Context(), caller.Caller{Agent: "alice", KeyID: "key", Quota: spent})
		_, err := h.tryEdit(ctx, m, &updateRequest{Payload: content("after")})
		faulttest.Require(t, err, fault.Quota, "QUOTA_EXCEEDED")
	})
}

// What this server has stored counts at once; what another one has stored counts when this one counts again.
func TestWhatOtherServersStoreCountsAtTheNextCount(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.bound(t, 20_000)
		id := h.create(t, &createRequest{Options: &optionsInput{Audit: ptr(true)}})
		require.NoError(t, h.trySay("alice", id))
		h.countAgain(t)
		other := h.rooms
		if h.db.Engine().String() == "postgres" {
			other = h.replica(t)
		}
		other.intents.Usage().SetBound(1 << 30)
		for range 15 {
			_, err := other.messaging.SendMessage(as("alice"), &sendRequest{ChannelId: id, Payload: kilobyte()})
			require.NoError(t, err)
		}
		h.intents.Usage().SetBound(20_000)
		if h.db.Engine().String() == "postgres" {
			require.NoError(t, h.trySay("alice", id), "not known yet")
		}
		h.countAgain(t)
		require.Zero(t, h.fillUp(t, "alice", id), "with its copy in the log, each message counts twice")
	})
}

// A repeated call gets its message although the intent is full.
func TestARepeatedSendNeedsNoRoom(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.bound(t, 5_000)
		id := h.open(t)
		send := func() (*wireMessage, error) {
			return h.messaging.SendMessage(as("alice"), &sendRequest{ChannelId: id, Payload: kilobyte(), IdempotencyKey: ptr("k")})
		}
		first, err := send()
		require.NoError(t, err)
		h.countAgain(t)
		h.fillUp(t, "alice", id)
		again, err := send()
		require.NoError(t, err)
		require.Equal(t, first.GetId(), again.GetId())
	})
}
