package messaging

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
)

// edited is what the model knows of one message: all it ever said.
type edited struct {
	sent    *wireMessage
	said    []string
	deleted bool
}

// editModel says what edits and deletions leave in a channel.
type editModel struct {
	h        *house
	id       string
	messages []*edited
	words    int
}

func (m *editModel) text() string {
	m.words++
	return fmt.Sprint("text ", m.words)
}

func (m *editModel) any(t *rapid.T) *edited {
	if len(m.messages) == 0 {
		m.say(t)
	}
	return rapid.SampledFrom(m.messages).Draw(t, "message")
}

func (m *editModel) say(t *rapid.T) {
	text := m.text()
	m.messages = append(m.messages, &edited{sent: m.h.say(t, "alice", m.id, text), said: []string{text}})
}

func (m *editModel) edit(t *rapid.T) {
	one, text := m.any(t), m.text()
	if rapid.Bool().Draw(t, "nothing new") {
		text = one.said[len(one.said)-1]
	}
	_, err := m.h.tryEdit(as("alice"), one.sent, &updateRequest{Payload: content(text)})
	if one.deleted {
		require.Equal(t, "MESSAGE_DELETED", fault.From(err).Reason)
		return
	}
	require.NoError(t, err)
	if text != one.said[len(one.said)-1] {
		one.said = append(one.said, text)
	}
}

func (m *editModel) tryToEdit(t *rapid.T) {
	_, err := m.h.tryEdit(as("bob"), m.any(t).sent, &updateRequest{Payload: content("forged")})
	require.Equal(t, "NOT_THE_SENDER", fault.From(err).Reason)
}

func (m *editModel) erase(t *rapid.T) {
	one := m.any(t)
	m.h.erase(t, rapid.SampledFrom([]string{"alice", "creator"}).Draw(t, "deletes"), one.sent)
	one.deleted = true
}

func (m *editModel) compare(t *rapid.T) {
	listed := m.h.list(t, "bob", &listRequest{ChannelId: m.id})
	require.Len(t, listed, len(m.messages))
	for i, one := range m.messages {
		got, now := listed[i], one.said[len(one.said)-1]
		require.Equal(t, one.sent.GetId(), got.GetId())
		require.Empty(t, cmpMessages(got, m.h.get(t, m.id, got.GetId())))
		require.Equal(t, one.deleted, got.DeletedAt != nil)
		if one.deleted {
			require.Empty(t, textOf(got))
			require.Empty(t, m.h.said(t, "bob", got))
			continue
		}
		require.Equal(t, now, textOf(got))
		require.Equal(t, one.said, m.h.said(t, "bob", got))
		require.Equal(t, len(one.said) > 1, got.Revision != nil)
		if got.Revision != nil {
			require.EqualValues(t, len(one.said), got.GetRevision())
			require.Len(t, m.h.annotations(t, got), len(one.said)-1)
		}
	}
	require.EqualValues(t, len(m.messages), m.h.channel(t, m.id).GetMessageCount())
}

// Whatever is sent, edited and deleted, in any order: the lists and the revisions say what the model says.
func TestEditsLeaveWhatTheModelSays(t *testing.T) {
	databasetest.SearchBriefly(t)
	eachEngine(t, func(t *testing.T, h *house) {
		rapid.Check(t, func(t *rapid.T) {
			m := &editModel{h: h, id: h.open(t)}
			actions := []func(t *rapid.T){m.say, m.edit, m.edit, m.edit, m.tryToEdit, m.erase}
			for range rapid.IntRange(1, 4).Draw(t, "rounds") {
				for range rapid.IntRange(1, 8).Draw(t, "steps") {
					actions[rapid.IntRange(0, len(actions)-1).Draw(t, "action")](t)
				}
				m.compare(t)
			}
		})
	})
}
