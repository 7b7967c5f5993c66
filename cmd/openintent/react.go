package main

import (
	"context"

	openintentv1 "openintent/gen/openintent/v1"
)

// reactCommand sets a signal on a message, or takes it away.
type reactCommand struct {
	connection
	output
	messageArgument
	Signal string `complete:"signals" arg:"" help:"seen, agree, working, queued, claimed, done, declined, blocked, unclear, or one of your own that begins with x-."`
	Note   string `placeholder:"TEXT" help:"What to say beside it, in at most 200 characters."`
	ETA    string `name:"eta" placeholder:"TEXT" help:"When you expect to be done, in your own words."`
	Remove bool   `help:"Take the signal away."`
}

// Run reacts and prints all reactions to the message.
func (c *reactCommand) Run(ctx context.Context, to terminal) error {
	if c.Remove && (c.Note != "" || c.ETA != "") {
		return usagef("--remove takes no --note and no --eta")
	}
	if err := c.check(); err != nil {
		return err
	}
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	channel, message, err := c.find(ctx, client)
	if err != nil {
		return err
	}
	var changed *openintentv1.ListReactionsResponse
	if c.Remove {
		changed, err = called(client.Raw().Reactions.RemoveReaction(ctx, &openintentv1.RemoveReactionRequest{
			ChannelId: channel, MessageId: message, Signal: c.Signal,
		}))
	} else {
		changed, err = called(client.Raw().Reactions.AddReaction(ctx, &openintentv1.AddReactionRequest{
			ChannelId: channel, MessageId: message, Signal: c.Signal, Note: present(c.Note), Eta: present(c.ETA),
		}))
	}
	if err != nil {
		return err
	}
	return list(c.output, to, newTable("AGENT", "SIGNAL", "SINCE", "ETA", "NOTE"), changed.GetReactions(), func(r *openintentv1.Reaction) []string {
		return []string{r.GetAgentId(), r.GetSignal(), clock(r.GetCreatedAt()), r.GetEta(), r.GetNote()}
	})
}
