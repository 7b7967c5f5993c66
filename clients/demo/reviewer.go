package demo

import (
	"context"

	openintent "openintent/sdk/go"
)

// reviewer makes the agent that takes changes over. It says that it works on one before it answers.
func (p *play) reviewer() *openintent.Agent {
	agent := p.agent(reviewer, "")
	agent.OnMessage("reviews", func(ctx context.Context, message *openintent.Message) (any, error) {
		if message.MessageType != openintent.Request {
			return nil, nil
		}
		note := openintent.ReactionOptions{Note: "reading the tests first", ETA: "a few seconds"}
		if _, err := agent.Client().React(ctx, message.ChannelID, message.ID, "working", note); err != nil {
			return nil, err
		}
		p.says("reviewer takes a change of %s over", message.Sender)
		if err := p.rest(ctx, 2); err != nil {
			return nil, err
		}
		return map[string]any{"text": "Good. One remark: name the timeout.", "verdict": "approved", "remarks": 1}, nil
	})
	return agent
}
