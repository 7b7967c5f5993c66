package mcp

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
)

// A payload comes whole, however many parts it has and wherever a character would be cut.
func TestAPayloadIsReadInParts(t *testing.T) {
	long := strings.Repeat("añ€😀", wholeRoom/3)
	for _, content := range []object{{"text": ""}, {"text": "short"}, {"text": long}, {"n": 1.0}, {"deep": object{"words": long}}} {
		payload, err := structpb.NewStruct(content)
		require.NoError(t, err)
		message := &openintentv1.Message{Id: "m", Payload: payload}
		want, isText := contentOf(payload)
		var got strings.Builder
		for since := ""; ; {
			part, err := whole(message, since, wholeRoom)
			require.NoError(t, err)
			switch {
			case isText:
				require.LessOrEqual(t, len(*part.Text), wholeRoom)
				got.WriteString(*part.Text)
			default:
				require.Nil(t, part.Text)
				got.WriteString(string(part.Payload) + part.Begin + part.Part)
			}
			if part.Cursor == "" {
				break
			}
			require.NotEqual(t, since, part.Cursor)
			require.Equal(t, len(want), part.Cut)
			since = part.Cursor
		}
		require.Equal(t, want, got.String())
		for _, since := range []string{"-1", "x", "1e3", "99999999999999999999", "9999999"} {
			_, err := whole(message, since, wholeRoom)
			require.Equal(t, "INVALID_FIELD", doors.RefusalOf(err).Reason, since)
		}
	}
}

// Of a channel's messages to the caller, those count as read that the answer shows: the newest of the channel, or the first after a message.
func TestWhatAnAnswerLeavesOutIsNotRead(t *testing.T) {
	for cursor, read := range map[string][]string{"": {"b", "c"}, "before": {"a", "b"}} {
		log := []*openintentv1.Message{{Id: "before"}}
		for _, id := range []string{"a", "b", "c"} {
			log = append(log, &openintentv1.Message{Id: id, Sender: "ben", To: new("ann"), Subject: new(strings.Repeat("x", answerRoom*2/5))})
		}
		a := &asked{log: log}
		_, err := sessionOf(a).readPart(t.Context(), readArguments{Channel: "c", Cursor: cursor})
		require.NoError(t, err)
		require.Equal(t, [][]string{read}, a.read)
	}
}

type object = map[string]any

func TestAnAnswerHoldsAsManyMessagesAsFit(t *testing.T) {
	row := func(id string, bytes int) messageAnswer {
		return messageAnswer{ID: id, Subject: strings.Repeat("x", bytes)}
	}
	ids := func(messages []messageAnswer) (all string) {
		for _, m := range messages {
			all += m.ID
		}
		return all
	}
	for _, c := range []struct {
		messages    []messageAnswer
		first, last string
	}{
		{nil, "", ""},
		{[]messageAnswer{row("a", 10), row("b", 10), row("c", 10)}, "abc", "abc"},
		{[]messageAnswer{row("a", 1500), row("b", 500), row("c", 1500)}, "ab", "bc"},
		{[]messageAnswer{row("a", 9000), row("b", 10), row("c", 9000)}, "a", "c"},
	} {
		require.Equal(t, c.first, ids(thoseThatFit(c.messages, false)))
		require.Equal(t, c.last, ids(thoseThatFit(c.messages, true)))
	}
}
