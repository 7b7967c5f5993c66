package messaging

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
)

func (h *house) audited(t require.TestingT) string {
	return h.create(t, &createRequest{Options: &optionsInput{Audit: ptr(true)}})
}

// copies gives the log's copies of a channel's messages, oldest first.
func (h *house) copies(t require.TestingT, channelID string) []*openintentv1.Event {
	list, err := h.intents.ListEvents(asOperator(), &openintentv1.ListEventsRequest{
		IntentId: h.channel(t, channelID).GetIntentId(), EventType: ptr("channel_message"), Order: ptr("asc"), Limit: ptr(int32(1000)),
	})
	require.NoError(t, err)
	return list.GetEvents()
}

// requireChain verifies the event chain of a channel's intent.
func (h *house) requireChain(t require.TestingT, channelID string) {
	verified, err := h.intents.VerifyEvents(asOperator(), &openintentv1.VerifyEventsRequest{
		IntentId: h.channel(t, channelID).GetIntentId(),
	})
	require.NoError(t, err)
	require.True(t, verified.GetValid(), "%v", verified.GetBreaks())
	require.Equal(t, verified.GetEventCount(), verified.GetLastSequence())
}

func TestAuditedMessagesAreCopiedToTheLog(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.audited(t)
		plain := h.create(t, &createRequest{IntentId: h.channel(t, id).GetIntentId(), Name: "plain"})
		proof := content("signed")
		asked := h.send(t, "alice", &sendRequest{
			ChannelId: id, To: ptr("bob"), MessageType: ptr(request), Payload: content("why"),
			Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{"proof": structpb.NewStructValue(proof)}},
		})
		answer := h.reply(t, "bob", id, asked.GetId(), "because")
		h.say(t, "alice", plain, "not copied")
		open := h.say(t, "alice", id, "to all")
		copies := h.copies(t, id)
		require.Len(t, copies, 3)
		for i, m := range []*wireMessage{asked, answer, open} {
			event := copies[i]
			require.Equal(t, m.GetSender(), event.GetActor())
			require.Equal(t, m.GetCreatedAt().AsTime(), event.GetCreatedAt().AsTime())
			require.Nil(t, event.TraceId)
			expected := map[string]any{
				"channel_id": id, "channel_name": "talk", "message_id": m.GetId(), "to": nil,
				"payload": m.GetPayload().AsMap(),
			}
			switch i {
			case 0:
				expected["message_type"], expected["to"], expected["proof"] = "request", "bob", proof.AsMap()
			case 1:
				expected["message_type"], expected["to"], expected["correlation_id"] = "response", "alice", asked.GetId()
			case 2:
				expected["message_type"] = "notify"
			}
			require.Equal(t, expected, event.GetPayload().AsMap())
		}
		key := h.key(t, id)
		require.Equal(t, 3, h.rows(t, "events e JOIN messages m ON m.intent_no = e.intent_no AND m.position = e.position",
			"e.intent_no = ? AND e.event_type = 'channel_message' AND m.created_at = e.created_at", key.IntentNo),
			"a copy shares its message's position")
		h.requireChain(t, id)
	})
}

