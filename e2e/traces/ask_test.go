package traces

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
)

const (
	root    = "../.."
	askName = "openintent.v1.MessageService/Ask"
)

// An agent in Python asks, and one in TypeScript answers. The question, what the server does with it and with the answer, and the
// handler are one trace.
func TestAnAskIsOneTrace(t *testing.T) {
	python := harness.Prepare(t, root, "scripts/python-env.sh", "python-sdk", "sdk/python/requirements-test.txt")
	harness.Prepare(t, root, "scripts/node.sh", "scripts/typescript-tests.sh")
	databasetest.EachURL(t, func(t *testing.T, url string) { oneTrace(t, url, python) })
}

func oneTrace(t *testing.T, url, python string) {
	collector := StartCollector(t)
	collector.Listen(t)
	h := harness.StartProcess(t, harness.Options{URL: url})
	intent, err := h.Operator().Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "Sums"})
	require.NoError(t, err)
	_, err = h.Operator().Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{IntentId: intent.GetId(), Name: "sums"})
	require.NoError(t, err)

	environment := append(os.Environ(), "OPENINTENT_SERVER="+h.GRPCAddress(), "OPENINTENT_URL="+h.BaseURL(),
		"OPENINTENT_API_KEY="+harness.Key, "OPENINTENT_AGENT_ID=", "PYTHONPATH="+absolute(t, root+"/sdk/python/src"))
	responder := harness.Command(".", "node", "ask/responder.mjs", absolute(t, root+"/sdk/typescript/dist/index.js"))
	var answered, complaints bytes.Buffer
	responder.Env, responder.Stdout, responder.Stderr = environment, &answered, &complaints
	require.NoError(t, responder.Start())
	ended := make(chan error, 1)
	go func() { ended <- responder.Wait() }()
	t.Cleanup(func() { _ = responder.Process.Kill() })

	// The inbox brings what was asked before. What is asked from now on is delivered.
	collector.Await(t, "openintent.v1.SubscriptionService/CreateSubscription", func(Span) bool { return true })
	asker := exec.CommandContext(patient(t), python, "ask/asker.py", intent.GetId(), "sums", "typescript-responder")
	var refusal bytes.Buffer
	asker.Env, asker.Stderr = environment, &refusal
	asked, err := asker.Output()
	require.NoError(t, err, refusal.String())
	require.NoError(t, responder.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-ended:
		require.NoError(t, err, complaints.String())
	case <-time.After(harness.Patience):
		t.Fatal("the responder did not leave in time")
	}

	ask := named(t, asked, "openintent.ask", nil)
	require.Empty(t, ask.Parent)
	handle := named(t, answered.Bytes(), "openintent.handle", &ask)
	reply := named(t, answered.Bytes(), "openintent.reply", &handle)

	call := collector.Await(t, askName, Below(ask))
	require.Equal(t, "python-asker", call.Attributes["openintent.agent"])
	collector.Await(t, "queue", Below(call))
	collector.Await(t, "commit", Below(call))
	delivered := collector.Await(t, "deliver", Below(ask))
	require.Equal(t, call.Attributes["messaging.message.id"], delivered.Attributes["messaging.message.id"])
	require.Equal(t, "typescript-responder", delivered.Attributes["openintent.agent"])
	answer := collector.Await(t, "openintent.v1.MessageService/ReplyMessage", Below(reply))
	collector.Await(t, "commit", Below(answer))
}

// printed is a span as a program prints it.
type printed struct{ Name, Trace, ID, Parent string }

// named returns the span of this name that a program printed, below a parent if one is given.
func named(t *testing.T, lines []byte, name string, parent *Span) Span {
	t.Helper()
	for line := range bytes.Lines(lines) {
		if line[0] != '{' {
			continue // what the agent says to people
		}
		var one printed
		require.NoError(t, json.Unmarshal(line, &one), string(line))
		if one.Name == name && (parent == nil || one.Parent == parent.ID && one.Trace == parent.Trace) {
			return Span{Name: one.Name, Trace: one.Trace, ID: one.ID, Parent: one.Parent}
		}
	}
	t.Fatalf("no such span %s in\n%s", name, lines)
	return Span{}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	found, err := filepath.Abs(path)
	require.NoError(t, err)
	return found
}
