package messaging

import (
	"context"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

func (h *house) send(t require.TestingT, agent string, req *sendRequest) *wireMessage {
	m, err := h.messaging.SendMessage(as(agent), req)
	require.NoError(t, err)
	return m
}

// say sends a notify to everyone.
func (h *house) say(t require.TestingT, agent, channelID, text string) *wireMessage {
	return h.send(t, agent, &sendRequest{ChannelId: channelID, Payload: content(text)})
}

// asks sends a request without waiting.
func (h *house) asks(t require.TestingT, agent, channelID, to string) *wireMessage {
	return h.send(t, agent, &sendRequest{ChannelId: channelID, To: &to, MessageType: ptr(request)})
}

func (h *house) tryReply(ctx context.Context, channelID, requestID, text string) (*wireMessage, error) {
	return h.messaging.ReplyMessage(ctx, &replyRequest{ChannelId: channelID, MessageId: requestID, Payload: content(text)})
}

func (h *house) reply(t require.TestingT, agent, channelID, requestID, text string) *wireMessage {
	m, err := h.tryReply(as(agent), channelID, requestID, text)
	require.NoError(t, err)
	return m
}

func (h *house) tryGet(ctx context.Context, channelID, messageID string) (*wireMessage, error) {
	return h.messaging.GetMessage(ctx, &openintentv1.GetMessageRequest{ChannelId: channelID, MessageId: messageID})
}

// get reads a message as the operator.
func (h *house) get(t require.TestingT, channelID, messageID string) *wireMessage {
	m, err := h.tryGet(asOperator(), channelID, messageID)
	require.NoError(t, err)
	return m
}

func (h *house) tryRead(ctx context.Context, channelID, messageID string) (*wireMessage, error) {
	return h.messaging.UpdateMessage(ctx, &openintentv1.UpdateMessageRequest{
		ChannelId: channelID, MessageId: messageID, Status: read,
	})
}

// list lists as the agent.
func (h *house) list(t require.TestingT, agent string, req *listRequest) []*wireMessage {
	return h.listIn(as(agent), t, req)
}

func (h *house) listIn(ctx context.Context, t require.TestingT, req *listRequest) []*wireMessage {
	page, err := h.messaging.ListMessages(ctx, req)
	require.NoError(t, err)
	return page.GetMessages()
}

func idsOf(messages []*wireMessage) []string {
	ids := make([]string, len(messages))
	for i, m := range messages {
		ids[i] = m.GetId()
	}
	return ids
}

// sees reports whether the agent finds the message in its list of the channel.
func (h *house) sees(t require.TestingT, agent string, m *wireMessage) bool {
	for _, seen := range h.list(t, agent, &listRequest{ChannelId: m.GetChannelId()}) {
		if seen.GetId() == m.GetId() {
			return true
		}
	}
	return false
}

// rows counts the rows of a table that meet a condition.
