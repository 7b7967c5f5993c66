package messaging

import (
	"time"

	"openintent/channels"
)

// lookAtHandover gives what a look for some agents would have at a time, as far as it is at hand: it is not when rules have changed
// and nobody has read them since, or when the agents' records decide and were not read.
func (r Reader) lookAtHandover(h *handover, now time.Time, agentIDs ...string) (l look, known bool) {
	access, known := r.Intents.KeptRules(h.key.IntentNo, h.head.Epoch)
	if !known {
		return look{}, false
	}
	channel, known := r.Channels.KeptRules(h.key, h.head.Epoch)
	if !known {
		return look{}, false
	}
	for _, agent := range agentIDs {
		if _, read := h.presences[agent]; !read && channel.Policy != channels.PolicyIntent {
			return look{}, false
		}
	}
	return look{
		head: h.head, access: access, channel: channel, count: h.count, presences: h.presences, now: h.head.At(now),
	}, true
}

// canTell tells whether who may see the messages of a handover does not depend on records of agents that may have changed since a look. Of
// messages to one agent it is known who sees them, besides the operator: sender and addressee, whose records were read
// under the lock. Membership of an explicit channel hangs on departures, and a role on who holds it: that takes a look.
func (l look) canTell(h *handover) bool {
	for _, m := range h.messages {
		switch {
		case roleOf(m.Target) != "":
			return false
		case l.channel.Policy == channels.PolicyIntent:
		case toEveryone(m.Target), !l.agreesWith(h, m.Sender), !l.agreesWith(h, m.Target):
			return false
		}
		if m.abandonedBy(h.presences[m.Target]) {
			return false
		}
	}
	return true
}

// agreesWith tells whether the look knows an agent's record as it was under the lock, or does not need it.
func (l look) agreesWith(h *handover, agent string) bool {
	seen, needed := l.presences[agent]
	if !needed {
		return true
	}
	read, known := h.presences[agent]
	return known && read == seen
}

// answersIn gives a request as it became, and the messages that answer it, as a selection of the caller's own.
func answersIn(h *handover, request *Message) *selection {
	answered := *request
	answered.Open = false
	found := &selection{messages: []*Message{&answered}}
	for _, m := range h.messages {
		if m.CorrelationID == request.ID {
			answer := *m
			found.messages = append(found.messages, &answer)
		}
	}
	return found
}
