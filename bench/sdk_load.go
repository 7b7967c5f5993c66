package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	openintent "openintent/sdk/go"
)

const (
	// sdkLoad is the argument that turns the program into a load with the Go SDK.
	sdkLoad = "sdk"
	// sdkConcurrency is how many requests the agents of all SDKs handle simultaneously.
	sdkConcurrency = 64
)

// serveSDKLoad is the Go SDK's load; those of the other SDKs are in compare/sdks. Its arguments are `answer` or
// `ask`, the server, the key, the channel's id and the responder. It ends when its input ends.
func serveSDKLoad(arguments []string) error {
	if len(arguments) != 5 {
		return errors.New("usage: bench sdk answer|ask SERVER KEY CHANNEL RESPONDER")
	}
	agent := asker
	if arguments[0] == "answer" {
		agent = arguments[4]
	}
	client, err := openintent.Dial(openintent.Options{Server: arguments[1], APIKey: arguments[2], AgentID: agent})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	if arguments[0] == "answer" {
		return answerBySDK(client)
	}
	return askBySDK(client, arguments[3], arguments[4])
}

func sdkPayload() map[string]any { return map[string]any{"question": text, "attempt": 1} }

func answerBySDK(client *openintent.Client) error {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	agent := client.Agent(openintent.AgentOptions{
		Concurrency: sdkConcurrency, Log: slog.New(slog.DiscardHandler), Ready: func() { fmt.Println(`{"Ready":true}`) },
	})
	agent.OnMessage("", func(context.Context, *openintent.Message) (any, error) { return sdkPayload(), nil })
	return agent.Run(ctx)
}

func askBySDK(client *openintent.Client, channel, responder string) error {
	works := map[string]worker{
		"ask": func(ctx context.Context, _ int) error {
			_, err := client.Ask(ctx, channel, openintent.Question{To: responder, Payload: sdkPayload()})
			return err
		},
		"send": func(ctx context.Context, _ int) error {
			_, err := client.SendMessage(ctx, channel, openintent.Draft{Payload: sdkPayload()})
			return err
		},
	}
	answers := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var given job
		if err := json.Unmarshal(lines.Bytes(), &given); err != nil {
			return err
		}
		measured, err := workBySDK(given, works[given.Work])
		told := map[string]any{"PerSecond": measured.perSecond, "Median": measured.median, "Slow": measured.slow}
		if err != nil {
			told = map[string]any{"Error": err.Error()}
		}
		if err := answers.Encode(told); err != nil {
			return err
		}
	}
	return nil
}

func workBySDK(given job, work worker) (figure, error) {
	if work == nil {
		return figure{}, fmt.Errorf("there is no job %q", given.Work)
	}
	p := plan{duration: time.Duration(given.Seconds * float64(time.Second))}
	return p.load(context.Background(), given.Callers, func(ctx context.Context) (worker, error) {
		return work, work(ctx, 0) // the first one connects
	})
}
