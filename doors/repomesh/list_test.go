package repomesh

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// rooms is a mesh with a channel of others, one that has just been deleted, and an open one.
type rooms struct {
	openintentv1.ChannelServiceClient
	openintentv1.MessageServiceClient
	openintentv1.EventServiceClient
}

func (rooms) ListChannels(context.Context, *openintentv1.ListChannelsRequest, ...grpc.CallOption) (*openintentv1.ListChannelsResponse, error) {
	return &openintentv1.ListChannelsResponse{Channels: []*openintentv1.Channel{{Id: "NOT_A_MEMBER"}, {Id: "CHANNEL_NOT_FOUND"}, {Id: "open"}}}, nil
}

func (rooms) ListMessages(
	_ context.Context, r *openintentv1.ListMessagesRequest, _ ...grpc.CallOption,
) (*openintentv1.ListMessagesResponse, error) {
	if r.GetChannelId() != "open" {
		return nil, fault.New(fault.Denied, r.GetChannelId(), "No.")
	}
	return &openintentv1.ListMessagesResponse{Messages: []*openintentv1.Message{{Id: "seen", CreatedAt: timestamppb.Now()}}}, nil
}

func (rooms) ListEvents(context.Context, *openintentv1.ListEventsRequest, ...grpc.CallOption) (*openintentv1.ListEventsResponse, error) {
	return &openintentv1.ListEventsResponse{}, nil
}

// A channel of others in the mesh takes nothing from what the caller may read.
func TestAListGoesOnOverChannelsOfOthers(t *testing.T) {
	s := ann()
	s.caller.Channels, s.caller.Messages, s.caller.Events = rooms{}, rooms{}, rooms{}
	answer, err := s.gather(t.Context(), &gathering{span: span{limit: defaultPage}, room: modelPage}, "")
	require.NoError(t, err)
	require.Len(t, answer.Items, 1)
	require.Equal(t, "seen", answer.Items[0].ID)
}
