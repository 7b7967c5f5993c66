package story

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatIsWrittenIsRead(t *testing.T) {
	told := &Story{
		Story: Version, Title: "Choose a <schema>", BeganAt: time.Date(2026, 11, 30, 7, 0, 0, 0, time.UTC),
		Channels: []Channel{{Name: "clarification", MemberPolicy: "explicit", Members: []string{"asker", "data-agent"}}},
		Agents:   []Agent{{ID: "asker"}, {ID: "data-agent", Role: "data"}},
		Lines: []Line{
			{
				ID: "msg_1", Channel: "clarification", Sender: "asker", To: "role:data", MessageType: "request",
				Payload: map[string]any{"question": "which schema?"}, Metadata: map[string]any{"run": 1.0}, Subject: "The schema", Kind: "question",
				Priority: "high", Mentions: []string{"editor"}, Collect: map[string]any{"quorum": 2.0}, Blocks: "halted", Seconds: 30,
				Woken: []string{"data-agent"}, Dispositions: map[string]string{"data-agent": "responded"},
			},
			{
				ID: "msg_2", AfterSeconds: 2.5, Channel: "clarification", Sender: "data-agent", To: "asker", MessageType: "response",
				Payload: map[string]any{"answer": "v2.3"}, Answers: "msg_1", Parent: "msg_1",
			},
		},
	}
	var text strings.Builder
	require.NoError(t, told.Write(&text))
	require.Equal(t, 3, strings.Count(text.String(), "\n"))
	require.Contains(t, text.String(), "<schema>", "people read it")
	read, err := Read(strings.NewReader("\n" + text.String() + "\n"))
	require.NoError(t, err)
	require.Equal(t, told, read)
}

func TestWhatIsNoStory(t *testing.T) {
	for text, wrong := range map[string]string{
		"":                         "a story begins with a line that has story: 1",
		"{\"id\": \"msg_1\"}\n":    "write one with: openintent export INTENT --story",
		"no JSON\n":                "a story begins with a line",
		"{\"story\": 2}\n":         "a story begins with a line",
		"{\"story\": 1}\n{\"id\"}": "message 1 of the story: ",
	} {
		_, err := Read(strings.NewReader(text))
		require.ErrorContains(t, err, wrong, text)
	}
}
