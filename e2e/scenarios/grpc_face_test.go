package scenarios

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// grpcFace is an agent that uses gRPC.
type grpcFace struct {
	t *testing.T
	*harness.Caller
}

// refusalOf returns a call's refusal, or nil.
func refusalOf(err error) *refusal {
	if err == nil {
		return nil
	}
	return &refusal{
		Code:      code.Code_name[int32(harness.Code(err))],
		Reason:    harness.Reason(err),
		MessageID: harness.Metadata(err)["message_id"],
	}
}

func (f grpcFace) object(o object) *structpb.Struct {
	s, err := structpb.NewStruct(o)
	require.NoError(f.t, err)
	return s
}

// word returns the RFC's word for an enum's value.
func word(value, prefix string) string { return strings.ToLower(strings.TrimPrefix(value, prefix)) }

func messageOf(m *openintentv1.Message) message {
	if m == nil {
		return message{}
	}
	out := message{
		ID: m.GetId(), ChannelID: m.GetChannelId(), Sender: m.GetSender(), To: m.To,
		MessageType: word(m.GetMessageType().String(), "MESSAGE_TYPE_"), CorrelationID: m.CorrelationId,
		Payload: m.GetPayload().AsMap(), Status: word(m.GetStatus().String(), "MESSAGE_STATUS_"),
	}
	if m.GetReadAt() != nil {
		out.ReadAt = proto.String(m.GetReadAt().String())
	}
	return out
}

func typeOf(m message) *openintentv1.MessageType {
	value, ok := openintentv1.MessageType_value["MESSAGE_TYPE_"+strings.ToUpper(m.MessageType)]
	if !ok {
		return nil
	}
	return openintentv1.MessageType(value).Enum()
}

func (f grpcFace) createIntent(title string) string {
	intent, err := f.Intents.CreateIntent(f.t.Context(), &openintentv1.CreateIntentRequest{
		Title: title, Status: openintentv1.IntentStatus_INTENT_STATUS_ACTIVE.Enum(),
	})
	require.NoError(f.t, err)
	return intent.GetId()
}

func (f grpcFace) createChannel(intentID, name string, audit bool, members ...string) string {
	request := &openintentv1.CreateChannelRequest{
		IntentId: intentID, Name: name, Members: members, Options: &openintentv1.ChannelOptions{Audit: proto.Bool(audit)},
	}
	if len(members) > 0 {
		request.MemberPolicy = openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT.Enum()
	}
	channel, err := f.Channels.CreateChannel(f.t.Context(), request)
	require.NoError(f.t, err)
	return channel.GetId()
}

func (f grpcFace) send(channelID string, m message) (message, *refusal) {
	sent, err := f.Messages.SendMessage(f.t.Context(), &openintentv1.SendMessageRequest{
		ChannelId: channelID, To: m.To, MessageType: typeOf(m), CorrelationId: m.CorrelationID, Payload: f.object(m.Payload),
	})
	return messageOf(sent), refusalOf(err)
}

func (f grpcFace) sendByName(intentID, name string, m message) (message, *refusal) {
	sent, err := f.Messages.SendMessageByName(f.t.Context(), &openintentv1.SendMessageByNameRequest{
		IntentId: intentID, Name: name, To: m.To, MessageType: typeOf(m), Payload: f.object(m.Payload),
	})
	return messageOf(sent), refusalOf(err)
}

func (f grpcFace) ask(channelID, to string, payload object, seconds float64) (message, *refusal) {
	answer, err := f.Messages.Ask(f.t.Context(), &openintentv1.AskRequest{
		ChannelId: channelID, To: to, Payload: f.object(payload), TimeoutSeconds: proto.Float64(seconds),
	})
	return messageOf(answer), refusalOf(err)
}

func (f grpcFace) reply(channelID, requestID string, payload object) (message, *refusal) {
	sent, err := f.Messages.ReplyMessage(f.t.Context(), &openintentv1.ReplyMessageRequest{
		ChannelId: channelID, MessageId: requestID, Payload: f.object(payload),
	})
	return messageOf(sent), refusalOf(err)
}

func (f grpcFace) list(channelID, since string) ([]message, *refusal) {
	request := &openintentv1.ListMessagesRequest{ChannelId: channelID}
	if since != "" {
		request.Since = &since
	}
	page, err := f.Messages.ListMessages(f.t.Context(), request)
	var messages []message
	for _, m := range page.GetMessages() {
		messages = append(messages, messageOf(m))
	}
	return messages, refusalOf(err)
}

func (f grpcFace) markRead(channelID, messageID string) message {
	read, err := f.Messages.UpdateMessage(f.t.Context(), &openintentv1.UpdateMessageRequest{
		ChannelId: channelID, MessageId: messageID, Status: openintentv1.MessageStatus_MESSAGE_STATUS_READ,
	})
	require.NoError(f.t, err)
	return messageOf(read)
}

func (f grpcFace) follow(ctx context.Context, channelID string, after int64) <-chan delivery {
	stream, err := f.Messages.Subscribe(ctx, &openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: channelID}, AfterPosition: &after,
	})
	require.NoError(f.t, err)
	deliveries := make(chan delivery)
	go func() {
		defer close(deliveries)
		for {
			response, err := stream.Recv()
			if err != nil {
				return
			}
			if response.GetCaughtUp() {
				continue
			}
			select {
			case deliveries <- delivery{messageOf(response.GetMessage()), response.GetPosition()}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return deliveries
}

func (f grpcFace) intent(intentID string) *openintentv1.Intent {
	intent, err := f.Intents.GetIntent(f.t.Context(), &openintentv1.GetIntentRequest{IntentId: intentID})
	require.NoError(f.t, err)
	return intent
}

func (f grpcFace) state(intentID string) (object, int64) {
	intent := f.intent(intentID)
	return intent.GetState().AsMap(), intent.GetVersion()
}

func (f grpcFace) completeIntent(intentID string) {
	_, err := f.Intents.SetIntentStatus(f.t.Context(), &openintentv1.SetIntentStatusRequest{
		IntentId: intentID, ExpectedVersion: proto.Int64(f.intent(intentID).GetVersion()),
		Status: openintentv1.IntentStatus_INTENT_STATUS_COMPLETED,
	})
	require.NoError(f.t, err)
}

func (f grpcFace) events(intentID string) []event {
	page, err := f.Events.ListEvents(f.t.Context(), &openintentv1.ListEventsRequest{IntentId: intentID, Order: proto.String("asc")})
	require.NoError(f.t, err)
	var events []event
	for _, e := range page.GetEvents() {
		events = append(events, event{e.GetEventType(), e.GetActor(), e.GetPayload().AsMap()})
	}
	return events
}

func (f grpcFace) verifies(intentID string) bool {
	verified, err := f.Events.VerifyEvents(f.t.Context(), &openintentv1.VerifyEventsRequest{IntentId: intentID})
	require.NoError(f.t, err)
	return verified.GetChainValid()
}

func (f grpcFace) channel(channelID string) channel {
	c, err := f.Channels.GetChannel(f.t.Context(), &openintentv1.GetChannelRequest{ChannelId: channelID})
	require.NoError(f.t, err)
	return channel{word(c.GetStatus().String(), "CHANNEL_STATUS_"), c.GetMessageCount()}
}
