package reading

import (
	"time"

	"openintent/channels"
	"openintent/messaging/message"
	"openintent/messaging/wake"
)

// HandoverSnapshot gives what a look for some agents would have at a time, as far as it is at hand: it is not when rules have changed
// and nobody has read them since, or when the agents' records decide and were not read.
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

// CanTell tells whether who may see the messages of a handover does not depend on records of agents that may have changed since a look. Of
// messages to one agent it is known who sees them, besides the operator: sender and addressee, whose records were read
// under the lock. Membership of an explicit channel hangs on departures, and a role on who holds it: that takes a look.
func (l Snapshot) CanTell(h *wake.Handover) bool {
	for _, m := range h.Messages {
		switch {
		case message.RoleOf(m.Target) != "":
			return false
		case l.Channel.Policy == channels.PolicyIntent:
		case message.ToEveryone(m.Target), !l.agreesWith(h, m.Sender), !l.agreesWith(h, m.Target):
			return false
		}
		if m.AbandonedBy(h.Presences[m.Target]) {
			return false
		}
	}
	return true
}

// agreesWith tells whether the look knows an agent's record as it was under the lock, or does not need it.
func (l Snapshot) agreesWith(h *wake.Handover, agent string) bool {
	seen, needed := l.Presences[agent]
	if !needed {
		return true
	}
	read, known := h.Presences[agent]
	return known && read == seen
}

// AnswersIn gives a request as it became, and the messages that answer it, as a selection of the caller's own.
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
