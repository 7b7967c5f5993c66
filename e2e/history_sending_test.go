package e2e

import (
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"openintent/e2e/model"
	openintentv1 "openintent/gen/openintent/v1"
)

var messageTypes = map[string]openintentv1.MessageType{
	"request":   openintentv1.MessageType_MESSAGE_TYPE_REQUEST,
	"response":  openintentv1.MessageType_MESSAGE_TYPE_RESPONSE,
	"notify":    openintentv1.MessageType_MESSAGE_TYPE_NOTIFY,
	"broadcast": openintentv1.MessageType_MESSAGE_TYPE_BROADCAST,
}

var messageStatuses = map[string]openintentv1.MessageStatus{
	"delivered": openintentv1.MessageStatus_MESSAGE_STATUS_DELIVERED,
	"read":      openintentv1.MessageStatus_MESSAGE_STATUS_READ,
	"expired":   openintentv1.MessageStatus_MESSAGE_STATUS_EXPIRED,
}

// attempt is a send that can be repeated exactly as it was.
type attempt struct {
	draft model.Draft
	call  func() (*openintentv1.Message, error)
}

func (y *history) send(t *rapid.T) {
	d := y.drawDraft(t)
	d.Channel = y.drawChannel(t)
	if d.Type == "response" || seldom(t, "correlate") && seldom(t, "really") {
		m := drawMessage(t, d.Channel, answerable)
		d.CorrelationID = idOf(m)
		if m != nil && d.Type == "response" && sometimes(t, "to the asker") {
			d.To = m.Sender
		}
	}
	if left := y.withoutAccess(d.Channel.Intent); len(left) > 0 && (d.Type == "request" || d.Type == "notify") && sometimes(t, "to one without access") {
		d.Caller, d.Sender, d.To = d.Channel.Intent.Creator, "", pick(t, "without access", left)
	}
	y.attempt(t, "send", y.sending(d))
}

// withoutAccess returns the agents that may not read an intent.
func (y *history) withoutAccess(intent *model.Intent) (agents []string) {
	for _, agent := range y.agents {
		if y.world.Level(intent, agent) < model.Read {
			agents = append(agents, agent)
		}
	}
	return agents
}

func answerable(m *model.Message) bool { return m.Type == "request" }

func (y *history) sending(d model.Draft) attempt {
	request := &openintentv1.SendMessageRequest{
		ChannelId: d.Channel.ID, Sender: given(d.Sender), To: given(d.To), CorrelationId: given(d.CorrelationID),
		Payload: payload(d.Payload), ExpiresAt: stamp(d.ExpiresAt), IdempotencyKey: given(d.Key),
	}
	if d.Type != "notify" || d.To == "" { // a message without a type is a notify
		request.MessageType = messageTypes[d.Type].Enum()
	}
	return attempt{d, func() (*openintentv1.Message, error) {
		return y.as(d.Caller).Messages.SendMessage(y.ctx, request)
	}}
}

func (y *history) sendByName(t *rapid.T) {
	d := y.drawDraft(t)
	d.Intent, d.Name = y.drawIntent(t), pick(t, "name", channelNames)
	if d.Type == "response" {
		d.CorrelationID = unknownMessage
		if c := y.world.OpenByName(d.Intent, d.Name); c != nil {
			d.CorrelationID = idOf(drawMessage(t, c, answerable))
		}
	}
	request := &openintentv1.SendMessageByNameRequest{
		IntentId: d.Intent.ID, Name: d.Name, Sender: given(d.Sender), To: given(d.To), MessageType: messageTypes[d.Type].Enum(),
		CorrelationId: given(d.CorrelationID), Payload: payload(d.Payload), ExpiresAt: stamp(d.ExpiresAt),
		IdempotencyKey: given(d.Key),
	}
	y.attempt(t, "send by name", attempt{d, func() (*openintentv1.Message, error) {
		return y.as(d.Caller).Messages.SendMessageByName(y.ctx, request)
	}})
}

