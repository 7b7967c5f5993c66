//go:build harnesses

package harnesses

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintent "openintent/sdk/go"
)

func TestMain(m *testing.M) { harness.Main(m) }

func TestHarnesses(t *testing.T) {
	results := newTable()
	defer results.print()
	for _, k := range kinds {
		t.Run(strings.ReplaceAll(k.name, " ", ""), func(t *testing.T) {
			for _, way := range []string{overHTTP, onStdio} {
				t.Run(way, func(t *testing.T) { results.add(t, k, way) })
			}
		})
	}
}

// The agents of two harnesses meet: Codex asks OpenCode.
func TestOneHarnessAsksAnother(t *testing.T) {
	p := newPlace(t)
	codex, opencode := kinds[0], kinds[1]
	answering := newHome(t, opencode, overHTTP, harness.Key, &p.line.Clients, map[string]Play{promptAnswer: Answers(1)},
		"researcher", "data-agent")
	answerer := answering.start(t, opencode.run(promptAnswer))
	_, ok := answering.model.Await(answerer.ended, waits(0))
	require.True(t, ok, "it joins")
	asking := newHome(t, codex, overHTTP, harness.Key, &p.line.Clients, map[string]Play{promptAsk: Asks("data-agent")})
	asker := asking.start(t, codex.run(promptAsk))
	require.Contains(t, asker.finish(), "The answer is: "+answer)
	require.Contains(t, answerer.finish(), "I have answered 1 questions.")
}

// place is a server with the channel of the story.
type place struct {
	*harness.Server
	line    *harness.Line // an address that stays the same when the server starts again
	channel *openintent.Channel
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{Server: harness.StartProcess(t, harness.Options{})}
	p.line = p.Line(t)
	client := p.client(t, "asker")
	intent, err := client.OpenIntent(t.Context(), openintent.IntentOptions{Title: intentTitle})
	require.NoError(t, err)
	p.channel, err = client.Open(t.Context(), intent.ID, channelName, openintent.ChannelOptions{})
	require.NoError(t, err)
	return p
}

func (p *place) client(t *testing.T, agent string) *openintent.Client {
	t.Helper()
	client, err := openintent.Dial(openintent.Options{Server: p.line.GRPCAddress(), APIKey: harness.Key, AgentID: agent})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// ask asks the harness's agent something and waits for the answer. It returns when the question was sent.
func (p *place) ask(t *testing.T, text string) (sent time.Time, answered <-chan error) {
	t.Helper()
	result := make(chan error, 1)
	sent = time.Now()
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		got, err := p.channel.AskWith(ctx, openintent.Question{
			To: "researcher", Payload: map[string]any{"text": text}, Timeout: patience,
		})
		if err == nil && got.Payload["text"] != answer {
			err = fmt.Errorf("the answer is %v", got.Payload)
		}
		result <- err
	}()
	return sent, result
}

// hasWaiter returns once a call is under way, which is that of the harness, because nobody else is there.
func (p *place) hasWaiter(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		return underWay.Match(p.Operator().REST(t, "GET", "/metrics", "").Body)
	}, patience, 10*time.Millisecond, "nobody waits")
}

var underWay = regexp.MustCompile(`(?m)^openintent_requests_in_flight [1-9]`)

// waits fits the turn after which the model waits, with so many questions answered.
func waits(answered int) func(Turn) bool {
	return func(turn Turn) bool {
		replies := 0
		for _, s := range turn.Steps {
			if s.Tool == "reply" {
				replies++
			}
		}
		last := lastOf(turn.Steps)
		return replies == answered && last.Result != "" && (last.Tool == "join" && answered == 0 || last.Tool == "reply")
	}
}

// The agent of a harness joins, waits, is asked and answers; it goes on when the server has started again in between, if the harness can.
func answers(t *testing.T, k kind, way string) (took time.Duration) {
	p := newPlace(t)
	questions := 2
	if k.forgets == way {
		questions = 1
	}
	h := newHome(t, k, way, harness.Key, &p.line.Clients, map[string]Play{promptAnswer: Answers(questions)})
	back := make(chan struct{})
	h.model.Think = func(turn Turn) {
		if last := lastOf(turn.Steps); last.Tool == "wait" && !isMessage.MatchString(last.Result) {
			select { // the server is away
			case <-back:
			case <-t.Context().Done():
			}
		}
	}
	running := h.start(t, k.run(promptAnswer))

	_, ok := h.model.Await(running.ended, waits(0))
	require.True(t, ok, "it joins")
	p.hasWaiter(t)
	sent, answered := p.ask(t, question)
	turn, ok := h.model.Await(running.ended, has("wait", question))
	require.True(t, ok, "it is asked")
	took = turn.At.Sub(sent)
	require.NoError(t, <-answered)

	if k.forgets == way {
		require.Contains(t, running.finish(), "I have answered 1 questions.")
		return took
	}
	_, ok = h.model.Await(running.ended, waits(1))
	require.True(t, ok, "it waits again")
	p.hasWaiter(t)
	p.Kill()
	p.Start(t)
	close(back)
	_, answered = p.ask(t, "And Q2?")
	_, ok = h.model.Await(running.ended, has("wait", "And Q2?"))
	require.True(t, ok, "it is asked after the restart")
	require.NoError(t, <-answered)
	require.Contains(t, running.finish(), "I have answered 2 questions.")
	require.Zero(t, running.code)
	return took
}

// The agent of a harness asks an agent of the Go SDK.
func asks(t *testing.T, k kind, way string) {
	p := newPlace(t)
	other := p.client(t, "data-agent").Agent(openintent.AgentOptions{ID: "data-agent"})
	other.OnMessage(channelName, func(context.Context, *openintent.Message) (any, error) {
		return map[string]any{"text": answer}, nil
	})
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { left <- other.Run(ctx) }()
	defer func() {
		leave()
		require.NoError(t, <-left)
	}()
	h := newHome(t, k, way, harness.Key, &p.line.Clients, map[string]Play{promptAsk: Asks("data-agent")})
	running := h.start(t, k.run(promptAsk))
	require.Contains(t, running.finish(), "The answer is: "+answer)
}

// A user whose key is wrong sees something, or nothing.
func wrongKey(t *testing.T, k kind, way string) (said string) {
	p := newPlace(t)
	h := newHome(t, k, way, "wrong-key", &p.line.Clients, map[string]Play{promptAnswer: Answers(1)})
	running := h.start(t, k.run(promptAnswer))
	printed := running.finish()
	listed := h.start(t, k.list).finish()
	t.Logf("a wrong key, %s:\n%s\n%s:\n%s", strings.Join(k.run(promptAnswer), " "), printed, strings.Join(k.list, " "), listed)
	require.NotContains(t, printed, "I have answered")
	return printed + listed
}

// A harness whose run is over is woken by the command of the page, and answers.
func woken(t *testing.T, k kind, way string) (took time.Duration) {
	p := newPlace(t)
	h := newHome(t, k, way, harness.Key, &p.line.Clients, map[string]Play{
		promptAnswer: Answers(0), promptInbox: ReadsInbox,
	})
	require.Contains(t, h.start(t, k.run(promptAnswer)).finish(), "I have answered 0 questions.")
	waking := h.start(t, []string{"sh", "-c", Wake(t, k.name)}, "OPENINTENT_SERVER="+p.line.GRPCAddress())
	sent, answered := p.ask(t, question)
	turn, ok := h.model.Await(waking.ended, func(turn Turn) bool { return strings.Contains(turn.Prompt, promptInbox) })
	require.True(t, ok, "it is woken")
	require.NoError(t, <-answered)
	return turn.At.Sub(sent)
}
