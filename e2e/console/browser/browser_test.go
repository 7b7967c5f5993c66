package browser

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
	openintent "openintent/sdk/go"
)

const root = "../../.."

// person is who looks at the console.
const person = "anna"

func TestMain(m *testing.M) {
	databasetest.OneEngine()
	harness.Main(m)
}

// chromium returns the path of a browser, once what the scripts need is installed.
func chromium(t *testing.T) string {
	t.Helper()
	harness.Prepare(t, root, "scripts/node-env.sh", "console")
	return harness.Prepare(t, root, "scripts/chromium.sh")
}

func TestAPersonAnswersAnAgent(t *testing.T) {
	browser := chromium(t)
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		channel := deployments(t, h)
		ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
		defer cancel()
		answered := make(chan *openintent.Message, 1)
		go func() {
			defer close(answered)
			answer, err := channel.AskWith(ctx, openintent.Question{
				To: person, Payload: map[string]any{"text": "May I deploy?", "version": "1.4.2"}, Timeout: harness.Patience,
			})
			if err != nil {
				t.Errorf("asking: %v", err)
				return
			}
			answered <- answer
		}()
		run(t, h, "short.mjs", "OPENINTENT_TEST_CHROMIUM="+browser, "PERSONS_KEY="+personsKey(t, h), "CHANNEL="+channel.ID)
		answer := <-answered
		require.NotNil(t, answer)
		require.Equal(t, person, answer.Sender)
		require.Equal(t, map[string]any{"text": "Yes, go ahead."}, answer.Payload)
		require.Equal(t, "human", answer.SenderKind)
	})
}

func TestAnOperatorLooksAround(t *testing.T) {
	browser := chromium(t)
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		run(t, h, "operator.mjs", "OPENINTENT_TEST_CHROMIUM="+browser)
	})
}

func TestSomebodyLeadsAnIntent(t *testing.T) {
	browser := chromium(t)
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		run(t, h, "intents.mjs", "OPENINTENT_TEST_CHROMIUM="+browser)
	})
}

// deployments makes a channel with the SDK, as the agent that asks there.
func deployments(t *testing.T, h *harness.Server) *openintent.Channel {
	t.Helper()
	client, err := openintent.Dial(openintent.Options{Server: h.GRPCAddress(), APIKey: harness.Key, AgentID: "deployer"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	intent, err := h.As("deployer").Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "Release 1.4"})
	require.NoError(t, err)
	channel, err := client.Open(t.Context(), intent.GetId(), "deployments", openintent.ChannelOptions{})
	require.NoError(t, err)
	return channel
}

// personsKey makes a person's key.
func personsKey(t *testing.T, h *harness.Server) string {
	t.Helper()
	issued, err := h.As("").Keys.CreateKey(t.Context(), &openintentv1.CreateKeyRequest{Label: "Anna", Agents: []string{person}, Human: true})
	require.NoError(t, err)
	return issued.GetSecret()
}

// run runs a script with what it needs to know of a server, and returns what it prints, which also stands in the test's log at once.
func run(t *testing.T, h interface{ BaseURL() string }, script string, environment ...string) string {
	t.Helper()
	command := harness.Command(root, "scripts/node.sh", "node", "e2e/console/browser/"+script)
	command.Env = append(os.Environ(), append(environment, "OPENINTENT_URL="+h.BaseURL(), "OPENINTENT_API_KEY="+harness.Key)...)
	output := &printed{t: t}
	command.Stdout, command.Stderr = output, output
	require.NoError(t, command.Run(), "the script says what is wrong")
	return output.all.String()
}

// printed is what a program prints. It also goes to the log of a test.
type printed struct {
	t   *testing.T
	all bytes.Buffer
}

func (p *printed) Write(text []byte) (int, error) {
	p.t.Logf("%s", bytes.TrimSpace(text))
	return p.all.Write(text)
}
