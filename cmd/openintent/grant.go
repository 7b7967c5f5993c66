package main

import (
	"context"

	openintentv1 "openintent/gen/openintent/v1"
)

// intentGrantCommand lets agents into an intent.
type intentGrantCommand struct {
	connection
	ID         string   `complete:"intents" arg:"" name:"intent" help:"The intent's id."`
	Agents     []string `complete:"agents" arg:"" name:"agent" help:"The agents that are let in."`
	Permission string   `enum:"read,write,admin" default:"write" placeholder:"LEVEL" help:"What they may do: read, write (take part in channels, too) or admin (write)."`
}

// Help says when it is needed.
func (intentGrantCommand) Help() string {
	return `An intent is open to everybody or closed, by its access list or, without one, by the server's OPENINTENT_DEFAULT_ACCESS. This adds an
entry for each agent to the list; an intent without a list gets one. It needs admin access, which the intent's creator has.

  openintent intents grant $INTENT data-agent reviewer --agent researcher`
}

// Run adds the entries one after the other. It prints nothing.
func (c *intentGrantCommand) Run(ctx context.Context, to terminal) error {
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	level := openintentv1.Permission(number(openintentv1.Permission_value, "PERMISSION_", c.Permission))
	for _, agent := range c.Agents {
		request := &openintentv1.CreateAccessEntryRequest{IntentId: c.ID, PrincipalId: agent, Permission: level}
		if _, err := called(client.Raw().Access.CreateAccessEntry(ctx, request)); err != nil {
			return err
		}
	}
	return nil
}
