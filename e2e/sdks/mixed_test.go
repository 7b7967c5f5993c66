package sdks_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/e2e/sdks"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	openintent "openintent/sdk/go"
)

// A program in Python asks, one in TypeScript answers, and one in Go follows the channel and verifies the intent's
// log.
func TestThreeLanguagesOnOneChannel(t *testing.T) {
	python := harness.Prepare(t, root, "scripts/python-env.sh", "python-sdk", "sdk/python/requirements-test.txt")
	entry, err := filepath.Abs(filepath.Join(builtTypeScript(t), "dist/index.js"))
	require.NoError(t, err)
	packages, err := filepath.Abs(filepath.Join(root, "sdk/python/src"))
	require.NoError(t, err)
	for _, engine := range databasetest.EnginesOf(t) {
		t.Run(engine.String(), func(t *testing.T) { converse(t, engine, python, packages, entry) })
	}
}

// questions is how many questions the asker asks; the responder fails at number three.
const questions = "6"

func converse(t *testing.T, engine database.Engine, python, packages, entry string) {
	environment := append(os.Environ(), sdks.StartStage(t, engine).Environment()...)
	environment = append(environment, "PYTHONPATH="+packages)
	auditor, err := openintent.Dial(openintent.Options{
		Server: setting(environment, "OPENINTENT_SERVER"), APIKey: setting(environment, "OPENINTENT_API_KEY"),
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, auditor.Close()) }()
	ctx := t.Context()
	intent, err := auditor.CreateIntent(ctx, openintent.IntentOptions{Title: "Sums"})
	require.NoError(t, err)
	channel, err := auditor.Open(ctx, intent.ID, "sums", openintent.ChannelOptions{Audit: true})
	require.NoError(t, err)
	following, err := channel.Follow(ctx, openintent.FollowOptions{})
	require.NoError(t, err)
	defer following.Close()

	leave := start(t, environment, "node", "mixed/responder.mjs", entry)
	asker := harness.Command(".", "", "mixed/asker.py", intent.ID, "sums", "typescript-responder", questions)
	asker.Path, asker.Args[0], asker.Env = python, python, environment
	var refusal bytes.Buffer
	asker.Stderr = &refusal
	output, err := asker.Output()
	require.NoError(t, err, refusal.String())
	leave()
	require.NoError(t, channel.Close(ctx))

	answers := bytes.Split(bytes.TrimSpace(output), []byte("\n"))
	require.Len(t, answers, 6)
	require.JSONEq(t, `{"answer": {"double": 4, "text": "größer als 😀?"}}`, string(answers[2]))
	require.JSONEq(t, `{"failure": "three is too many"}`, string(answers[3]))

	// The log contains what the auditor saw on the channel, in the same order, and the log's chain is intact.
	var seen, logged []string
	for message, err := range following.Messages() {
		require.NoError(t, err)
		seen = append(seen, message.ID)
	}
	require.Len(t, seen, 12)
	kind, order, limit := "channel_message", "asc", int32(1000)
	events, err := auditor.Raw().Events.ListEvents(ctx, &openintentv1.ListEventsRequest{
		IntentId: intent.ID, EventType: &kind, Order: &order, Limit: &limit,
	})
	require.NoError(t, err)
	for _, event := range events.GetEvents() {
		logged = append(logged, event.GetPayload().AsMap()["message_id"].(string))
	}
	require.Equal(t, seen, logged)
	verified, err := auditor.Raw().Events.VerifyEvents(ctx, &openintentv1.VerifyEventsRequest{IntentId: intent.ID})
	require.NoError(t, err)
	require.True(t, verified.GetValid(), "%v", verified.GetBreaks())
}

// start starts a program of this folder. It returns a function that tells the program to leave and waits for its end.
func start(t *testing.T, environment []string, program string, arguments ...string) (leave func()) {
	t.Helper()
	responder := exec.Command(program, arguments...)
	var said bytes.Buffer
	responder.Env, responder.Stdout, responder.Stderr = environment, &said, &said
	require.NoError(t, responder.Start())
	ended := make(chan error, 1)
	go func() { ended <- responder.Wait() }()
	t.Cleanup(func() { _ = responder.Process.Kill() })
	return func() {
		t.Helper()
		require.NoError(t, responder.Process.Signal(syscall.SIGTERM))
		select {
		case err := <-ended:
			require.NoError(t, err, "the responder failed; it said:\n%s", &said)
		case <-time.After(patience):
			t.Fatal("the responder did not leave in time")
		}
	}
}
