package openintent

import (
	"context"
	"slices"

	openintentv1 "openintent/gen/openintent/v1"
)

// Thread is a message with those below it, as far as the client may see them.
type Thread struct {
	// Root is the first message; nil when the client may not see it, or when it is no longer retained.
	Root *Message
	// Messages are those below the first one, in the order in which they were sent.
	Messages []*Message
	// Participants are the senders, each once, in the order in which they appear.
	Participants []string
	// LastPosition is the highest position of these messages; FollowOptions.After takes it.
	LastPosition int64
}

// GetThread returns the thread of a message, which may be any message of it.
func (c *Client) GetThread(ctx context.Context, channelID, messageID string) (*Thread, error) {
	thread := &Thread{}
	request := &openintentv1.GetThreadRequest{ChannelId: channelID, MessageId: messageID}
	for {
		page, err := repeated(ctx, c, func(ctx context.Context) (*openintentv1.Thread, error) {
			return c.raw.Messages.GetThread(ctx, request)
		})
		if err != nil {
			return nil, err
		}
		if thread.Root == nil && page.GetRoot() != nil {
			thread.Root = c.message(page.GetRoot())
		}
		thread.Messages = append(thread.Messages, c.messages(page.GetMessages())...)
		for _, agent := range page.GetParticipants() {
			if !slices.Contains(thread.Participants, agent) {
				thread.Participants = append(thread.Participants, agent)
			}
		}
		thread.LastPosition = max(thread.LastPosition, page.GetLastPosition())
		if request.Cursor = page.NextCursor; request.Cursor == nil {
			return thread, nil
		}
	}
}

// Thread returns the thread of a message of the channel.
func (c *Channel) Thread(ctx context.Context, messageID string) (*Thread, error) {
	return c.client.GetThread(ctx, c.ID, messageID)
}

// Thread returns the thread of the message.
func (m *Message) Thread(ctx context.Context) (*Thread, error) {
	return m.client.GetThread(ctx, m.ChannelID, m.ID)
}
