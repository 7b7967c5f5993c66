package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// bridge sends messages on one stream without waiting for each answer. It sends to the channels of a place in turn,
// each message under its own idempotency key. When the stream ends, the bridge begins another and sends the
// unanswered messages again, in the same order.
type bridge struct {
	name     string
	place    place
	client   openintentv1.MessageServiceClient
	stopping atomic.Bool
	// sent is how many messages were sent at least once. Only the goroutine that sends on the stream uses it.
	sent int
	// ids are the ids of the answered messages, in order; answered is their number.
	ids      []string
	answered atomic.Int64
}

// run sends until stopping is set and everything is answered.
func (b *bridge) run(ctx context.Context) error {
	for {
		err := b.stream(ctx)
		if err == nil || harness.Code(err) != codes.Unavailable || ctx.Err() != nil {
			return err
		}
	}
}

// stream sends on one stream. It returns without an error when every message is answered.
func (b *bridge) stream(ctx context.Context) error {
	stream, err := b.client.SendMessages(ctx, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	var sender sync.WaitGroup
	defer sender.Wait()
	from := len(b.ids)
	sender.Go(func() {
		for n := from; n < b.sent || !b.stopping.Load(); n++ {
			b.sent = max(b.sent, n+1)
			if stream.Send(b.message(n)) != nil {
				return // the receiving side reports why
			}
		}
		_ = stream.CloseSend()
	})
	for {
		answer, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case answer.GetRefusal() != nil:
			return fmt.Errorf("message %d of %s was refused: %v", len(b.ids), b.name, answer.GetRefusal())
		}
		b.ids = append(b.ids, answer.GetAcknowledgement().GetMessageId())
		b.answered.Store(int64(len(b.ids)))
	}
}

func (b *bridge) channelOf(n int) string { return b.place.channels[n%len(b.place.channels)] }

func (b *bridge) message(n int) *openintentv1.SendMessageRequest {
	key := fmt.Sprintf("%s-%d", b.name, n)
	return &openintentv1.SendMessageRequest{ChannelId: b.channelOf(n), IdempotencyKey: &key, Payload: payload(key)}
}

// goOn returns when this many more messages have been answered.
func (b *bridge) goOn(t *testing.T, more int64) {
	t.Helper()
	until := b.answered.Load() + more
	require.Eventually(t, func() bool { return b.answered.Load() >= until }, harness.Patience, time.Millisecond)
}

// holds checks, when the bridge has finished, that every message is there once, with the id from its answer, and in
// order on its channel.
func (b *bridge) holds(t *testing.T, h *harness.Server) {
	t.Helper()
	require.Len(t, b.ids, b.sent)
	expected, found := make(map[string][]string), make(map[string][]string)
	for n, id := range b.ids {
		expected[b.channelOf(n)] = append(expected[b.channelOf(n)], id)
	}
	for _, channel := range b.place.channels {
		for _, message := range allMessages(t, h.Operator(), channel) {
			if message.GetSender() == b.name {
				found[channel] = append(found[channel], message.GetId())
			}
		}
	}
	require.Equal(t, expected, found)
}

// TestPipelinedMessagesSurviveKills kills and stops the program while messages are in transit on several streams.
func TestPipelinedMessagesSurviveKills(t *testing.T) {
	harness.EachProcess(t, func(t *testing.T, h *harness.Server) {
		p := newPlace(t, h)
		var bridges []*bridge
		ends := make(chan error, 2)
		for _, name := range []string{"bridge-a", "bridge-b"} {
			b := &bridge{name: name, place: p, client: h.As(name).Messages}
			bridges = append(bridges, b)
			go func() { ends <- b.run(t.Context()) }()
		}
		for _, end := range []func() error{
			func() error { h.Kill(); return nil }, func() error { h.Kill(); return nil }, h.Stop,
		} {
			for _, b := range bridges {
				b.goOn(t, 400)
			}
			require.NoError(t, end())
			h.Start(t)
		}
		for _, b := range bridges {
			b.goOn(t, 400)
			b.stopping.Store(true)
		}
		for range bridges {
			select {
			case err := <-ends:
				require.NoError(t, err)
			case <-time.After(harness.Patience):
				t.Fatal("a bridge does not finish")
			}
		}
		for _, b := range bridges {
			b.holds(t, h)
			t.Logf("%s sent %d messages", b.name, b.sent)
		}
		require.NoError(t, h.Stop())
		storage(t, h.DatabaseURL).holds(t)
	})
}
