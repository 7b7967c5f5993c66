package openintent_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os/signal"
	"syscall"
	"time"

	openintent "openintent/sdk/go"
)

func ExampleChannel_Ask() {
	ctx := context.Background()
	client, err := openintent.Dial(openintent.Options{AgentID: "asker"})
	if err != nil {
		log.Fatal(err)
	}
	channel, err := client.Open(ctx, "an intent's id", "clarification", openintent.ChannelOptions{})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := channel.Ask(ctx, "data-agent", map[string]any{"question": "which schema?"})
	var late *openintent.MessageTimeoutError
	if errors.As(err, &late) {
		answer, err = client.ResumeAsk(ctx, channel.ID, late.MessageID, time.Minute)
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Payload["answer"])
}

func ExampleChannel_AskAllIter() {
	var channel *openintent.Channel // from Client.Open
	question := openintent.Question{To: "role:review", Payload: map[string]any{"text": "..."}, Timeout: time.Minute}
	for response, err := range channel.AskAllIter(context.Background(), question) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(response.Sender, response.Payload["vote"])
	}
}

func ExampleChannel_Messages() {
	var channel *openintent.Channel // from Client.Open
	for message, err := range channel.Messages(context.Background(), openintent.FollowOptions{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(message.Sender, message.Payload)
	}
}

func ExampleAgent_Run() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	client, err := openintent.Dial(openintent.Options{})
	if err != nil {
		log.Fatal(err)
	}
	agent := client.Agent(openintent.AgentOptions{ID: "data-agent", Role: "data"})
	agent.OnMessage("clarification", func(_ context.Context, message *openintent.Message) (any, error) {
		return map[string]any{"answer": "v2.3"}, nil
	})
	if err := agent.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
