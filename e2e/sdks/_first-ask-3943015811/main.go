package main

import (
	"context"
	"fmt"
	"log"

	openintent "openintent/sdk/go"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	client, err := openintent.Dial(openintent.Options{AgentID: "asker"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	agent := client.Agent(openintent.AgentOptions{ID: "data-agent"})
	agent.OnMessage("clarification", func(_ context.Context, message *openintent.Message) (any, error) {
		return map[string]any{"answer": "v2.3", "asked": message.Payload["question"]}, nil
	})
	left := make(chan error, 1)
	go func() { left <- agent.Run(ctx) }()

	intent, err := client.CreateIntent(ctx, openintent.IntentOptions{Title: "Report"})
	if err != nil {
		log.Fatal(err)
	}
	channel, err := client.Open(ctx, intent.ID, "clarification", openintent.ChannelOptions{})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := channel.Ask(ctx, "data-agent", map[string]any{"question": "which schema?"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Sender, "says", answer.Payload["answer"])

	stop() // the agent leaves
	if err := <-left; err != nil {
		log.Fatal(err)
	}
}
