package testkit

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintent "openintent/sdk/go"
	"openintent/sdk/go/openintenttest"
)

func TestAPeerAnswers(t *testing.T) {
	server := start(t)
	peer := server.Peer("data-agent", "").Answers(map[string]any{"answer": "v2.3"})
	channel := open(t, server, "asker")
	answer, err := channel.Ask(t.Context(), "data-agent", question)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"answer": "v2.3"}, answer.Payload)
	require.Equal(t, question, peer.AssertHeard(nil).Payload)
	server.AssertSaid(server.Intent().ID, openintenttest.Match{
		From: "asker", To: "data-agent", Channel: "clarification", Type: openintent.Request, Payload: question,
		Disposition: map[string]openintent.Disposition{"data-agent": openintent.DispositionResponded},
	})
	server.AssertSaid(server.Intent().ID, openintenttest.Match{From: "data-agent", Payload: map[string]any{"answer": "v2.3"}, Answers: answer.CorrelationID})
	server.AssertNotSaid(server.Intent().ID, openintenttest.Match{From: "data-agent", Type: openintent.Notify})
	require.Len(t, server.Said(server.Intent().ID, openintenttest.Match{From: "data-agent"}), 1)
	peer.Answers(map[string]any{"answer": "v2.4"}) // the last line counts
	answer, err = channel.Ask(t.Context(), "data-agent", question)
	require.NoError(t, err)
	require.Equal(t, "v2.4", answer.Payload["answer"])
}

func TestAPeerAnswersAfterAWhile(t *testing.T) {
	server := start(t)
	peer := server.Peer("data-agent", "").AnswersAfter(20*time.Second, map[string]any{"answer": "v2.3"})
	came := ask(t, open(t, server, "asker"), openintent.Question{To: "data-agent", Payload: question, Timeout: 30 * time.Second})
	peer.AssertHeard(nil)
	server.Advance(19 * time.Second)
	require.Empty(t, came)
	server.Advance(time.Second)
	got := <-came
	require.NoError(t, got.err)
	require.Equal(t, "v2.3", got.answer.Payload["answer"])
}

func TestAPeerAnswersTwice(t *testing.T) {
	server := start(t)
	server.Peer("data-agent", "").AnswersTwice(map[string]any{"answer": 1}, map[string]any{"answer": 2})
	answers, err := open(t, server, "asker").AskAll(t.Context(), openintent.Question{To: "data-agent", Payload: question, MinResponses: 2})
	require.NoError(t, err)
	require.Len(t, answers, 2)
	require.NotEqual(t, answers[0].Payload, answers[1].Payload)
}

// A request that one of a role has taken and left behind comes to the next one when the claim is over.
func TestAPeerClaimsAndDies(t *testing.T) {
	server := start(t)
	dying := server.Peer("first", "builder").ClaimsAndDies(time.Minute)
	came := ask(t, open(t, server, "asker"), openintent.Question{
		To: "role:builder", Payload: question, Timeout: 10 * time.Minute, Conversation: openintent.Conversation{Collect: openintent.CollectOne},
	})
	dying.AssertHeard(nil)
	server.Peer("second", "builder").Answers(map[string]any{"answer": "from the second"})
	server.Settle()
	require.Empty(t, came, "the first one holds the claim")
	server.Advance(2 * time.Minute)
	got := <-came
	require.NoError(t, got.err)
	require.Equal(t, "second", got.answer.Sender)
}

// An assertion that does not hold says what was said instead.
func TestAssertionsSayWhatWasSaid(t *testing.T) {
	t.Setenv("OPENINTENT_PROGRAM", harness.Executable(t))
	failing := &recorded{TB: t}
	server := openintenttest.Start(failing)
	_, err := open(t, server, "asker").Broadcast(t.Context(), map[string]any{"text": "hello"})
	require.NoError(t, err)
	intent := server.Intent().ID
	wanted := openintenttest.Match{From: "asker", Payload: map[string]any{"text": "hello"}}
	line := `asker to * on clarification, broadcast: {"text":"hello"}`
	require.Equal(t, line, server.AssertSaid(intent, wanted).String())
	require.Equal(t, `From "asker", Payload {"text":"hello"}`, wanted.String())
	require.Equal(t, "any message", openintenttest.Match{}.String())
	require.Empty(t, server.Said(intent, openintenttest.Match{From: "asker", To: "nobody"}))
	require.Empty(t, server.Said(intent, openintenttest.Match{Payload: map[string]any{"text": "Hello"}}))
	require.Len(t, server.Said(intent, openintenttest.Match{Where: func(said openintenttest.Said) bool { return said.To == "*" }}), 1)
	require.Empty(t, failing.said)
	server.AssertNotSaid(intent, wanted)
	require.Contains(t, failing.said, line)
}

// The messages do not fit into one page of the server's answers, and the kit lists all of them.
func TestEverythingThatWasSaidIsListed(t *testing.T) {
	server := start(t)
	channel := open(t, server, "asker")
	padding := strings.Repeat("x", 250_000)
	for n := range 14 {
		_, err := channel.Broadcast(t.Context(), map[string]any{"number": n, "padding": padding})
		require.NoError(t, err)
	}
	var numbers []any
	for _, said := range server.Said(server.Intent().ID, openintenttest.Match{}) {
		numbers = append(numbers, said.Payload["number"])
	}
	require.Equal(t, []any{0., 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12., 13.}, numbers)
}

// recorded is a test that only notes that it fails.
type recorded struct {
	testing.TB
	said string
}

func (r *recorded) Errorf(format string, arguments ...any) {
	r.said += fmt.Sprintf(format, arguments...)
}

// The time of a server that was started so flows by itself.
func TestTimeMayFlow(t *testing.T) {
	server := start(t, openintenttest.FlowingTime(), openintenttest.Arguments("--retention=1h"))
	server.Peer("data-agent", "").StaysSilent()
	_, err := open(t, server, "asker").AskWith(t.Context(), openintent.Question{To: "data-agent", Payload: question, Timeout: time.Millisecond})
	var late *openintent.MessageTimeoutError
	require.ErrorAs(t, err, &late)
}

// An agent that is at work may still say something, so an assertion that nothing was said waits for it.
func TestAnAssertionWaitsForWhoIsAtWork(t *testing.T) {
	t.Setenv("OPENINTENT_PROGRAM", harness.Executable(t))
	failing := &recorded{TB: t}
	server := openintenttest.Start(failing)
	goOn := make(chan struct{})
	peer := server.Peer("data-agent", "").Does(func(context.Context, *openintent.Message) (any, error) {
		<-goOn
		return question, nil
	})
	_, err := open(t, server, "asker").Send(t.Context(), openintent.Draft{To: "data-agent", MessageType: openintent.Request, Payload: question})
	require.NoError(t, err)
	peer.AssertHeard(nil)
	go func() {
		defer close(goOn)
		for range 100 { // longer than it takes to read what was said
			server.Now()
		}
	}()
	server.AssertNotSaid(server.Intent().ID, openintenttest.Match{From: "data-agent"})
	require.Contains(t, failing.said, "this was said, and nobody should say")
}
