package agentchannel

import (
	"context"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	openintentv1 "openintent/gen/openintent/v1"
)

// Closed tells of a channel that takes no more events.
type Closed struct {
	ID       string `json:"id"`
	Status   string `json:"status"`
	ClosedAt string `json:"closed_at"`
}

// Close closes a channel.
func (d *Desk) Close(ctx context.Context, named string) (*Closed, error) {
	channel, err := d.find(ctx, named)
	if err != nil {
		return nil, err
	}
	closed, err := d.Caller.Channels.UpdateChannel(ctx, &openintentv1.UpdateChannelRequest{
		Channel:    &openintentv1.Channel{Id: channel.GetId(), Status: openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"status"}},
	})
	if err != nil {
		return nil, err
	}
	return &Closed{ID: channel.GetAddress(), Status: statusOf(closed), ClosedAt: moment(closed.GetClosedAt().AsTime())}, nil
}

// statusOf returns whether a channel takes events, as the protocol says it.
func statusOf(channel *openintentv1.Channel) string {
	if channel.GetStatus() == openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED {
		return "closed"
	}
	return "open"
}
