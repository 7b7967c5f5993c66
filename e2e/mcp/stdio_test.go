package mcp

import (
	"bytes"
	"context"
	"os/exec"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// beside is an agent whose harness has started `openintent mcp`.
type beside struct {
	agent
	updates chan string
	log     *programLog
}

// programLog is what a program has said.
type programLog struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (s *programLog) Write(data []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.text.Write(data)
}

func (s *programLog) String() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.text.String()
}

// start starts the built program for an agent and connects to it.
func start(t *testing.T, h *house, address, name, revision string) *beside {
	t.Helper()
	return startWith(t, h, harness.Key, address, name, revision)
}

// startWith does what start does with a key.
func startWith(t *testing.T, h *house, key, address, name, revision string) *beside {
	t.Helper()
	b := &beside{updates: make(chan string, 1000), log: &programLog{}}
	command := exec.Command(harness.Executable(t), "mcp", "--server", address, "--api-key", key, "--agent", name)
	command.Stderr = b.log
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, request *sdk.ResourceUpdatedNotificationRequest) {
			b.updates <- request.Params.URI
		},
	})
	session, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: command}, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(t, err, b.log)
	b.ClientSession, b.direct = session, h.As(name)
	t.Cleanup(func() { require.NoError(t, session.Close(), b.log) })
	return b
}

// hears waits until an update of this resource comes, past others.
func (b *beside) hears(t *testing.T, address string) {
	t.Helper()
	for deadline := time.After(harness.Patience); ; {
		select {
		case updated := <-b.updates:
			if updated == address {
				return
			}
		case <-deadline:
			require.FailNow(t, "no update came", b.log)
		}
	}
}

func TestTheProgramServesOnStandardInputAndOutput(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		s := newScene(t, h)
		for _, revision := range []string{newest, older} {
			bob := start(t, h, h.GRPCAddress(), "bob", revision)
			answer, _ := bob.call(t, "whoami", nil)
			require.Equal(t, "bob", answer["agent"])
			inbox := "openintent://agents/bob/inbox"
			require.NoError(t, bob.Subscribe(t.Context(), &sdk.SubscribeParams{URI: inbox}))
			sent := s.says(t, "which?")
			if revision == newest { // its client does not wait until it hears
				require.Eventually(t, func() bool {
					s.says(t, "once more")
					return len(bob.updates) > 0
				}, harness.Patience, 50*time.Millisecond)
			}
			bob.hears(t, inbox)
			bob.call(t, "reply", arguments{"message": sent.GetId(), "text": "the second"})
			require.Contains(t, bob.log.String(), "connected; waiting for the client's calls")
		}
	})
}

// The program outlives the server: calls fail meanwhile, and later ones work; who hears of a resource hears of it again.
func TestTheProgramSurvivesARestart(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		s := newScene(t, h)
		line := h.Line(t)
		bob := start(t, h, line.GRPCAddress(), "bob", older)
		channel := "openintent://channels/" + s.channel
		require.NoError(t, bob.Subscribe(t.Context(), &sdk.SubscribeParams{URI: channel}))
		require.NoError(t, bob.Subscribe(t.Context(), &sdk.SubscribeParams{URI: channel}), "to ask again is no mistake")
		require.NoError(t, h.Stop())
		require.Equal(t, "UNAVAILABLE", bob.refused(t, "whoami", nil).Refused)
		_, err := bob.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: channel})
		require.Error(t, err)
		h.Start(t)
		require.Eventually(t, func() bool {
			result, _ := bob.try(t, "whoami", nil)
			return !result.IsError
		}, harness.Patience, 10*time.Millisecond)
		bob.hears(t, channel) // it may have missed something
		s.says(t, "still there?")
		bob.hears(t, channel)
		require.Contains(t, bob.log.String(), "the server is away")
		require.Contains(t, bob.log.String(), "the server is back")

		require.NoError(t, bob.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: channel}))
	})
}

