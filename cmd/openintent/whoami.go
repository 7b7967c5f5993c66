package main

import (
	"context"
	"strings"

	openintentv1 "openintent/gen/openintent/v1"
)

// whoamiCommand shows who the caller is to the server.
type whoamiCommand struct {
	connection
	output
}

// Help says what it is good for.
func (whoamiCommand) Help() string {
	return `Says as which agent the commands act with this key, which roles the agent may take, and where the key works.

  openintent whoami --json`
}

// Run prints what the server knows.
func (c *whoamiCommand) Run(ctx context.Context, to terminal) error {
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	known, err := called(client.Raw().Agents.WhoAmI(ctx, &openintentv1.WhoAmIRequest{}))
	if err != nil {
		return err
	}
	return show(c.output, to, known, callerFields)
}

func callerFields(known *openintentv1.WhoAmIResponse) (shown fields) {
	shown.add("agent", known.GetAgentId())
	var kinds []string
	for _, kind := range []struct {
		word string
		is   bool
	}{{"operator", known.GetOperator()}, {"guest", known.GetGuest()}, {"human", known.GetHuman()}, {"read-only", known.GetReadOnly()}} {
		if kind.is {
			kinds = append(kinds, kind.word)
		}
	}
	shown.add("kind", strings.Join(kinds, ", "))
	shown.add("roles", strings.Join(known.GetRoles(), ", "))
	shown.add("intents", strings.Join(known.GetIntents(), ", "))
	shown.add("channels", strings.Join(known.GetChannels(), ", "))
	return shown
}
