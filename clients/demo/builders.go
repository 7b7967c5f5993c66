package demo

import (
	"context"

	openintent "openintent/sdk/go"
)

// builder makes one of the agents that share the role of the builders. The SDK claims a request to the role before it calls the handler, so
// one of them builds. The builder hands its change over to the reviewer before it answers.
func (p *play) builder(id string) *openintent.Agent {
	agent := p.agent(id, builder)
	agent.OnMessage("releases", func(ctx context.Context, message *openintent.Message) (any, error) {
		if message.MessageType != openintent.Request {
			return nil, nil
		}
		version, _ := message.Payload["version"].(string)
		_ = agent.SetStatusNote("builds " + version)
		if err := p.rest(ctx, 1); err != nil {
			return nil, err
		}
		reviews, err := p.as(ctx, id, p.reviews)
		if err != nil {
			return nil, err
		}
		review, err := reviews.AskWith(ctx, openintent.Question{
			To: reviewer, Timeout: patience,
			Payload: map[string]any{
				"text": "Please look at the change for " + version + ". It is yours from here.", "version": version,
				"files": []string{"cart/checkout.go", "cart/checkout_test.go"}, "lines": map[string]any{"added": 42, "removed": 17},
			},
			Conversation: openintent.Conversation{Subject: "Review " + version, Kind: "review.request"},
		})
		if err != nil {
			return nil, err
		}
		_ = agent.SetStatusNote("")
		return map[string]any{"text": version + " is built and reviewed.", "version": version, "review": review.Payload["verdict"]}, nil
	})
	return agent
}
