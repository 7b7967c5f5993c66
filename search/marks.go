package search

import (
	"hash/fnv"
	"strconv"

	"openintent/channels"
	"openintent/internal/caller"
	"openintent/messaging/message"
)

// A mark is a word of the index that no text has: it says where a message is, or from whom. With marks, the index itself finds what fits
// both the words and the filters of a search. Names become numbers; that two of them may share one does no harm, because the message
// decides.

func intentMark(intentNo int64) string { return "_i" + strconv.FormatInt(intentNo, 36) }

func channelMark(key channels.Key) string {
	return "_c" + strconv.FormatInt(key.IntentNo, 36) + "_" + strconv.FormatInt(key.ChannelNo, 36)
}

func senderMark(agent string) string    { return named("_s", agent) }
func threadMark(rootID string) string   { return named("_t", rootID) }
func kindMark(kind string) string       { return named("_k", kind) }
func addressMark(address string) string { return named("_a", address) }

func named(prefix, name string) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(name))
	return prefix + strconv.FormatUint(sum.Sum64(), 36)
}

// addressOf returns a message's address; there is one for everyone.
func addressOf(m *message.Message) string {
	if message.ToEveryone(m.Target) {
		return caller.Broadcast
	}
	return m.Target
}

// kindOf returns a message's kind, or "".
func kindOf(m *message.Message) string {
	if m.Conversation == nil {
		return ""
	}
	return m.Conversation.Kind
}

// threadOf returns the id of the first message of a message's thread.
func threadOf(m *message.Message) string {
	id, _ := m.Thread()
	return id
}

// marksOf returns the marks of a message.
func marksOf(m *message.Message) []string {
	marks := []string{
		intentMark(m.IntentNo), channelMark(m.Key()), senderMark(m.Sender), addressMark(addressOf(m)), threadMark(threadOf(m)),
	}
	if kind := kindOf(m); kind != "" {
		marks = append(marks, kindMark(kind))
	}
	return marks
}
