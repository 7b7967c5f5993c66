// Program desk is a new user's agent in Go. With the argument "mute" it keeps its log to itself.
package main

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"

	openintent "openintent/sdk/go"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	client, err := openintent.Dial(openintent.Options{})
	if err != nil {
		log.Fatal(err)
	}
	options := openintent.AgentOptions{ID: "go-agent"}
	if slices.Contains(os.Args, "mute") {
		options.Log = slog.New(slog.DiscardHandler)
	}
	agent := client.Agent(options)
	agent.OnMessage("desk", func(_ context.Context, message *openintent.Message) (any, error) {
		if message.Payload["fail"] == true {
			return nil, errors.New("the desk is on fire")
		}
		return map[string]any{"answer": "v2.3"}, nil
	})
	if err := agent.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