func TestTraceOfAnAuditedMessage(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.audited(t)
		const own, call = "a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6", "0123456789abcdef0123456789abcdef"
		traced := caller.NewContext(context.Background(), caller.Caller{Agent: "alice", KeyID: "key", TraceID: call})
		for _, row := range []struct {
			name     string
			ctx      context.Context
			metadata map[string]any
			trace    string
			parent   string
		}{
			{"of the metadata", as("alice"), map[string]any{"trace_id": own, "parent_event_id": "e1"}, own, "e1"},
			{"of the metadata before the call's", traced, map[string]any{"trace_id": own}, own, ""},
			{"of the call", traced, nil, call, ""},
			{"malformed: of the call", traced, map[string]any{"trace_id": strings.ToUpper(own), "parent_event_id": ""}, call, ""},
			{"no text", as("alice"), map[string]any{"trace_id": 7, "parent_event_id": true}, "", ""},
			{"too long a parent", as("alice"), map[string]any{"parent_event_id": strings.Repeat("x", 129)}, "", ""},
			{"none", as("alice"), nil, "", ""},
		} {
			metadata, err := structpb.NewStruct(row.metadata)
			require.NoError(t, err)
			m, err := h.messaging.SendMessage(row.ctx, &sendRequest{ChannelId: id, Metadata: metadata})
			require.NoError(t, err)
			require.Equal(t, metadata.AsMap(), m.GetMetadata().AsMap(), "stored metadata are never changed")
			copies := h.copies(t, id)
			last := copies[len(copies)-1]
			require.Equal(t, row.trace, last.GetTraceId(), row.name)
			require.Equal(t, row.parent, last.GetParentEventId(), row.name)
		}
		h.requireChain(t, id)
	})
}

func TestAuditFollowsTheChannelsOption(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.say(t, "alice", id, "before")
		h.setAudit(t, id, true)
		h.say(t, "alice", id, "during")
		h.setAudit(t, id, false)
		h.say(t, "alice", id, "after")
		require.Len(t, h.copies(t, id), 1)
	})
}

// What may be sent may also be copied, however deep and whatever its texts are.
func TestDeepestPayloadIsCopied(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.audited(t)
		deep := structpb.NewStructValue(content("\u2028 \U0001F600 \x7f </script>"))
		for range 62 {
			deep = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{deep}})
		}
		payload := &structpb.Struct{Fields: map[string]*structpb.Value{"deep": deep}}
		m := h.send(t, "alice", &sendRequest{ChannelId: id, Payload: payload})
		require.Equal(t, payload.AsMap(), h.copies(t, id)[0].GetPayload().GetFields()["payload"].GetStructValue().AsMap())
		require.Equal(t, payload.AsMap(), h.get(t, id, m.GetId()).GetPayload().AsMap())
		h.requireChain(t, id)
		deeper := &structpb.Struct{Fields: map[string]*structpb.Value{"deep": structpb.NewListValue(
			&structpb.ListValue{Values: []*structpb.Value{deep}})}}
		_, err := h.messaging.SendMessage(as("alice"), &sendRequest{ChannelId: id, Payload: deeper})
		require.Error(t, err)
		require.Len(t, h.copies(t, id), 1)
	})
}

// The copy commits with the message or not at all.
func TestCopyAndMessageCommitTogether(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		id := h.audited(t)
		f.set(failing, nil)
		_, err := h.messaging.SendMessage(as("alice"), &sendRequest{ChannelId: id})
		require.ErrorIs(t, err, errInjected)
		f.set(nil, nil)
		require.Empty(t, h.copies(t, id))
		f.set(nil, times(1))
		h.say(t, "alice", id, "once")
		f.set(nil, nil)
		require.Len(t, h.copies(t, id), 1)

		waiting, release := f.hold()
		defer release()
		h.submit(t, id, "alice", "held")
		<-waiting
		d := h.draftFor(t, id, "alice", "poisoned")
		d.ID = h.list(t, "bob", &listRequest{ChannelId: id})[0].GetId()
		poisoned, good := h.enqueue(t, d), h.submit(t, id, "alice", "good")
		release()
		require.Error(t, (<-poisoned.done).Err)
		require.NoError(t, (<-good.done).Err)
		require.Len(t, h.copies(t, id), 3)
		key := h.key(t, id)
		require.Equal(t, 3, h.rows(t, "messages", "intent_no = ?", key.IntentNo))
		h.requireChain(t, id)
	})
}

func (h *house) setAudit(t require.TestingT, channelID string, audit bool) {
	_, err := h.channels.UpdateChannel(asOperator(), &openintentv1.UpdateChannelRequest{
		Channel:    &openintentv1.Channel{Id: channelID, Options: &optionsInput{Audit: &audit}},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"options.audit"}},
	})
	require.NoError(t, err)
}
