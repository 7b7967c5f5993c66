//go:build console

package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// perSecond is how many messages a flood sends in a second.
const perSecond = 500

// Somebody looks at a channel, and writes there, while 100,000 messages arrive, 500 in a second. OPENINTENT_TEST_MESSAGES is another number of
// messages, a multiple of 5.
func TestAFloodOfMessages(t *testing.T) {
	browser := chromium(t)
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		f := newFlood(t, h)
		_, err := f.send(t.Context(), 1)
		require.NoError(t, err)
		run(t, h, "flood.mjs", "OPENINTENT_TEST_CHROMIUM="+browser, "PERSONS_KEY="+personsKey(t, h), "CHANNEL="+f.channel,
			"MESSAGES="+os.Getenv("OPENINTENT_TEST_MESSAGES"), steering{"send": f.steered}.serve(t))
	})
}

// flood sends messages of a few agents on one channel.
type flood struct {
	operator *harness.Caller
	channel  string
	sent     int
}

func newFlood(t *testing.T, h *harness.Server) *flood {
	t.Helper()
	intent, err := h.As("loader").Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "A busy night"})
	require.NoError(t, err)
	channel, err := h.As("loader").Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{
		IntentId: intent.GetId(), Name: "flood", Options: &openintentv1.ChannelOptions{ConversationBudget: new(int64)},
	})
	require.NoError(t, err)
	return &flood{operator: h.Operator(), channel: channel.GetId()}
}

// steered sends as many messages as a script asks for.
func (f *flood) steered(r *http.Request) (any, error) {
	count, err := strconv.Atoi(r.URL.Query().Get("count"))
	if err != nil {
		return nil, err
	}
	began := time.Now()
	last, err := f.send(r.Context(), count)
	return map[string]any{"last": last, "seconds": time.Since(began).Seconds()}, err
}

// send sends messages at an even pace, and returns the id of the last one when all are stored.
func (f *flood) send(ctx context.Context, count int) (last string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := f.operator.Messages.SendMessages(ctx)
	if err != nil {
		return "", err
	}
	stored := make(chan error, 1)
	go func() {
		stored <- func() error {
			for range count {
				answer, err := stream.Recv()
				if err != nil {
					return err
				}
				if answer.GetAcknowledgement() == nil {
					return fmt.Errorf("refused: %v", answer.GetRefusal())
				}
				last = answer.GetAcknowledgement().GetMessageId()
			}
			return nil
		}()
	}()
	paced := f.pace(ctx, count, stream.Send)
	if paced != nil {
		cancel()
	}
	return last, errors.Join(paced, <-stored)
}

// pace hands messages over when they are due.
func (f *flood) pace(ctx context.Context, count int, send func(*openintentv1.SendMessageRequest) error) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	began := time.Now()
	for sent := 0; sent < count; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		for due := min(count, 1+int(time.Since(began).Seconds()*perSecond)); sent < due; sent++ {
			message, err := f.next()
			if err != nil {
				return err
			}
			if err := send(message); err != nil {
				return err
			}
		}
	}
	return nil
}

// next makes the next message: mostly a sentence, and sometimes figures.
func (f *flood) next() (*openintentv1.SendMessageRequest, error) {
	f.sent++
	sender := []string{"triage", "classifier", "summarizer", "router"}[f.sent/3%4]
	said := map[string]any{"text": fmt.Sprintf("Ticket %d: looked at, and given to the team for payments.", f.sent)}
	if f.sent%5 == 0 {
		said = map[string]any{"ticket": f.sent, "label": "billing", "confidence": 0.25}
	}
	payload, err := structpb.NewStruct(said)
	return &openintentv1.SendMessageRequest{ChannelId: f.channel, Sender: &sender, Payload: payload}, err
}
