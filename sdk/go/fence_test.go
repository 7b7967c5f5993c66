package openintent

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// The mailbox shows messages as the server's doors do.
func TestTheFenceIsThatOfTheDoors(t *testing.T) {
	text, err := os.ReadFile("../scenarios/vectors/fence.json")
	require.NoError(t, err)
	var vectors []struct {
		Name    string
		Message struct {
			ID, Sender, To, Subject, Kind string
			ChannelID                     string    `json:"channel_id"`
			SenderKind                    string    `json:"sender_kind"`
			MessageType                   string    `json:"message_type"`
			CorrelationID                 string    `json:"correlation_id"`
			ThreadID                      string    `json:"thread_id"`
			CreatedAt                     time.Time `json:"created_at"`
			ExpiresAt                     time.Time `json:"expires_at"`
			Edited, Deleted               bool
			Payload                       map[string]any
		}
		Room      int
		Attention *struct {
			Policy, Reason string
			ClaimedBy      string `json:"claimed_by"`
		}
		Cursor *string
		Line   string
	}
	require.NoError(t, json.Unmarshal(text, &vectors))
	require.NotEmpty(t, vectors)
	for _, vector := range vectors {
		given := vector.Message
		message := &Message{
			ID: given.ID, ChannelID: given.ChannelID, Sender: given.Sender, SenderKind: given.SenderKind, To: given.To,
			MessageType: MessageType(given.MessageType), CorrelationID: given.CorrelationID, ThreadID: given.ThreadID,
			CreatedAt: given.CreatedAt, ExpiresAt: given.ExpiresAt, Payload: given.Payload,
			Conversation: Conversation{Subject: given.Subject, Kind: given.Kind},
		}
		if given.Edited {
			message.EditedAt = given.CreatedAt
		}
		if given.Deleted {
			message.DeletedAt = given.CreatedAt
		}
		if vector.Cursor != nil {
			start, _ := strconv.Atoi(*vector.Cursor)
			line, _ := fencePart(message, start, vector.Room)
			require.Equal(t, vector.Line, line, vector.Name)
			continue
		}
		var attention *Attention
		if judged := vector.Attention; judged != nil {
			attention = &Attention{Policy: Policy(judged.Policy), Reason: judged.Reason}
			if judged.ClaimedBy != "" {
				attention.Claim = &AttentionClaim{Holder: judged.ClaimedBy}
			}
		}
		require.Equal(t, vector.Line, fence(message, attention, vector.Room), vector.Name)
	}
}

func longMessage(payload map[string]any) *Message {
	return &Message{ID: "msg_1", ChannelID: "chan_1", Sender: "bob", MessageType: Notify, CreatedAt: mailAt, Payload: payload}
}

func TestALongMessageIsCutAndSaysHowToReadIt(t *testing.T) {
	hard := strings.Repeat("\x01\"é😀", 2000)
	for _, payload := range []map[string]any{{"text": hard}, {"list": []any{hard}}} {
		text := fitted(longMessage(payload), nil, leastMaxChars)
		length := utf8.RuneCountInString(text)
		require.LessOrEqual(t, length, leastMaxChars)
		require.Greater(t, length, leastMaxChars-20)
		line, note, _ := strings.Cut(text, "\n")
		require.Equal(t, `This message is cut: read("msg_1") shows it from its beginning, in parts.`, note)
		require.Contains(t, line, `"cut_from_bytes":`)
	}
	loud := longMessage(map[string]any{"text": hard})
	loud.Subject, loud.Kind = strings.Repeat("\x01", 200), strings.Repeat("\x01", 64)
	loud.To, loud.ThreadID = strings.Repeat("t", 261), strings.Repeat("t", 128)
	require.LessOrEqual(t, utf8.RuneCountInString(fitted(loud, nil, leastMaxChars)), leastMaxChars)
	loud.Sender = strings.Repeat("\x01", 400)
	require.LessOrEqual(t, utf8.RuneCountInString(fitted(loud, nil, leastMaxChars)), leastMaxChars)
}

func TestTheMessageThatFitsIsShownWhole(t *testing.T) {
	short := longMessage(map[string]any{"text": "Hello"})
	whole := fence(short, nil, wholeRoom)
	require.Equal(t, whole, fitted(short, nil, len(whole)))
}

func TestThePartsOfAMessageMakeTheWhole(t *testing.T) {
	var content strings.Builder
	for n := range 2000 {
		content.WriteString(strconv.Itoa(n) + "\n\"é😀")
	}
	for _, payload := range []map[string]any{{"text": content.String()}, {"a": content.String(), "b": []any{content.String()}}} {
		var whole strings.Builder
		for cursor := 0; ; {
			text := fittedPart(longMessage(payload), cursor, leastMaxChars)
			require.LessOrEqual(t, utf8.RuneCountInString(text), leastMaxChars)
			line, note, _ := strings.Cut(text, "\n")
			var shown fenced
			require.NoError(t, json.Unmarshal([]byte(line), &shown))
			if shown.Text != nil {
				whole.WriteString(*shown.Text)
			}
			whole.WriteString(shown.Begin + shown.Part)
			if shown.Cursor == "" {
				require.Empty(t, note)
				break
			}
			require.Equal(t, `There is more: read("msg_1", "`+shown.Cursor+`") goes on.`, note)
			next, err := strconv.Atoi(shown.Cursor)
			require.NoError(t, err)
			require.Greater(t, next, cursor)
			cursor = next
		}
		expected, _ := contentOf(payload)
		require.Equal(t, expected, whole.String())
	}
}
