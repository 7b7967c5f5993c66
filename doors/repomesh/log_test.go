package repomesh

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	openintentv1 "openintent/gen/openintent/v1"
)

// under is a request of somebody, and what is said under it: an answer, or something else.
type under struct {
	openintentv1.MessageServiceClient
	sender  string
	answers int
	sent    []*openintentv1.SendMessageRequest
}

func (u *under) GetMessage(context.Context, *openintentv1.GetMessageRequest, ...grpc.CallOption) (*openintentv1.Message, error) {
	return &openintentv1.Message{Id: "request", ChannelId: "channel", Sender: u.sender, MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST}, nil
}

func (u *under) ReplyMessage(context.Context, *openintentv1.ReplyMessageRequest, ...grpc.CallOption) (*openintentv1.Message, error) {
	u.answers++
	return &openintentv1.Message{}, nil
}

func (u *under) SendMessage(_ context.Context, r *openintentv1.SendMessageRequest, _ ...grpc.CallOption) (*openintentv1.Message, error) {
	u.sent = append(u.sent, r)
	return &openintentv1.Message{}, nil
}

// A message under somebody else's request is the answer if it names that agent or nobody. Under the sender's own request it is a plain message.
func TestWhatIsSaidUnderARequest(t *testing.T) {
	for _, c := range []struct {
		sender, to string
		answers    int
	}{{"ben", "", 1}, {"ben", "ben", 1}, {"ben", "cid", 0}, {"ann", "", 0}, {"ann", "ben", 0}} {
		contract, s := &under{sender: c.sender}, ann()
		s.caller.Messages = contract
		_, err := s.send(t.Context(), &draft{name: chat, parent: new("request"), to: given(c.to)})
		require.NoError(t, err)
		require.Equal(t, c.answers, contract.answers, c)
		if c.answers == 0 {
			require.Equal(t, "request", contract.sent[0].GetParentId(), c)
		}
	}
}