func (y *history) reply(t *rapid.T) {
	c := y.drawChannel(t)
	m := drawMessage(t, c, func(m *model.Message) bool { return answerable(m) && !m.Expired(y.world.Now) })
	if deleted := y.deletedRequests(); len(deleted) > 0 && seldom(t, "to a deleted request") {
		m = pick(t, "deleted", deleted)
		c = m.Channel
	}
	d := model.Draft{Channel: c, Reply: true, Key: drawKey(t)}
	d.Caller, d.Sender = y.drawActing(t)
	d.Content = model.Content{Type: "response", CorrelationID: idOf(m), Payload: drawPayload(t), ExpiresAt: y.drawExpiry(t)}
	if m != nil && !seldom(t, "anybody replies") {
		for _, agent := range y.agents {
			if y.world.Receives(agent, m) {
				d.Caller, d.Sender = agent, ""
			}
		}
	}
	request := &openintentv1.ReplyMessageRequest{
		ChannelId: c.ID, MessageId: d.CorrelationID, Sender: given(d.Sender), Payload: payload(d.Payload),
		ExpiresAt: stamp(d.ExpiresAt), IdempotencyKey: given(d.Key),
	}
	y.attempt(t, "reply", attempt{d, func() (*openintentv1.Message, error) {
		return y.as(d.Caller).Messages.ReplyMessage(y.ctx, request)
	}})
}

// deletedRequests returns the requests without content in open channels.
func (y *history) deletedRequests() []*model.Message {
	var deleted []*model.Message
	for _, c := range y.world.Channels {
		for _, m := range c.Sent {
			if c.Open() && answerable(m) && !m.DeletedAt.IsZero() {
				deleted = append(deleted, m)
			}
		}
	}
	return deleted
}

// retry repeats an accepted call, like a sender that has not heard about its success.
func (y *history) retry(t *rapid.T) {
	if len(y.retries) == 0 {
		return
	}
	y.attempt(t, "retry", pick(t, "attempt", y.retries))
}

// attempt makes a call that sends, and compares the outcome.
func (y *history) attempt(t *rapid.T, operation string, a attempt) {
	verdict := y.world.Decide(a.draft)
	if request := y.world.Messages[a.draft.CorrelationID]; request != nil && y.mayBeGone(request) || unsaid(a.draft.Channel, verdict.Outcome) {
		return
	}
	got, err := a.call()
	var c *model.Channel
	switch outcome := outcomeOf(err); {
	case outcome != verdict.Outcome || outcome != model.OK:
		y.came(t, operation, verdict.Outcome, err)
		c = a.draft.Channel
	case verdict.First != nil:
		y.reached.note(operation, "again")
		y.sameAgain(t, verdict.First, got)
		c = verdict.First.Channel
	default:
		y.reached.note(operation, model.OK)
		c = y.stored(t, verdict, got)
		if a.draft.Key != "" {
			y.retries = append(y.retries, a)
		}
	}
	y.wrote()
	if c != nil {
		y.check(t, c)
	}
}

// unsaid reports whether the answer depends on how much a server still remembers of a deleted channel, which it
// forgets in its own time. Only one thing is certain then: every call that is otherwise valid is refused as
// CHANNEL_NOT_FOUND.
func unsaid(c *model.Channel, expected model.Outcome) bool {
	return c != nil && c.Deleted && expected != "CHANNEL_NOT_FOUND"
}

// stored compares a message that was just sent, and passes on to the model what the server chose.
func (y *history) stored(t *rapid.T, verdict model.Verdict, got *openintentv1.Message) *model.Channel {
	c, isNew := y.world.ByName(verdict)
	if isNew {
		created, err := y.as(model.Operator).Channels.GetChannel(y.ctx, &openintentv1.GetChannelRequest{ChannelId: got.GetChannelId()})
		require.NoError(t, err)
		c.Created(created.GetId(), created.GetCreatedAt().AsTime())
		y.watch(t, c)
	}
	near(t, "the message's time", y.world.Now, got.GetCreatedAt())
	if n := len(c.Sent); n > 0 {
		require.True(t, got.GetCreatedAt().AsTime().After(c.Sent[n-1].CreatedAt), "times rise strictly")
	}
	require.NotContains(t, y.world.Messages, got.GetId())
	y.same(t, y.world.Store(verdict, c, got.GetId(), got.GetCreatedAt().AsTime()), got)
	return c
}

