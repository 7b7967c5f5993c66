package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
)

// window is how many messages of a stream of sends are unanswered at most: as many as the server reads on for.
const window = 256

// busyStreams are the numbers of streams on which messages are sent at once; the last is what the aim looks at.
var busyStreams = []int{1, 4}

// streamed makes a measure of sends on streams, each of one sender that waits for no answer until its window is full.
func (c *comparison) streamed(t *target, channel string) func(context.Context, int) (figure, error) {
	return func(ctx context.Context, streams int) (figure, error) {
		took := make([][]time.Duration, streams)
		failures := make([]error, streams)
		started := time.Now()
		until := started.Add(c.duration)
		var senders sync.WaitGroup
		for i := range streams {
			senders.Go(func() {
				failures[i] = t.sendStream(ctx, channel, func(now time.Time) bool { return now.Before(until) },
					func(before time.Time, _ string) { took[i] = append(took[i], time.Since(before)) })
			})
		}
		senders.Wait()
		elapsed := time.Since(started)
		if err := errors.Join(failures...); err != nil {
			return figure{}, err
		}
		all := slices.Concat(took...)
		if len(all) == 0 {
			return figure{}, errors.New("no message was answered")
		}
		slices.Sort(all)
		return figure{
			perSecond: float64(len(all)) / elapsed.Seconds(), median: all[len(all)/2], slow: all[len(all)*99/100],
		}, nil
	}
}

// sendStream sends on one stream as long as there is more, which is asked at the time of each send, and tells of each
// message that is stored when it was sent and its id, in the order of sending.
func (t *target) sendStream(
	ctx context.Context, channel string, more func(now time.Time) bool, stored func(before time.Time, id string),
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := openintentv1.NewMessageServiceClient(t.conn).SendMessages(as(ctx, asker))
	if err != nil {
		return err
	}
	sent := make(chan time.Time, window)
	answers := make(chan error, 1)
	go func() {
		defer cancel()
		answers <- func() error {
			for before := range sent {
				response, err := stream.Recv()
				if err != nil {
					return err
				}
				if response.GetAcknowledgement() == nil {
					return fmt.Errorf("a message was refused: %s", response.GetRefusal().GetMessage())
				}
				stored(before, response.GetAcknowledgement().GetMessageId())
			}
			return nil
		}()
	}()
	for now := time.Now(); ctx.Err() == nil && more(now); now = time.Now() {
		select {
		case sent <- now:
		case <-ctx.Done():
			continue
		}
		if err := stream.Send(&openintentv1.SendMessageRequest{ChannelId: channel, Payload: payload()}); err != nil {
			break // the answers say why
		}
	}
	close(sent)
	return <-answers
}

// fill sends messages to a channel, and gives the ids of some that have as many after them as a list gives.
func (t *target) fill(ctx context.Context, channel string, messages int) (cursors []string, err error) {
	apart := max(1, messages/listed)
	sent, answered := 0, 0
	err = t.sendStream(ctx, channel, func(time.Time) bool {
		sent++
		return sent <= messages
	}, func(_ time.Time, id string) {
		answered++
		if answered%apart == 0 && answered+listed <= messages {
			cursors = append(cursors, id)
		}
	})
	return cursors, err
}
