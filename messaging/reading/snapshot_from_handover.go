package reading

import (
	"slices"
	"time"

	"openintent/channels"
	"openintent/messaging/message"
	"openintent/messaging/wake"
)

// HandoverSnapshot returns what a snapshot for some agents would hold at a time, from what is at hand. It returns false
// when that is not enough: the rules have changed and nobody has read them since, or the agents' records matter and were
// not read.
func (r Reader) HandoverSnapshot(h *wake.Handover, now time.Time, agentIDs ...string) (l Snapshot, known bool) {
	access, known := r.Intents.KeptRules(h.Key.IntentNo, h.Head.Epoch)
	if !known {
		return Snapshot{}, false
	}
	channel, known := r.Channels.KeptRules(h.Key, h.Head.Epoch)
	if !known {
		return Snapshot{}, false
	}
	for _, agent := range agentIDs {
		if _, read := h.Presences[agent]; !read && channel.Policy != channels.PolicyIntent {
			return Snapshot{}, false
		}
	}
	return Snapshot{
		Head: h.Head, Access: access, Channel: channel, Count: h.Count, Presences: h.Presences, Now: h.Head.At(now),
	}, true
}

// CanTell reports whether the handover alone shows who may see its messages: that must not depend on records of agents that
// may have changed since the snapshot. For a message to one agent it is known who sees it, besides the operator: the sender
// and the addressee, whose records were read under the lock. Membership of an explicit channel depends on departures, and a
// role on its holders; those need a new snapshot.
func (l Snapshot) CanTell(h *wake.Handover) bool {
	return !slices.ContainsFunc(h.Messages, func(m *message.Message) bool { return !l.CanTellOf(h, m) })
}

// CanTellOf is CanTell for one of the messages.
func (l Snapshot) CanTellOf(h *wake.Handover, m *message.Message) bool {
	switch {
	case message.RoleOf(m.Target) != "":
		return false
	case l.Channel.Policy == channels.PolicyIntent:
	case message.ToEveryone(m.Target), !l.agreesWith(h, m.Sender), !l.agreesWith(h, m.Target):
		return false
	}
	return !m.AbandonedBy(h.Presences[m.Target])
}

// agreesWith reports whether the snapshot has an agent's record as it was under the lock, or does not need it.
func (l Snapshot) agreesWith(h *wake.Handover, agent string) bool {
	seen, needed := l.Presences[agent]
	if !needed {
		return true
	}
	read, known := h.Presences[agent]
	return known && read == seen
}

// AnswersIn returns a request as the handover left it, and the messages that answer it. The page and its messages are the
// caller's own.
func AnswersIn(h *wake.Handover, request *message.Message) *MessagePage {
	answered := *request
	answered.Open = false
	found := &MessagePage{Messages: []*message.Message{&answered}}
	for _, m := range h.Messages {
		if m.CorrelationID == request.ID {
			answer := *m
			found.Messages = append(found.Messages, &answer)
		}
	}
	return found
}
