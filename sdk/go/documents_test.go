package openintent

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	openintentv1 "openintent/gen/openintent/v1"
)

// filing is a server that answers as if it had stored what it was sent.
type filing struct {
	openintentv1.MessageServiceClient
	openintentv1.ChannelServiceClient
	sent    []*openintentv1.SendMessageRequest
	created *openintentv1.CreateChannelRequest
}

func (s *filing) SendMessage(_ context.Context, m *openintentv1.SendMessageRequest, _ ...grpc.CallOption) (*openintentv1.Message, error) {
	s.sent = append(s.sent, m)
	return &openintentv1.Message{Id: "m", Kind: m.Kind, Document: m.Document}, nil
}

func (s *filing) CreateChannel(_ context.Context, c *openintentv1.CreateChannelRequest, _ ...grpc.CallOption) (*openintentv1.Channel, error) {
	s.created = c
	return &openintentv1.Channel{Id: "c", Address: new("VK47")}, nil
}

func TestADocumentSaysWhatItReplaces(t *testing.T) {
	client, server := newClient(nil, Options{RetryPatience: time.Minute}), &filing{}
	client.raw.Messages, client.raw.Channels = server, server

	spec := Conversation{Kind: "spec"}
	first, err := client.SendMessage(t.Context(), "c", Draft{Document: true, Replaces: new(""), Conversation: spec})
	require.NoError(t, err)
	require.True(t, first.Document)
	_, err = client.SendMessage(t.Context(), "c", Draft{Document: true, Replaces: &first.ID, Conversation: spec})
	require.NoError(t, err)
	plain, err := client.SendMessage(t.Context(), "c", Draft{Conversation: spec})
	require.NoError(t, err)
	require.False(t, plain.Document)
	require.Equal(t, new(""), server.sent[0].Replaces, "there must be none yet")
	require.Equal(t, new("m"), server.sent[1].Replaces)
	require.Nil(t, server.sent[2].Document, "what is not used is not sent")
	require.Nil(t, server.sent[2].Replaces)

	channel, err := client.CreateChannel(t.Context(), "i", "talk", ChannelOptions{Dictatable: true})
	require.NoError(t, err)
	require.True(t, server.created.GetDictatable())
	require.Equal(t, "VK47", channel.Address)
}
