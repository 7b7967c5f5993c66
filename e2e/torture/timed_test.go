//go:build failover

package torture

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// timed records when calls succeed at each replica, on channels of their own: sends, asks, and deliveries of streams.
type timed struct {
	mutex sync.Mutex
	// successes are the times of each kind of call, in their order. kinds are all kinds.
	successes map[string][]time.Time
	kinds     []string
}

func (t *timed) note(kind string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.successes[kind] = append(t.successes[kind], time.Now())
}

// after says when each kind of call first succeeded after the new primary accepted writes, and which of them took too long. It waits for
// those that have not yet succeeded. While the primary acknowledges nothing, nobody can, so that does not count.
func (t *timed) after(tb testing.TB, accepted *accepting) (firsts string, late []string) {
	at := accepted.since()
	for _, kind := range t.kinds {
		var found time.Time
		require.Eventually(tb, func() bool {
			t.mutex.Lock()
			defer t.mutex.Unlock()
			index := slices.IndexFunc(t.successes[kind], func(success time.Time) bool { return !success.Before(at) })
			if index >= 0 {
				found = t.successes[kind][index]
			}
			return index >= 0
		}, harness.Patience, 20*time.Millisecond, "%s does not succeed any more", kind)
		took, paused := accepted.took(found)
		firsts += fmt.Sprintf("; %s %+.2fs", kind, took.Seconds())
		if paused > 0 {
			firsts += fmt.Sprintf(" (and %.2fs in which the primary paused)", paused.Seconds())
		}
		if took > soonEnough {
			late = append(late, kind)
		}
	}
	return firsts, late
}

// timedPatience is how long a timed call may take. It is long, so that what counts is when the server answers.
const timedPatience = time.Minute

// startTimed makes the timed calls at each replica all the time, until the senders stop. The replicas have an intent each, so that
// none learns from another one that it works again.
func (w *world) startTimed(sending, receiving context.Context) *timed {
	t := &timed{successes: make(map[string][]time.Time)}
	for number, replica := range w.replicas {
		channel := w.quietChannel(fmt.Sprintf("timed at replica %d", number+1))
		again := func(kind string, call func(ctx context.Context, c *client) error) {
			name := fmt.Sprintf("%s at %d", kind, number+1)
			t.kinds = append(t.kinds, name)
			c := w.client("timer", name)
			w.senders.Go(func() {
				for !w.stopped() && c.rest(sending, 10*time.Millisecond, 50*time.Millisecond) {
					attempt, cancel := context.WithTimeout(sending, timedPatience)
					err := call(attempt, c)
					cancel()
					if err == nil {
						t.note(name)
					} else if !transient(err) && harness.Reason(err) != messageTimeout {
						w.problem("%s failed: %v", name, err)
					}
				}
			})
		}
		again("send", func(ctx context.Context, _ *client) error {
			_, err := replica.As("timer").Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{
				ChannelId: channel, Payload: payloadOf("on time"),
			})
			return err
		})
		again("ask", func(ctx context.Context, _ *client) error {
			_, err := replica.As("timer").Messages.Ask(ctx, &openintentv1.AskRequest{
				ChannelId: channel, To: "responder", Payload: payloadOf("on time?"), TimeoutSeconds: proto.Float64(2),
			})
			return err
		})
		stream := fmt.Sprintf("stream at %d", number+1)
		t.kinds = append(t.kinds, stream)
		w.receivers.Go(func() { w.respond(receiving, replica, channel, func() { t.note(stream) }) })
	}
	return t
}

// reply answers a timed question, however often that takes.
func (w *world) reply(ctx context.Context, replica *harness.Server, question *openintentv1.Message) {
	c := w.client("responder", "answering "+question.GetId())
	for {
		_, err := replica.As(c.agent).Messages.ReplyMessage(ctx, &openintentv1.ReplyMessageRequest{
			ChannelId: question.GetChannelId(), MessageId: question.GetId(), Payload: payloadOf("in time"),
			IdempotencyKey: proto.String("the answer to " + question.GetId()),
		})
		if err == nil || !transient(err) || !c.rest(ctx, 10*time.Millisecond, 50*time.Millisecond) {
			return // what was not answered in time is asked again
		}
	}
}

// respond follows a channel as the agent that answers the timed questions there, and reports each message that was stored a moment
// ago.
func (w *world) respond(ctx context.Context, replica *harness.Server, channel string, received func()) {
	c := w.client("responder", "responding in "+channel)
	as := replica.As("responder")
	for ctx.Err() == nil {
		stream, err := as.Messages.Subscribe(ctx, &openintentv1.SubscribeRequest{
			Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: channel},
		})
		for err == nil {
			var d *openintentv1.SubscribeResponse
			if d, err = stream.Recv(); err != nil || d.GetMessage() == nil {
				continue
			}
			if time.Since(d.GetMessage().GetCreatedAt().AsTime()) < time.Second {
				received()
			}
			if d.GetMessage().GetMessageType() == openintentv1.MessageType_MESSAGE_TYPE_REQUEST {
				w.receivers.Go(func() { w.reply(ctx, replica, d.GetMessage()) })
			}
		}
		if ctx.Err() == nil && !transient(err) {
			w.problem("the stream of the timed messages ended: %v", err)
		}
		c.rest(ctx, 10*time.Millisecond, 50*time.Millisecond)
	}
}
