package main

import (
	"context"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// owedCommand lists what others owe to the agent, or discharges one of it.
type owedCommand struct {
	connection
	output
	intentFlag
	Discharge string `placeholder:"MESSAGE" help:"Say that nobody waits for this request any more: its reference, CHANNEL/MESSAGE."`
	Note      string `placeholder:"TEXT" help:"What to say beside --discharge, in at most 200 characters."`
}

// Help says when somebody else discharges.
func (owedCommand) Help() string {
	return `Lists the open obligations of which the agent is the author: requests that were sent with --obligation. With --discharge it closes one of
them. A delegate does that by the request's reference.

  openintent ask builds builder "Fix the lock" --no-wait --obligation halted
  openintent owed --discharge CHANNEL/MESSAGE --note "it works"`
}

// Run lists or discharges.
func (c *owedCommand) Run(ctx context.Context, to terminal) error {
	if c.Note != "" && c.Discharge == "" {
		return usagef("--note goes with --discharge")
	}
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	if c.Discharge == "" {
		return listObligations(ctx, client, openintentv1.ObligationSide_OBLIGATION_SIDE_OWED, c.output, to)
	}
	reference := messageArgument{Message: c.Discharge, intentFlag: c.intentFlag}
	if err := reference.check(); err != nil {
		return err
	}
	channel, message, err := reference.find(ctx, client)
	if err != nil {
		return err
	}
	closed, err := called(client.Raw().Obligations.DischargeObligation(ctx, &openintentv1.DischargeObligationRequest{
		ChannelId: channel, MessageId: message, Note: present(c.Note),
	}))
	if err != nil {
		return err
	}
	return show(c.output, to, closed, func(closed *openintentv1.Discharge) (f fields) {
		f.add("message", closed.GetMessageId())
		f.add("by", closed.GetAgentId())
		f.add("note", closed.GetNote())
		f.add("at", clock(closed.GetDischargedAt()))
		return f
	})
}

// owingCommand lists what the agent owes to others.
type owingCommand struct {
	connection
	output
}

// Run lists.
func (c *owingCommand) Run(ctx context.Context, to terminal) error {
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	return listObligations(ctx, client, openintentv1.ObligationSide_OBLIGATION_SIDE_OWES, c.output, to)
}

// listObligations prints the open obligations of one side, oldest first.
func listObligations(
	ctx context.Context, client *openintent.Client, side openintentv1.ObligationSide, form output, to terminal,
) error {
	messages, err := openintent.EveryPage(ctx, func(ctx context.Context, cursor *string) ([]*openintentv1.Message, *string, error) {
		page, err := client.Raw().Obligations.ListObligations(ctx, &openintentv1.ListObligationsRequest{
			AgentId: client.AgentID(), Side: side, Cursor: cursor,
		})
		if err != nil {
			return nil, nil, openintent.FromError(err)
		}
		return page.GetMessages(), page.NextCursor, nil
	})
	if err != nil {
		return err
	}
	return list(form, to, newTable("MESSAGE", "FROM", "TO", "BLOCKS", "SINCE", "DELEGATE", "SUBJECT"), messages,
		func(m *openintentv1.Message) []string {
			return []string{
				m.GetChannelId() + "/" + m.GetId(), m.GetSender(), m.GetTo(), word(m.GetObligation().GetBlocks()), clock(m.GetCreatedAt()),
				m.GetObligation().GetDelegate(), m.GetSubject(),
			}
		})
}
