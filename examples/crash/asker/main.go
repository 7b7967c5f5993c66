// Program asker is the researcher of the crash example, in Go: it asks the data agent one question after the other, and goes on whatever happens
// to the server. In the end it counts what is on the channel.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"time"

	openintent "openintent/sdk/go"
)

func main() {
	count := flag.Int("questions", 12, "how many questions to ask")
	pause := flag.Duration("pause", 250*time.Millisecond, "how long to pause between two questions")
	flag.Parse()
	if err := ask(context.Background(), *count, *pause); err != nil {
		log.Fatal(err)
	}
}

type question struct {
	Batch int `json:"batch"`
}

type answer struct {
	Rows int `json:"rows"`
}

func ask(ctx context.Context, count int, pause time.Duration) error {
	client, err := openintent.Dial(openintent.Options{AgentID: "researcher"})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	intent, err := client.CreateIntent(ctx, openintent.IntentOptions{Title: "Count the rows", Status: openintent.IntentActive})
	if err != nil {
		return err
	}
	channel, err := client.Open(ctx, intent.ID, "questions", openintent.ChannelOptions{})
	if err != nil {
		return err
	}
	for n := 1; n <= count; n++ {
		response, err := channel.AskWith(ctx, openintent.Question{To: "data-agent", Payload: question{n}, Timeout: time.Minute})
		if err != nil {
			return err
		}
		var said answer
		if err := response.Decode(&said); err != nil {
			return err
		}
		fmt.Printf("batch %d has %d rows, says %s\n", n, said.Rows, response.Sender)
		<-time.After(pause)
	}
	messages, err := client.ListMessages(ctx, channel.ID, openintent.Selection{})
	if err != nil {
		return err
	}
	asked, answered := 0, 0
	for _, message := range messages {
		switch message.MessageType {
		case openintent.Request:
			asked++
		case openintent.Response:
			answered++
		}
	}
	if asked != count || answered != count {
		return fmt.Errorf("%d questions are on the channel and %d answers, not %d of each", asked, answered, count)
	}
	fmt.Printf("%d questions, %d answers: none lost, none twice\n", asked, answered)
	return nil
}
