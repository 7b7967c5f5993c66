package openintent

import (
	"context"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
)

// Reaction is one agent's signal on a message.
type Reaction struct {
	AgentID string
	// Signal is "seen", "agree", "working", "queued", "claimed", "done", "declined", "blocked", "unclear", or one that begins with "x-".
	Signal string
	// Note and ETA are what the agent says beside it, in its own words.
	Note, ETA string
	CreatedAt time.Time
}

// ReactionOptions are what an agent may say beside a signal, in at most 200 characters each.
type ReactionOptions struct {
	Note string
	// ETA is when the agent expects to be done.
	ETA string
}

// React sets a signal on a message and returns all reactions to it, at most the first 1,000. Setting it again with another note
// or ETA changes those.
func (c *Client) React(ctx context.Context, channelID, messageID, signal string, options ReactionOptions) ([]Reaction, error) {
	return c.reacted(ctx, func(ctx context.Context) (*openintentv1.ListReactionsResponse, error) {
		return c.raw.Reactions.AddReaction(ctx, &openintentv1.AddReactionRequest{
			ChannelId: channelID, MessageId: messageID, Signal: signal, Note: optional(options.Note), Eta: optional(options.ETA),
		})
	})
}

// Unreact takes the client's signal away from a message and returns the other reactions. It changes nothing if there is none.
func (c *Client) Unreact(ctx context.Context, channelID, messageID, signal string) ([]Reaction, error) {
	return c.reacted(ctx, func(ctx context.Context) (*openintentv1.ListReactionsResponse, error) {
		return c.raw.Reactions.RemoveReaction(ctx, &openintentv1.RemoveReactionRequest{
			ChannelId: channelID, MessageId: messageID, Signal: signal,
		})
	})
}

// reacted makes a call that may be repeated: each signal is there once for each agent.
func (c *Client) reacted(
	ctx context.Context, call func(context.Context) (*openintentv1.ListReactionsResponse, error),
) ([]Reaction, error) {
	answer, err := repeated(ctx, c, call)
	if err != nil {
		return nil, err
	}
	return reactionsOf(answer.GetReactions()), nil
}

// ListReactions returns all reactions to a message, in the order in which they were set.
func (c *Client) ListReactions(ctx context.Context, channelID, messageID string) ([]Reaction, error) {
	listed, err := repeated(ctx, c, func(ctx context.Context) ([]*openintentv1.Reaction, error) {
		return EveryPage(ctx, func(ctx context.Context, cursor *string) ([]*openintentv1.Reaction, *string, error) {
			page, err := c.raw.Reactions.ListReactions(ctx, &openintentv1.ListReactionsRequest{
				ChannelId: channelID, MessageId: messageID, Cursor: cursor,
			})
			if err != nil {
				return nil, nil, err
			}
			return page.GetReactions(), page.NextCursor, nil
		})
	})
	if err != nil {
		return nil, err
	}
	return reactionsOf(listed), nil
}

func reactionsOf(listed []*openintentv1.Reaction) []Reaction {
	reactions := make([]Reaction, len(listed))
	for i, r := range listed {
		reactions[i] = Reaction{r.GetAgentId(), r.GetSignal(), r.GetNote(), r.GetEta(), timeOf(r.GetCreatedAt())}
	}
	return reactions
}

// React sets a signal on the message, as Client.React does.
func (m *Message) React(ctx context.Context, signal string, options ReactionOptions) ([]Reaction, error) {
	return m.client.React(ctx, m.ChannelID, m.ID, signal, options)
}

// Unreact takes the client's signal away from the message.
func (m *Message) Unreact(ctx context.Context, signal string) ([]Reaction, error) {
	return m.client.Unreact(ctx, m.ChannelID, m.ID, signal)
}

// Reactions returns all reactions to the message.
func (m *Message) Reactions(ctx context.Context) ([]Reaction, error) {
	return m.client.ListReactions(ctx, m.ChannelID, m.ID)
}
