package conversation

import (
	"context"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/internal/pages"
	"openintent/messaging"
	"openintent/messaging/message"
	"openintent/messaging/reaction"
)

// These bound what one agent keeps of its reactions to one message.
const (
	maxSignals         = 16
	maxReactionChanges = 500
)

// The words for what happened to a reaction, in its annotation.
const (
	reactionAdded   = "added"
	reactionRemoved = "removed"
)

var errTooManyReactions = fault.New(fault.Quota, "TOO_MANY_REACTIONS",
	"An agent has at most 16 signals on one message and may change them 500 times; remove one, or send a message instead.")

// AddReaction sets an agent's signal on a message. Each signal is there once for each agent and message, so setting it again with
// the same note and eta changes nothing and tells nobody.
func (s *Service) AddReaction(
	ctx context.Context, req *openintentv1.AddReactionRequest,
) (*openintentv1.ListReactionsResponse, error) {
	for field, text := range map[string]string{"note": req.GetNote(), "eta": req.GetEta(), "signal": req.GetSignal()} {
		if err := caller.CheckText(field, text); err != nil {
			return nil, err
		}
	}
	wanted := reaction.Reaction{Signal: req.GetSignal(), Note: req.GetNote(), ETA: req.GetEta(), Present: true}
	return s.react(ctx, req, func(seen *messaging.Sighting, agent string, own reaction.Own) error {
		before := own[wanted.Signal]
		if before != nil && before.Present && before.Note == wanted.Note && before.ETA == wanted.ETA {
			return nil
		}
		if own.Changes() >= maxReactionChanges || own.Present() >= maxSignals && (before == nil || !before.Present) {
			return errTooManyReactions
		}
		wanted.Agent = agent
		seen.TellAsker(wanted.Signal)
		if err := change(seen, before, wanted); err != nil || before != nil && before.Present {
			return err
		}
		return s.hear(seen, wanted.Signal)
	})
}

// RemoveReaction takes an agent's signal away from a message. Where there is none, that changes nothing and tells nobody.
func (s *Service) RemoveReaction(
	ctx context.Context, req *openintentv1.RemoveReactionRequest,
) (*openintentv1.ListReactionsResponse, error) {
	if err := caller.CheckText("signal", req.GetSignal()); err != nil {
		return nil, err
	}
	return s.react(ctx, req, func(seen *messaging.Sighting, agent string, own reaction.Own) error {
		before := own[req.GetSignal()]
		if before == nil || !before.Present {
			return nil
		}
		if err := change(seen, before, reaction.Reaction{Agent: agent, Signal: before.Signal}); err != nil {
			return err
		}
		return s.unhear(seen, before.Signal)
	})
}

// reacting is a request that changes an agent's reactions to a message.
type reacting interface {
	GetChannelId() string
	GetMessageId() string
	GetAgentId() string
}

// react lets an agent that may see a message change its reactions to it, under the intent's lock, and returns all reactions. Whoever
// may see the message may react. So may the operator, under its own name or that of an agent that sees the message.
func (s *Service) react(
	ctx context.Context, req reacting, apply func(seen *messaging.Sighting, agent string, own reaction.Own) error,
) (*openintentv1.ListReactionsResponse, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	agent, err := c.ActAs("agent_id", req.GetAgentId())
	if err != nil {
		return nil, err
	}
	response := &openintentv1.ListReactionsResponse{}
	err = s.messaging.HoldMessage(ctx, c, agent, req.GetChannelId(), req.GetMessageId(), message.Current, func(seen *messaging.Sighting) error {
		if err := seen.RequireOpen(); err != nil {
			return err
		}
		own, err := reaction.OwnOf(seen.Tx, seen.Message, agent)
		if err != nil {
			return err
		}
		if err := apply(seen, agent, own); err != nil {
			return err
		}
		all, err := reaction.To(seen.Tx, seen.Message, 0, pages.MaxEntries)
		response.Reactions, _ = pages.Close(pages.Of("reactions", pages.MaxEntries), toWire(all), place(all))
		return err
	})
	if err != nil {
		return nil, err
	}
	return response, nil
}

// change stores what became of a reaction, and its annotation. A reaction that was there keeps its time and its place in the list.
func change(seen *messaging.Sighting, before *reaction.Reaction, after reaction.Reaction) error {
	details := message.AnnotationDetails{Change: reactionAdded, Signal: after.Signal, Note: after.Note, ETA: after.ETA}
	if !after.Present {
		details.Change = reactionRemoved
	}
	if err := seen.Annotate(message.AnnotationReaction, after.Agent, details); err != nil {
		return err
	}
	head := seen.Head()
	after.Position, after.CreatedAt, after.Changes = head.LastPosition, head.LastAt, 1
	if before != nil {
		after.Changes = before.Changes + 1
		if before.Present {
			after.Position, after.CreatedAt = before.Position, before.CreatedAt
		}
	}
	return after.Store(seen.Tx, seen.Message)
}

// ListReactions lists the reactions to a message for a caller that may see it.
func (s *Service) ListReactions(
	ctx context.Context, req *openintentv1.ListReactionsRequest,
) (*openintentv1.ListReactionsResponse, error) {
	var after int64
	page, err := pages.Begin("reactions", req, pages.MaxEntries, &after)
	if err != nil {
		return nil, err
	}
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	response := &openintentv1.ListReactionsResponse{}
	err = s.messaging.SeeMessage(ctx, c, c.Agent, req.GetChannelId(), req.GetMessageId(), message.Current, func(seen *messaging.Sighting) error {
		found, err := reaction.To(seen.Tx, seen.Message, after, page.Limit()+1)
		response.Reactions, response.NextCursor = pages.Close(page, toWire(found), place(found))
		return err
	})
	if err != nil {
		return nil, err
	}
	return response, nil
}

// place returns the key of a reaction in the list.
func place(all []reaction.Reaction) func(int) []any {
	return func(i int) []any { return []any{all[i].Position} }
}

func toWire(all []reaction.Reaction) []*openintentv1.Reaction {
	wire := make([]*openintentv1.Reaction, len(all))
	for i, one := range all {
		wire[i] = one.ToWire()
	}
	return wire
}
