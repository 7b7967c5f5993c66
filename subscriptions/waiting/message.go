package waiting

import (
	"cmp"
	"slices"
	"time"

	"openintent/messaging/attention"
	"openintent/messaging/message"
)

// Entry is what stands at a place of an intent's log, as the subscriber reads it.
type Entry struct {
	IntentNo, ChannelNo, Position    int64
	IntentID, ChannelID, ChannelName string
	// Message is nil for what is no message. Attention is what it asks of the subscriber; nil for nothing.
	Message   *message.Message
	Attention *attention.Judgement
}

// Message is a message that waits for a delivery together with others.
type Message struct {
	IntentNo, Position, ChannelNo int64
	// Thread is the position of the thread's first message if the message is a reply, and 0 otherwise.
	Thread int64
	Sender string
	// Digest tells whether it waits for a digest.
	Digest bool
	// Size is in bytes.
	Size int64
	// SentAt is when it was sent, or gathered if the log's time lay ahead of the clock then.
	SentAt time.Time
}

// conversation is what one sender writes in one channel or thread. Its zero value stands for the subscription's digest.
type conversation struct {
	intentNo, channelNo, thread int64
	sender                      string
}

func (m *Message) conversation() conversation {
	if m.Digest {
		return conversation{}
	}
	return conversation{m.IntentNo, m.ChannelNo, m.Thread, m.Sender}
}

// waits returns what is kept of an entry's message while it waits.
func (e Entry) waits(now time.Time) Message {
	m := e.Message
	w := Message{IntentNo: e.IntentNo, Position: e.Position, ChannelNo: e.ChannelNo, Sender: m.Sender, Size: int64(m.Size())}
	if root := m.ThreadRoot(); root != m.Position {
		w.Thread = root
	}
	w.SentAt = m.CreatedAt
	if now.Before(w.SentAt) {
		w.SentAt = now
	}
	return w
}

// inOrder sorts what waits by when it was sent. Within an intent that is the order of the log.
func inOrder(messages []Message) {
	slices.SortFunc(messages, func(a, b Message) int {
		return cmp.Or(a.SentAt.Compare(b.SentAt), cmp.Compare(a.IntentNo, b.IntentNo), cmp.Compare(a.Position, b.Position))
	})
}
