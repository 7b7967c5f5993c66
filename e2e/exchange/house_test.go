package exchange

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// place is an intent with two channels.
type place struct {
	*harness.Server
	intent   string
	channels [2]string
}

func newPlace(t *testing.T, h *harness.Server) *place {
	t.Helper()
	alice := h.As("alice")
	intent, err := alice.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "Exchange"})
	require.NoError(t, err)
	p := &place{Server: h, intent: intent.GetId()}
	for i := range p.channels {
		channel, err := alice.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{IntentId: p.intent, Name: fmt.Sprint("talk ", i)})
		require.NoError(t, err)
		p.channels[i] = channel.GetId()
	}
	return p
}

func text(words string) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{"text": structpb.NewStringValue(words)}}
}

func (p *place) send(number int64, channel int, words string) *openintentv1.NumberedRequest {
	return &openintentv1.NumberedRequest{Number: number, Request: &openintentv1.NumberedRequest_Send{Send: &openintentv1.SendMessageRequest{
		ChannelId: p.channels[channel], Payload: text(words), IdempotencyKey: proto.String(fmt.Sprint("key ", words)),
	}}}
}

func (p *place) ask(number int64, of string) *openintentv1.NumberedRequest {
	return &openintentv1.NumberedRequest{Number: number, Request: &openintentv1.NumberedRequest_Ask{Ask: &openintentv1.AskRequest{
		ChannelId: p.channels[0], To: of, Payload: text("?"), TimeoutSeconds: proto.Float64(60),
	}}}
}

// words returns the texts on a channel, in the order in which they were stored.
func (p *place) words(t *testing.T, channel int) (found []string) {
	t.Helper()
	page, err := p.Operator().Messages.ListMessages(t.Context(), &openintentv1.ListMessagesRequest{ChannelId: p.channels[channel]})
	require.NoError(t, err)
	for _, m := range page.GetMessages() {
		found = append(found, m.GetPayload().GetFields()["text"].GetStringValue())
	}
	return found
}

// streams returns how many streams are open at the server.
func (p *place) streams(t *testing.T) (open int) {
	t.Helper()
	_, after, found := strings.Cut(string(p.Operator().REST(t, "GET", "/metrics", "").Body), "\nopenintent_streams_open ")
	require.True(t, found)
	_, err := fmt.Sscan(after, &open)
	require.NoError(t, err)
	return open
}

// checkEvery is how often a test looks whether something has happened.
const checkEvery = 10 * time.Millisecond

// line is an exchange of a test, with the answers that have come.
type line struct {
	t        *testing.T
	stream   openintentv1.ExchangeService_ExchangeClient
	answered map[int64]*openintentv1.NumberedAnswer
}

func (p *place) open(t *testing.T, as *harness.Caller) *line {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	t.Cleanup(cancel)
	stream, err := as.Exchange.Exchange(ctx)
	require.NoError(t, err)
	return &line{t: t, stream: stream, answered: make(map[int64]*openintentv1.NumberedAnswer)}
}

func (l *line) put(requests ...*openintentv1.NumberedRequest) {
	l.t.Helper()
	require.NoError(l.t, l.stream.Send(&openintentv1.ExchangeRequest{Requests: requests}))
}

// answer waits for the answer to a request.
func (l *line) answer(number int64) *openintentv1.NumberedAnswer {
	l.t.Helper()
	for l.answered[number] == nil {
		require.NoError(l.t, l.hear())
	}
	return l.answered[number]
}

// reason waits for the answer to a request that is refused.
func (l *line) reason(number int64) string {
	l.t.Helper()
	return harness.Reason(refusalOf(l.answer(number)))
}

// hear takes the next answers. Each request has one.
func (l *line) hear() error {
	some, err := l.stream.Recv()
	for _, answer := range some.GetAnswers() {
		require.Nil(l.t, l.answered[answer.GetNumber()], "answered twice: %d", answer.GetNumber())
		l.answered[answer.GetNumber()] = answer
	}
	return err
}

// end takes answers until the stream ends, and returns how it did.
func (l *line) end() (err error) {
	for err == nil {
		err = l.hear()
	}
	return err
}
