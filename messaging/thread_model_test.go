package messaging

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"openintent/internal/database/databasetest"
)

// threadModel says which messages there are on a channel, which thread each is in, and who may see it.
type threadModel struct {
	h       *house
	channel string
	entries []modelled
}

// modelled is a message as the model knows it. root is the place of its thread's first message among the entries, and named tells
// whether it names its thread.
type modelled struct {
	m     *wireMessage
	root  int
	named bool
}

var threadAgents = []string{"alice", "bob", "carol"}

func (e modelled) shownTo(agent string) bool {
	return e.m.GetSender() == agent || e.m.GetTo() == "" || e.m.GetTo() == agent
}

func (m *threadModel) draw(t *rapid.T, name string) string {
	return rapid.SampledFrom(threadAgents).Draw(t, name)
}

// send sends a notify or a request, under a message that its sender sees or under none.
func (m *threadModel) send(t *rapid.T) {
	sender := m.draw(t, "sender")
	r := &sendRequest{ChannelId: m.channel, Payload: content(fmt.Sprint(len(m.entries)))}
	if to := m.draw(t, "to"); to != sender {
		r.To = &to
		if rapid.Bool().Draw(t, "asks") {
			r.MessageType = request.Enum()
		}
	}
	added := modelled{root: len(m.entries)}
	if len(m.entries) > 0 && rapid.Bool().Draw(t, "has a parent") {
		parent := m.entries[rapid.IntRange(0, len(m.entries)-1).Draw(t, "parent")]
		r.ParentId = &parent.m.Id
		if added.root, added.named = parent.root, true; !parent.shownTo(sender) {
			_, err := m.h.messaging.SendMessage(as(sender), r)
			require.Error(t, err)
			return
		}
	}
	added.m = m.h.send(t, sender, r)
	m.entries = append(m.entries, added)
}

// answer answers a request.
func (m *threadModel) answer(t *rapid.T) {
	var asked []modelled
	for _, e := range m.entries {
		if e.m.GetMessageType() == request {
			asked = append(asked, e)
		}
	}
	if len(asked) == 0 {
		return
	}
	question := rapid.SampledFrom(asked).Draw(t, "question")
	reply := m.h.reply(t, question.m.GetTo(), m.channel, question.m.GetId(), fmt.Sprint(len(m.entries)))
	m.entries = append(m.entries, modelled{reply, question.root, question.named})
}

// compare compares what each agent reads of each thread with the model.
func (m *threadModel) compare(t *rapid.T) {
	for place, named := range m.entries {
		root := m.entries[named.root].m
		require.Equal(t, named.named, named.m.ThreadId != nil)
		if named.named {
			require.Equal(t, root.GetId(), named.m.GetThreadId())
		}
		for _, agent := range []string{m.draw(t, "reads"), m.draw(t, "reads, too")} {
			var below []string
			for other, e := range m.entries {
				if e.root == named.root && other != named.root && e.shownTo(agent) {
					below = append(below, textOf(e.m))
				}
			}
			thread, err := m.h.messaging.GetThread(as(agent), &threadRequest{ChannelId: m.channel, MessageId: named.m.GetId()})
			if !named.shownTo(agent) && (place != named.root || len(below) == 0) {
				require.Error(t, err)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, m.entries[named.root].shownTo(agent), thread.GetRoot() != nil)
			require.Equal(t, below, append([]string(nil), textsOf(thread.GetMessages())...))
			listed := textsOf(m.h.list(t, agent, &listRequest{ChannelId: m.channel, ThreadId: &root.Id}))
			if thread.GetRoot() != nil { // otherwise an empty page does not lead on
				m.compareBounded(t, agent, named.m.GetId(), below)
			}
			if thread.GetRoot() != nil {
				below = slices.Insert(below, 0, textOf(root))
			}
			require.Equal(t, below, append([]string(nil), listed...))
			m.h.messaging.lookedAt = rapid.SampledFrom([]int{1, 2, 5}).Draw(t, "looked at by a list")
			listed, _ = m.h.listOn(t, agent, &listRequest{ChannelId: m.channel, ThreadId: &root.Id})
			m.h.messaging.lookedAt = maxLookedAt
			require.Equal(t, below, append([]string(nil), listed...))
		}
	}
}

// compareBounded reads a thread in pages that look at few messages.
func (m *threadModel) compareBounded(t *rapid.T, agent, id string, below []string) {
	defer func(usually int) { m.h.messaging.lookedAt = usually }(m.h.messaging.lookedAt)
	m.h.messaging.lookedAt = rapid.SampledFrom([]int{1, 2, 5}).Draw(t, "looked at")
	var read []string
	req := &threadRequest{ChannelId: m.channel, MessageId: id, Limit: ptr(int32(rapid.IntRange(1, 4).Draw(t, "limit")))}
	for next := true; next; next = req.Cursor != nil {
		page, err := m.h.messaging.GetThread(as(agent), req)
		require.NoError(t, err)
		read = append(read, textsOf(page.GetMessages())...)
		req.Cursor = page.NextCursor
	}
	require.Equal(t, below, read)
}

// Whatever is sent under whatever, and answered: each agent reads the threads that the model says.
func TestThreadsAreWhatTheModelSays(t *testing.T) {
	databasetest.SearchBriefly(t)
	eachEngine(t, func(t *testing.T, h *house) {
		rapid.Check(t, func(t *rapid.T) {
			m := &threadModel{h: h, channel: h.open(t)}
			for range rapid.IntRange(1, 12).Draw(t, "steps") {
				if rapid.IntRange(0, 3).Draw(t, "action") == 0 {
					m.answer(t)
				} else {
					m.send(t)
				}
			}
			m.compare(t)
		})
	})
}
