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

// window is how many messages of a stream may be unanswered: as many as the server reads ahead.
const window = 256

// busyStreams are the numbers of streams that send simultaneously; the aim uses the last number.
var busyStreams = []int{1, 4}

// streamed returns a function that measures sends on streams; each stream has one sender, who waits for an answer
// only when its window is full.
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

// sendStream sends on one stream as long as more returns true; it calls more at each send. For each stored message it
// reports when the message was sent and its id, in the order of sending.
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
			break // the answers contain the reason
		}
	}
	close(sent)
	return <-answers
}

// fill sends messages to a channel, and returns the ids of some after which there are as many messages as a list
// returns.
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
