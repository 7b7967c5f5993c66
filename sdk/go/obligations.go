package openintent

import (
	"context"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
)

// Obligation makes a request stay open until its sender, the delegate or the operator discharges it.
type Obligation struct {
	// Blocks says what stands still meanwhile; BlocksNone when it is empty.
	Blocks Blocks
	// Delegate is an agent that may discharge it too; empty for none. Naming it shows it nothing.
	Delegate string
}

// Blocks is what stands still until an obligation is discharged.
type Blocks string

// These are the degrees.
const (
	BlocksHalted   Blocks = "halted"
	BlocksDegraded Blocks = "degraded"
	BlocksNone     Blocks = "none"
)

var blocksWords = wordsOf(map[openintentv1.Blocks]Blocks{
	openintentv1.Blocks_BLOCKS_HALTED:   BlocksHalted,
	openintentv1.Blocks_BLOCKS_DEGRADED: BlocksDegraded,
	openintentv1.Blocks_BLOCKS_NONE:     BlocksNone,
})

// These are the reasons of messages that speak of an open obligation: of the request itself, and of a reminder of it.
const (
	ReasonObligation       = "obligation"
	ReasonObligationReturn = "obligation_return"
)

// Side is from which side an agent looks at obligations.
type Side string

// These are the sides.
const (
	// Owes is what the agent, or its role, owes to others.
	Owes Side = "owes"
	// Owed is what others owe to the agent.
	Owed Side = "owed"
)

var sides = wordsOf(map[openintentv1.ObligationSide]Side{
	openintentv1.ObligationSide_OBLIGATION_SIDE_OWES: Owes,
	openintentv1.ObligationSide_OBLIGATION_SIDE_OWED: Owed,
})

// Discharge is who closed an obligation.
type Discharge struct {
	MessageID, AgentID, Note string
	At                       time.Time
}

// Discharge closes the obligation of a request. The request's sender, the delegate and the operator may do so. Repeats are harmless, and
// return what the first one did.
func (c *Client) Discharge(ctx context.Context, channelID, messageID, note string) (*Discharge, error) {
	closed, err := repeated(ctx, c, func(ctx context.Context) (*openintentv1.Discharge, error) {
		return c.raw.Obligations.DischargeObligation(ctx, &openintentv1.DischargeObligationRequest{
			ChannelId: channelID, MessageId: messageID, Note: optional(note),
		})
	})
	if err != nil {
		return nil, err
	}
	return &Discharge{closed.GetMessageId(), closed.GetAgentId(), closed.GetNote(), timeOf(closed.GetDischargedAt())}, nil
}

// Obligations returns all open obligations of the client's agent on one side, oldest first, as far as the agent sees them.
func (c *Client) Obligations(ctx context.Context, side Side) ([]*Message, error) {
	listed, err := repeated(ctx, c, func(ctx context.Context) ([]*openintentv1.Message, error) {
		return EveryPage(ctx, func(ctx context.Context, cursor *string) ([]*openintentv1.Message, *string, error) {
			request := &openintentv1.ListObligationsRequest{AgentId: c.AgentID(), Cursor: cursor}
			if number := sides.number(side); number != nil {
				request.Side = *number
			}
			page, err := c.raw.Obligations.ListObligations(ctx, request)
			if err != nil {
				return nil, nil, err
			}
			return page.GetMessages(), page.NextCursor, nil
		})
	})
	if err != nil {
		return nil, err
	}
	return c.messages(listed), nil
}

// Discharge closes the message's obligation, as Client.Discharge does.
func (m *Message) Discharge(ctx context.Context, note string) (*Discharge, error) {
	return m.client.Discharge(ctx, m.ChannelID, m.ID, note)
}

func (o *Obligation) wire() *openintentv1.Obligation {
	if o == nil {
		return nil
	}
	wire := &openintentv1.Obligation{Delegate: optional(o.Delegate)}
	if number := blocksWords.number(o.Blocks); number != nil {
		wire.Blocks = *number
	}
	return wire
}

func obligationOf(wire *openintentv1.Obligation) *Obligation {
	if wire == nil {
		return nil
	}
	return &Obligation{Blocks: blocksWords.word(wire.GetBlocks()), Delegate: wire.GetDelegate()}
}

// speaksOfObligation reports whether a message is a request with an open obligation, or a reminder of one.
func speaksOfObligation(message *Message) bool {
	return message.Attention != nil && (message.Attention.Reason == ReasonObligation || message.Attention.Reason == ReasonObligationReturn)
}
