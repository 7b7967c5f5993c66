package testkit

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintent "openintent/sdk/go"
	"openintent/sdk/go/openintenttest"
)

// dataAgent answers with a version, and says to everybody that it was asked if it is chatty.
func dataAgent(server *openintenttest.Server, version string, chatty bool) *openintent.Agent {
	agent := server.Client("data-agent").Agent(openintent.AgentOptions{Log: slog.New(slog.DiscardHandler)})
	agent.OnMessage("clarification", func(ctx context.Context, message *openintent.Message) (any, error) {
		if message.MessageType != openintent.Request || version == "" {
			return nil, nil
		}
		if chatty {
			if _, err := agent.Client().SendMessage(ctx, message.ChannelID, openintent.Draft{
				MessageType: openintent.Broadcast, Payload: map[string]any{"text": "I was asked something!"},
			}); err != nil {
				return nil, err
			}
		}
		return map[string]any{"answer": version}, nil
	})
	return agent
}

// written has a conversation, and writes its story with the program.
func written(t *testing.T) string {
	t.Helper()
	server := start(t)
	server.Run(dataAgent(server, "v2.3", false))
	channel := open(t, server, "asker")
	_, err := channel.Ask(t.Context(), "data-agent", question)
	require.NoError(t, err)
	server.Advance(time.Minute)
	_, err = channel.Ask(t.Context(), "data-agent", map[string]any{"question": "Are you sure?"})
	require.NoError(t, err)
	server.Settle()
	export := exec.CommandContext(t.Context(), harness.Executable(t), "export", server.Intent().ID, "--story",
		"--server", server.Address(), "--api-key", openintent.DevelopmentKey)
	story, err := export.Output()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "story.jsonl")
	require.NoError(t, os.WriteFile(file, story, 0o600))
	return file
}

func TestAStoryIsPlayed(t *testing.T) {
	file := written(t)
	for name, row := range map[string]struct {
		version string
		chatty  bool
		matches func(recorded, said map[string]any) bool
		kinds   []openintenttest.DifferenceKind
		says    string
	}{
		"against the same agent": {version: "v2.3"},
		"against one with another answer": {
			version: "v2.4", kinds: []openintenttest.DifferenceKind{"said", "said"},
			says: `said: data-agent said {"answer":"v2.4"} instead of {"answer":"v2.3"} to asker on clarification`,
		},
		"where another answer may do": {
			version: "v2.4", matches: func(recorded, said map[string]any) bool { return len(recorded) == len(said) },
		},
		"against one that talks too much": {
			version: "v2.3", chatty: true, kinds: []openintenttest.DifferenceKind{"said", "said"},
			says: `said: data-agent said {"text":"I was asked something!"} to everyone on clarification, as the record does not`,
		},
		"against one that says nothing": {
			kinds: []openintenttest.DifferenceKind{"not_said", "not_said"},
			says:  `not_said: data-agent did not say {"answer":"v2.3"} to asker on clarification`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := start(t)
			begun := server.Now()
			report := server.Play(server.LoadStory(file), dataAgent(server, row.version, row.chatty), row.matches)
			var kinds []openintenttest.DifferenceKind
			for _, difference := range report.Differences {
				kinds = append(kinds, difference.Kind)
			}
			require.Equal(t, row.kinds, kinds, "%v", report.Differences)
			if row.says != "" {
				require.Equal(t, row.says, report.Differences[0].String())
			}
			require.Empty(t, report.LeftOut)
			require.GreaterOrEqual(t, server.Now().Sub(begun), time.Minute, "time passes as in the record")
		})
	}
}

// A message that woke the agent in the record and does not wake it here is a difference. So is one that wakes it only here.
func TestAStorySaysWhoWasWoken(t *testing.T) {
	file := written(t)
	server := start(t)
	story := server.LoadStory(file)
	require.Equal(t, []string{"data-agent"}, story.Lines[0].Woken)
	story.Lines[0].Woken = nil
	report := server.Play(story, dataAgent(server, "v2.3", false), nil)
	require.Len(t, report.Differences, 1)
	require.Equal(t, openintenttest.DifferenceWoken, report.Differences[0].Kind)
}

// If the agent does not ask the others, the report names the answers that they gave in the record and could not give now.
func TestWhatAnswersNothingIsLeftOut(t *testing.T) {
	server := start(t)
	told := &openintenttest.Story{
		Title: "Choose a schema", Agents: []openintenttest.StoryAgent{{ID: "data-agent"}, {ID: "archivist"}},
		Channels: []openintenttest.StoryChannel{{Name: "clarification", MemberPolicy: "intent"}},
		Lines: []openintenttest.Line{
			{ID: "1", Channel: "clarification", Sender: "data-agent", To: "archivist", MessageType: "request", Payload: question},
			{ID: "2", Channel: "clarification", Sender: "archivist", To: "data-agent", MessageType: "response", Payload: question, Answers: "1"},
		},
	}
	report := server.Play(told, dataAgent(server, "", false), nil)
	require.Equal(t, told.Lines[1:], report.LeftOut)
	require.Len(t, report.Differences, 1)
	require.Equal(t, openintenttest.DifferenceNotSaid, report.Differences[0].Kind)
}

// The story gives an answer for which the agent waits in its handler only after time has passed.
func TestTimePassesWhileTheAgentAwaitsAnAnswer(t *testing.T) {
	server := start(t)
	agent := server.Client("data-agent").Agent(openintent.AgentOptions{Log: slog.New(slog.DiscardHandler)})
	agent.OnMessage("clarification", func(ctx context.Context, message *openintent.Message) (any, error) {
		channel, err := agent.Client().GetChannel(ctx, message.ChannelID)
		if err != nil {
			return nil, err
		}
		found, err := channel.Ask(ctx, "archivist", question)
		if err != nil {
			return nil, err
		}
		return found.Payload, nil
	})
	answer := map[string]any{"answer": "v2.3"}
	told := &openintenttest.Story{
		Title: "Choose a schema", Agents: []openintenttest.StoryAgent{{ID: "asker"}, {ID: "data-agent"}, {ID: "archivist"}},
		Channels: []openintenttest.StoryChannel{{Name: "clarification", MemberPolicy: "intent"}},
		Lines: []openintenttest.Line{
			{ID: "1", Channel: "clarification", Sender: "asker", To: "data-agent", MessageType: "request", Payload: question, Woken: []string{"data-agent"}},
			{ID: "2", Channel: "clarification", Sender: "data-agent", To: "archivist", MessageType: "request", Payload: question},
			{
				ID: "3", Channel: "clarification", Sender: "archivist", To: "data-agent", MessageType: "response", Payload: answer, Answers: "2",
				AfterSeconds: 20,
			},
			{
				ID: "4", Channel: "clarification", Sender: "data-agent", To: "asker", MessageType: "response", Payload: answer, Answers: "1",
				AfterSeconds: 20,
			},
		},
	}
	begun := server.Now()
	report := server.Play(told, agent, nil)
	require.Empty(t, report.Differences)
	require.Empty(t, report.LeftOut)
	require.GreaterOrEqual(t, server.Now().Sub(begun), 20*time.Second)
}