// A client that cannot be served is told why, because its harness does not show what the program says on standard error.
func TestTheProgramTellsItsClientWhyItDoesNotServe(t *testing.T) {
	h := &house{harness.Start(t, harness.Options{})}
	for key, reason := range map[string]string{"wrong-key": "API key", "${OPENINTENT_API_KEY}": "variable"} {
		command := exec.Command(harness.Executable(t), "mcp", "--server", h.GRPCAddress(), "--api-key", key, "--agent", "bob")
		client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
		_, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: command}, &sdk.ClientSessionOptions{ProtocolVersion: older})
		require.ErrorContains(t, err, reason)
	}
}

// An update ends for a resource that its reader may see no more.
func TestTheProgramTellsThatAResourceIsGone(t *testing.T) {
	h := &house{harness.Start(t, harness.Options{})}
	s := newScene(t, h)
	bob := start(t, h, h.GRPCAddress(), "bob", older)
	for _, address := range []string{nowhere, "openintent://agents/alice/inbox"} {
		require.ErrorContains(t, bob.Subscribe(t.Context(), &sdk.SubscribeParams{URI: address}), "Resource not found")
	}
	channel := "openintent://channels/" + s.channel
	require.NoError(t, bob.Subscribe(t.Context(), &sdk.SubscribeParams{URI: channel}))
	s.removes(t, "bob")
	bob.hears(t, channel)
	_, err := bob.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: channel})
	require.ErrorContains(t, err, "Resource not found")
}

func TestTheProgramRefusesToBeNobody(t *testing.T) {
	h := &house{harness.Start(t, harness.Options{})}
	refused := func(arguments ...string) (code int, text string) {
		command := exec.Command(harness.Executable(t), append([]string{"mcp"}, arguments...)...)
		said, err := command.CombinedOutput()
		require.Error(t, err)
		return command.ProcessState.ExitCode(), string(said)
	}
	code, text := refused("--server", h.GRPCAddress(), "--api-key", harness.Key)
	require.Equal(t, 2, code)
	require.Equal(t, "openintent: the key belongs to no agent; name the agent to act as with --agent or OPENINTENT_AGENT_ID\n", text)
	code, text = refused("--server", h.GRPCAddress(), "--api-key", "wrong", "--agent", "bob")
	require.Equal(t, 5, code)
	require.Contains(t, text, "[API_KEY_UNKNOWN]")
	code, text = refused("--server", h.GRPCAddress(), "--api-key", "${OPENINTENT_API_KEY}", "--agent", "bob")
	require.Equal(t, 5, code)
	require.Contains(t, text, "the name of a variable and not its value")
	code, text = refused("--server", "127.0.0.1:1", "--api-key", "k", "--agent", "bob", "--patience", "1ms")
	require.Equal(t, 6, code)
	require.Contains(t, text, "could not be reached")
}

// The door that a harness starts says that a model speaks, also when the key is a person's.
func TestTheDoorBesideCarriesNoPersons(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		issued, err := h.Operator().Keys.CreateKey(t.Context(), &openintentv1.CreateKeyRequest{Label: "bob", Agents: []string{"bob"}, Human: true})
		require.NoError(t, err)
		person := h.With(issued.GetSecret(), "")
		intent, err := person.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "Release"})
		require.NoError(t, err)
		channel, err := person.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{IntentId: intent.GetId(), Name: "talk"})
		require.NoError(t, err)
		bob := startWith(t, h, issued.GetSecret(), h.GRPCAddress(), "bob", newest)
		bob.call(t, "send", arguments{"channel": channel.GetId(), "text": "through the door"})
		_, err = person.Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{ChannelId: channel.GetId(), Payload: &structpb.Struct{}})
		require.NoError(t, err)
		page, err := person.Messages.ListMessages(t.Context(), &openintentv1.ListMessagesRequest{ChannelId: channel.GetId()})
		require.NoError(t, err)
		require.Len(t, page.GetMessages(), 2)
		require.Nil(t, page.GetMessages()[0].SenderKind)
		require.Equal(t, "human", page.GetMessages()[1].GetSenderKind())
	})
}
