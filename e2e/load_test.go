package e2e

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// load is a set of senders who never give up. Each sends one message after the other under an idempotency key and
// repeats the call until it is acknowledged, whatever happens to the servers meanwhile. Some messages have no key and
// are sent once. A message's payload identifies it.
type load struct {
	place    place
	senders  sync.WaitGroup
	stopping atomic.Bool

	mutex sync.Mutex
	// acknowledged holds the acknowledged messages by their payload; unsure holds the messages without a key whose
	// call failed.
	acknowledged map[string]*openintentv1.Message
	unsure       map[string]bool
	problems     []string
	// progress is closed and replaced at each acknowledgement.
	progress chan struct{}
}

// place is where a load sends: two channels, one of them audited, in each of two intents.
type place struct {
	intents  []string
	channels []string
}

func newPlace(t *testing.T, h *harness.Server) place {
	t.Helper()
	var p place
	operator := h.Operator()
	for range 2 {
		intent, err := operator.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "load"})
		require.NoError(t, err)
		p.intents = append(p.intents, intent.GetId())
		for _, audit := range []bool{false, true} {
			channel, err := operator.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{
				IntentId: intent.GetId(), Name: fmt.Sprint("audited ", audit),
				Options: &openintentv1.ChannelOptions{Audit: &audit, MaxMessages: proto.Int64(1_000_000)},
			})
			require.NoError(t, err)
			p.channels = append(p.channels, channel.GetId())
		}
	}
	return p
}

// startLoad begins sending with sendersEach senders for each of the servers, which share one database. A sender
// repeats a failed call on the next server.
func startLoad(t *testing.T, p place, sendersEach int, servers ...*harness.Server) *load {
	t.Helper()
	l := &load{place: p, acknowledged: make(map[string]*openintentv1.Message), unsure: make(map[string]bool), progress: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	for number := range sendersEach * len(servers) {
		l.senders.Go(func() { l.send(ctx, number, servers) })
	}
	return l
}

// send runs one sender.
func (l *load) send(ctx context.Context, number int, servers []*harness.Server) {
	agent := fmt.Sprintf("sender-%d", number)
	for round := 0; !l.stopping.Load(); round++ {
		key := fmt.Sprintf("%s-%d", agent, round)
		request := &openintentv1.SendMessageRequest{
			ChannelId: l.place.channels[(number+round)%len(l.place.channels)], Payload: payload(key),
		}
		if round%4 == 0 {
			l.sendOnce(ctx, servers[(number+round)%len(servers)].As(agent), key, request)
			continue
		}
		request.IdempotencyKey = &key
		for repeats := round % 2; repeats >= 0; repeats-- { // sometimes repeats a call that was acknowledged
			message, err := l.insist(ctx, number+round+repeats, servers, agent, request)
			if err != nil {
				l.fail("message %s: %v", key, err)
				return
			}
			l.acknowledge(key, message)
		}
	}
}

// sendOnce sends a message that cannot be repeated.
func (l *load) sendOnce(ctx context.Context, as *harness.Caller, key string, request *openintentv1.SendMessageRequest) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	message, err := as.Messages.SendMessage(ctx, request, grpc.WaitForReady(true))
	if err == nil {
		l.acknowledge(key, message)
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.unsure[key] = true
}

// insist repeats a call until it is acknowledged. It gives up when the server's answer says that repeating is
// useless.
func (l *load) insist(
	ctx context.Context, first int, servers []*harness.Server, agent string, request *openintentv1.SendMessageRequest,
) (*openintentv1.Message, error) {
	for attempt := first; ; attempt++ {
		attemptContext, cancel := context.WithTimeout(ctx, 15*time.Second)
		message, err := servers[attempt%len(servers)].As(agent).Messages.SendMessage(attemptContext, request, grpc.WaitForReady(true))
		cancel()
		switch harness.Code(err) {
		case codes.OK:
			return message, nil
		case codes.Unavailable, codes.DeadlineExceeded:
			if ctx.Err() == nil {
				continue
			}
		}
		return nil, err
	}
}

func (l *load) acknowledge(key string, message *openintentv1.Message) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if earlier := l.acknowledged[key]; earlier != nil && !proto.Equal(earlier, message) {
		l.problems = append(l.problems, fmt.Sprintf("key %s returned %v first and %v later", key, earlier, message))
	}
	l.acknowledged[key] = message
	close(l.progress)
	l.progress = make(chan struct{})
}

func (l *load) fail(format string, args ...any) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
	close(l.progress)
	l.progress = make(chan struct{})
}

// goOn returns when this many more messages have been acknowledged.
func (l *load) goOn(t *testing.T, more int) {
	t.Helper()
	patience := time.After(harness.Patience)
	until := -1
	for {
		l.mutex.Lock()
		count, progress, problems := len(l.acknowledged), l.progress, l.problems
		l.mutex.Unlock()
		require.Empty(t, problems)
		if until < 0 {
			until = count + more
		}
		if count >= until {
			return
		}
		select {
		case <-progress:
		case <-patience:
			t.Fatalf("the load does not go on: %d of %d messages are acknowledged", count, until)
		}
	}
}

// stop lets each sender finish its message.
func (l *load) stop(t *testing.T) {
	t.Helper()
	l.stopping.Store(true)
	done := make(chan struct{})
	go func() {
		l.senders.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(harness.Patience):
		t.Fatal("the senders do not come to an end")
	}
	require.Empty(t, l.problems)
}

// holds checks, after stop, that every acknowledged message is there exactly once, that no other message is there
// more than once, and that the logs verify. It returns the number of messages that are there although their only call
// failed. It ignores messages whose payload has no text, such as a test's own answers.
func (l *load) holds(t *testing.T, h *harness.Server) (unknown int) {
	t.Helper()
	operator := h.Operator()
	found := make(map[string]string) // ids by key
	for _, channel := range l.place.channels {
		for _, message := range allMessages(t, operator, channel) {
			key := message.GetPayload().GetFields()["text"].GetStringValue()
			if key == "" {
				continue
			}
			require.NotContains(t, found, key, "this message is there twice")
			found[key] = message.GetId()
		}
	}
	for key, message := range l.acknowledged {
		require.Equal(t, message.GetId(), found[key], "message %s was acknowledged", key)
		delete(found, key)
	}
	for key := range found {
		require.True(t, l.unsure[key], "message %s is there and nobody sent it", key)
	}
	for _, intent := range l.place.intents {
		verified, err := operator.Events.VerifyEvents(t.Context(), &openintentv1.VerifyEventsRequest{IntentId: intent})
		require.NoError(t, err)
		require.True(t, verified.GetChainValid(), "the chain of events is broken: %v", verified.GetBreaks())
	}
	t.Logf("%d messages were acknowledged, and %d of %d are stored although their senders do not know it",
		len(l.acknowledged), len(found), len(l.unsure))
	return len(found)
}

// allMessages lists a whole channel from its beginning, page by page.
func allMessages(t *testing.T, as *harness.Caller, channel string) (all []*openintentv1.Message) {
	t.Helper()
	since := unknownMessage
	for {
		page, err := as.Messages.ListMessages(t.Context(), &openintentv1.ListMessagesRequest{ChannelId: channel, Since: &since})
		require.NoError(t, err)
		if len(page.GetMessages()) == 0 {
			return all
		}
		all = append(all, page.GetMessages()...)
		since = page.GetNextSince()
	}
}
