// Program go plays the clarification of RFC-0021: a research agent asks a data agent which schema a dataset has.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	openintent "openintent/sdk/go"
)

type question struct {
	Question string `json:"question"`
}

type answer struct {
	Answer     string  `json:"answer"`
	Confidence float64 `json:"confidence"`
}

func main() {
	ctx, stop := context.WithCancel(context.Background())
	client, err := openintent.Dial(openintent.Options{AgentID: "research-agent"})
	if err != nil {
		log.Fatal(err)
	}
	agent := dataAgent(client)
	left := make(chan error, 1)
	go func() { left <- agent.Run(ctx) }()

	if err := research(ctx, client); err != nil {
		log.Fatal(err)
	}
	stop() // the data agent leaves
	if err := <-left; err != nil {
		log.Fatal(err)
	}
}

func dataAgent(client *openintent.Client) *openintent.Agent {
	agent := client.Agent(openintent.AgentOptions{ID: "data-agent"})
	agent.OnMessage("data-clarification", func(_ context.Context, message *openintent.Message) (any, error) {
		if message.MessageType != openintent.Request {
			return nil, nil
		}
		fmt.Printf("data-agent is asked by %s: %s\n", message.Sender, message.Payload["question"])
		return answer{Answer: "v2.3", Confidence: 0.95}, nil
	})
	return agent
}

func research(ctx context.Context, client *openintent.Client) error {
	intent, err := client.CreateIntent(ctx, openintent.IntentOptions{
		Title: "Research Q1 financials", Status: openintent.IntentActive,
	})
	if err != nil {
		return err
	}
	channel, err := client.Open(ctx, intent.ID, "data-clarification", openintent.ChannelOptions{
		Members: []string{"research-agent", "data-agent"}, MemberPolicy: openintent.ExplicitMembers,
	})
	if err != nil {
		return err
	}
	response, err := channel.AskWith(ctx, openintent.Question{
		To: "data-agent", Payload: question{"What schema version does the Q1 dataset use?"}, Timeout: 30 * time.Second,
	})
	if err != nil {
		return err
	}
	var said answer
	if err := response.Decode(&said); err != nil {
		return err
	}
	fmt.Printf("research-agent hears from %s: %s\n", response.Sender, said.Answer)
	if _, err := channel.Broadcast(ctx, map[string]any{"status": "starting analysis", "schema": said.Answer}); err != nil {
		return err
	}

	fmt.Println("On the channel:")
	messages, err := client.ListMessages(ctx, channel.ID, openintent.Selection{})
	if err != nil {
		return err
	}
	for _, message := range messages {
		fmt.Printf("  %s from %s to %s\n", message.MessageType, message.Sender, message.To)
	}
	_, err = client.SetIntentStatus(ctx, intent.ID, openintent.IntentCompleted) // this also closes the channel
	return err
}