// same compares a message with the model's, at the current time.
func (y *history) same(t *rapid.T, expected *model.Message, got *openintentv1.Message) {
	message := y.onTheWire(expected)
	message.Status = messageStatuses[expected.Status(y.world.Now)]
	message.ReadAt, message.EditedAt, message.DeletedAt = got.GetReadAt(), got.GetEditedAt(), got.GetDeletedAt() // compared below
	require.True(t, proto.Equal(message, got), "the message is\n%v, the model says\n%v", got, message)
	near(t, "the first acknowledgement", expected.ReadAt, got.GetReadAt())
	near(t, "the last edit", expected.EditedAt, got.GetEditedAt())
	near(t, "the deletion", expected.DeletedAt, got.GetDeletedAt())
}

// sameAgain compares a message that was returned again: it is the same as the first time.
func (y *history) sameAgain(t *rapid.T, expected *model.Message, got *openintentv1.Message) {
	message := y.onTheWire(expected.AsSent())
	message.Status = messageStatuses["delivered"]
	require.True(t, proto.Equal(message, got), "the message is\n%v, the model says\n%v", got, message)
}

// onTheWire returns the parts of a message that only edits and its deletion change.
func (y *history) onTheWire(m *model.Message) *openintentv1.Message {
	message := &openintentv1.Message{
		Id: m.ID, ChannelId: m.Channel.ID, Sender: m.Sender, To: given(m.To), MessageType: messageTypes[m.Type],
		Payload: payload(m.Payload), Metadata: &structpb.Struct{},
		CreatedAt: stamp(m.CreatedAt), ExpiresAt: stamp(m.ExpiresAt),
	}
	if m.Request != nil {
		message.CorrelationId = &m.Request.ID
	}
	if len(m.Before) > 0 {
		message.Revision = proto.Int32(int32(len(m.Before) + 1))
	}
	if !m.DeletedAt.IsZero() {
		message.Payload = &structpb.Struct{}
	}
	return message
}

// drawDraft draws everything of a message except where it goes and what it answers.
func (y *history) drawDraft(t *rapid.T) model.Draft {
	d := model.Draft{Key: drawKey(t)}
	d.Caller, d.Sender = y.drawActing(t)
	d.Type = pick(t, "type", []string{"request", "request", "notify", "notify", "broadcast", "response"})
	d.To = pick(t, "to", []string{"an agent", "an agent", "role:writer", "role:reviewer", "*", ""})
	switch {
	case d.To == "an agent":
		d.To = y.drawAgent(t, "addressee")
	case d.Type == "request" && (d.To == "*" || d.To == "") && !seldom(t, "a request to everyone"):
		d.To = "role:writer"
	}
	if (d.Type == "response" || d.Type == "broadcast") && !seldom(t, "addressed all the same") {
		d.To = ""
	}
	d.Payload, d.ExpiresAt = drawPayload(t), y.drawExpiry(t)
	return d
}

func drawKey(t *rapid.T) string {
	return pick(t, "key", []string{"", "", "key-1", "key-2"})
}

func drawPayload(t *rapid.T) string {
	return pick(t, "payload", []string{"yes", "no"})
}

// drawExpiry draws when a message expires: mostly never, at times soon, seldom immediately.
func (y *history) drawExpiry(t *rapid.T) time.Time {
	switch choice := below(t, "expires", 16); {
	case choice == 0:
		return y.world.Now
	case choice < 6:
		return y.world.Now.Add(time.Duration(choice) * 5 * time.Second)
	}
	return time.Time{}
}

// payload writes a payload of the model: a text, or the announcement that an agent departed.
func payload(text string) *structpb.Struct {
	fields := map[string]*structpb.Value{"text": structpb.NewStringValue(text)}
	if agent, left := strings.CutPrefix(text, departed); left {
		fields = map[string]*structpb.Value{
			"event": structpb.NewStringValue("agent_departed"), "agent_id": structpb.NewStringValue(agent),
		}
	}
	return &structpb.Struct{Fields: fields}
}
