package torture

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// startTiming sends messages at each replica all the time, to a separate intent for each, and records how long each send takes.
// The calls bypass the lines that are cut.
func (w *world) startTiming(ctx context.Context) {
	for number, replica := range w.replicas {
		channel := w.quietChannel(fmt.Sprintf("timed at replica %d", number+1))
		c := w.client("timer", fmt.Sprint("timing of ", number))
		w.senders.Go(func() {
			for !w.stopped() && c.rest(ctx, 10*time.Millisecond, 100*time.Millisecond) {
				began := time.Since(w.began)
				attempt, cancel := context.WithTimeout(ctx, attemptTime)
				_, err := replica.As(c.agent).Messages.SendMessage(attempt, &openintentv1.SendMessageRequest{
					ChannelId: channel, Payload: payloadOf("on time"),
				})
				cancel()
				if err != nil && !transient(err) {
					w.problem("a timed send failed: %v", err)
				}
				w.change(func(h *History) {
					h.Timings = append(h.Timings, Timing{Replica: number, Began: began, Took: time.Since(w.began) - began})
				})
			}
		})
	}
}

// quietChannel creates a channel of an intent that nobody checks.
func (w *world) quietChannel(name string) string {
	operator := w.replicas[0].Operator()
	intent, err := operator.Intents.CreateIntent(w.t.Context(), &openintentv1.CreateIntentRequest{Title: name})
	require.NoError(w.t, err)
	channel, err := operator.Channels.CreateChannel(w.t.Context(), &openintentv1.CreateChannelRequest{IntentId: intent.GetId(), Name: name})
	require.NoError(w.t, err)
	return channel.GetId()
}

// disturb runs do, and records that a replica, or everyReplica, is not well while it runs.
func (w *world) disturb(replica int, do func()) {
	disturbance := Disturbance{Replica: replica, From: time.Since(w.began)}
	do()
	disturbance.To = time.Since(w.began)
	w.change(func(h *History) { h.Disturbances = append(h.Disturbances, disturbance) })
}

const (
	// floodStreams is how many streams flood a replica simultaneously.
	floodStreams = 16
	// floodWaits is how many calls of the same key wait for an inbox meanwhile.
	floodWaits = 200
)

// flood sends with one bound key on many streams, as fast as it can, and lets many of its calls wait, until the context ends.
func flood(ctx context.Context, replica *harness.Server, channel string) {
	var streams sync.WaitGroup
	for range floodStreams {
		streams.Go(func() {
			stream, err := replica.With(harness.BoundKey, "").Messages.SendMessages(ctx)
			if err != nil {
				return
			}
			streams.Go(func() {
				for stream.Send(&openintentv1.SendMessageRequest{ChannelId: channel, Payload: payloadOf("flood")}) == nil {
				}
			})
			for err == nil {
				_, err = stream.Recv()
			}
		})
	}
	for range floodWaits {
		streams.Go(func() {
			for err := error(nil); err == nil; {
				_, err = replica.With(harness.BoundKey, "").Messages.GetInbox(ctx, &openintentv1.GetInboxRequest{
					AgentId: harness.BoundAgent, WaitSeconds: proto.Float64(1),
				})
			}
		})
	}
	streams.Wait()
}

// slowest describes the slowest timed send that nothing excuses.
func (w *world) slowest() string {
	var worst time.Duration
	for _, timing := range w.history.Timings {
		if !slices.ContainsFunc(w.history.Disturbances, func(d Disturbance) bool { return d.excuses(timing) }) {
			worst = max(worst, timing.Took)
		}
	}
	return fmt.Sprintf("%d timed sends; the slowest one without an excuse took %s", len(w.history.Timings), worst)
}
