package main

import (
	"context"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// refusing names the agent whose refusals, or contacts, a command is about.
type refusing struct {
	connection
	output
	Of string `complete:"agents" placeholder:"AGENT" help:"The agent (else the agent that the command acts as)."`
}

// begin connects, and returns the agent.
func (c *refusing) begin(to terminal) (client *openintent.Client, agent string, err error) {
	if client, err = c.dial(to); err != nil {
		return nil, "", err
	}
	if c.Of != "" {
		return client, c.Of, nil
	}
	return client, client.AgentID(), nil
}

// agentRefuseCommand refuses a sender.
type agentRefuseCommand struct {
	refusing
	Sender string `complete:"agents" arg:"" help:"The agent whose messages it refuses."`
}

// Help says what still comes.
func (agentRefuseCommand) Help() string {
	return `What the sender addresses to the agent is refused. Its answers to the agent's own requests still come, and so does what it sends to a role or to
everyone. The agent must be registered.

  openintent agents refuse noisy-agent`
}

// Run refuses the sender.
func (c *agentRefuseCommand) Run(ctx context.Context, to terminal) error {
	client, agent, err := c.begin(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	refused, err := called(client.Raw().Agents.RefuseSender(ctx, &openintentv1.RefuseSenderRequest{AgentId: agent, Sender: c.Sender}))
	if err != nil {
		return err
	}
	return show(c.output, to, refused, func(r *openintentv1.RefusedSender) (f fields) {
		f.add("sender", r.GetSender())
		f.add("refused since", clock(r.GetCreatedAt()))
		return f
	})
}

// agentAllowCommand takes a refusal back.
type agentAllowCommand struct {
	refusing
	Sender string `complete:"agents" arg:"" help:"The agent whose messages it takes again."`
}

// Run takes the refusal back.
func (c *agentAllowCommand) Run(ctx context.Context, to terminal) error {
	client, agent, err := c.begin(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	_, err = called(client.Raw().Agents.AllowSender(ctx, &openintentv1.AllowSenderRequest{AgentId: agent, Sender: c.Sender}))
	return err
}

// agentRefusedCommand lists the senders that an agent refuses.
type agentRefusedCommand struct{ refusing }

// Run prints a table.
func (c *agentRefusedCommand) Run(ctx context.Context, to terminal) error {
	client, agent, err := c.begin(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	request := &openintentv1.ListRefusedSendersRequest{AgentId: agent}
	listed, err := openintent.EveryPage(ctx, func(ctx context.Context, cursor *string) ([]*openintentv1.RefusedSender, *string, error) {
		request.Cursor = cursor
		page, err := client.Raw().Agents.ListRefusedSenders(ctx, request)
		if err != nil {
			return nil, nil, err
		}
		return page.GetRefused(), page.NextCursor, nil
	})
	if err != nil {
		return err
	}
	return list(c.output, to, newTable("SENDER", "REFUSED SINCE"), listed, func(r *openintentv1.RefusedSender) []string {
		return []string{r.GetSender(), clock(r.GetCreatedAt())}
	})
}
