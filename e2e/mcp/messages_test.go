package mcp

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
)

// post sends a message past the door, and returns its id.
func (a *agent) post(t *testing.T, message *openintentv1.SendMessageRequest) string {
	t.Helper()
	sent, err := a.direct.Messages.SendMessage(t.Context(), message)
	require.NoError(t, err)
	return sent.GetId()
}

// ask sends a request to an agent or a role past the door, and returns its id.
func (a *agent) ask(t *testing.T, channel, to, words string, collect *structpb.Value) string {
	t.Helper()
	return a.post(t, &openintentv1.SendMessageRequest{
		ChannelId: channel, To: &to, Payload: textPayload(t, words), Collect: collect,
		MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum(),
	})
}

// textPayload is the payload of a text.
func textPayload(t *testing.T, words string) *structpb.Struct {
	t.Helper()
	payload, err := structpb.NewStruct(object{"text": words})
	require.NoError(t, err)
	return payload
}

// texts returns the texts of the messages in an answer.
func texts(t *testing.T, answer object) (all []string) {
	t.Helper()
	for _, message := range list(t, answer, "messages") {
		all = append(all, text(t, message, "text"))
	}
	return all
}
