package main

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// The team asks, claims, hands over and asks a person, whose answers it heeds, until it is interrupted.
func TestTheDemoPlays(t *testing.T) {
	clearEnvironment(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var stdout, stderr lockedBuffer
	ended := make(chan int, 1)
	go func() {
		arguments := []string{"demo", "--http-addr=127.0.0.1:0", "--grpc-addr=127.0.0.1:0", "--pace=50ms"}
		ended <- run(ctx, arguments, terminal{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr})
	}()
	says := func(words string) {
		require.Eventually(t, func() bool { return strings.Contains(stdout.String(), words) }, harness.Patience, 10*time.Millisecond, words)
	}
	says("planner asks you whether 4.1 may go out")
	says("reviewer takes a change of builder-")
	says(" has built 4.2\n")
	says("night-shift has died")

	at := regexp.MustCompile(`--server (\S+) --agent you`).FindStringSubmatch(stdout.String())
	require.NotEmpty(t, at, stdout.String())
	person, err := openintent.Dial(openintent.Options{Server: at[1], AgentID: "you"})
	require.NoError(t, err)
	defer func() { _ = person.Close() }()
	answer(t, person)
	says("you answered\n")
	says("planner asks you whether 4.2 may go out")

	interrupt()
	select {
	case code := <-ended:
		require.Equal(t, exitOK, code, stderr.String())
	case <-time.After(harness.Patience):
		require.Fail(t, "the demo does not end")
	}
}

// An interrupted demo ends at once, although its team is still at work.
func TestTheDemoEndsWhileTheTeamIsAtWork(t *testing.T) {
	clearEnvironment(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var stdout, stderr lockedBuffer
	ended := make(chan int, 1)
	go func() {
		arguments := []string{"demo", "--http-addr=127.0.0.1:0", "--grpc-addr=127.0.0.1:0", "--pace=1s"}
		ended <- run(ctx, arguments, terminal{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr})
	}()
	require.Eventually(t, func() bool { return strings.Contains(stdout.String(), "reviewer takes a change of builder-") }, harness.Patience, time.Millisecond)
	begun := time.Now()
	interrupt()
	require.Equal(t, exitOK, <-ended, stderr.String())
	require.Less(t, time.Since(begun), 10*time.Second, "agents give their handlers 10 seconds otherwise")
}

// answer answers what waits for a person.
func answer(t *testing.T, person *openintent.Client) {
	t.Helper()
	inbox, err := person.Raw().Messages.GetInbox(t.Context(), &openintentv1.GetInboxRequest{AgentId: "you"})
	require.NoError(t, err)
	for _, item := range inbox.GetItems() {
		if question := item.GetMessage(); question.GetMessageType() == openintentv1.MessageType_MESSAGE_TYPE_REQUEST {
			_, err = person.ReplyTo(t.Context(), question.GetChannelId(), question.GetId(), openintent.Reply{Payload: map[string]any{"text": "yes"}})
			require.NoError(t, err)
			return
		}
	}
	require.Fail(t, "no question waits")
}

// A port that is taken is no reason not to see the demo.
func TestTheDemoTakesAFreePort(t *testing.T) {
	h := harness.Start(t, harness.Options{})
	taken := strings.TrimPrefix(h.BaseURL(), "http://")
	require.Equal(t, "127.0.0.1:0", freeOr(taken))
	require.NoError(t, h.Stop())
	require.Equal(t, taken, freeOr(taken))
	require.Equal(t, "nonsense", freeOr("nonsense"))
}
