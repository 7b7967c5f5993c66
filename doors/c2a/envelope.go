package c2a

import (
	"strings"

	"openintent/doors"
	"openintent/doors/c2a/chat"
	openintentv1 "openintent/gen/openintent/v1"
)

// delivery is what one chat/deliver says.
type delivery struct {
	event   chat.Event
	mode    string
	knock   *knock
	attempt int32
}

// envelope is a delivery in the form of the draft 2026-06-02.
type envelope struct {
	chat.Event
	Injection   injection   `json:"injection"`
	Knock       *knock      `json:"knock,omitempty"`
	Reliability reliability `json:"reliability"`
}

// briefEnvelope is a delivery in the form of the draft 2026-06-24: its six fields, and of the older draft's what a harness needs to
// store and to order events.
type briefEnvelope struct {
	EventID       string            `json:"eventId"`
	SourceIDs     []string          `json:"sourceIds,omitempty"`
	Conversation  briefConversation `json:"conversation"`
	Author        chat.Author       `json:"author"`
	AddressedToMe bool              `json:"addressedToMe"`
	Policy        string            `json:"policy"`
	Content       *string           `json:"content,omitempty"`
	Injection     injection         `json:"injection"`
	Knock         *knock            `json:"knock,omitempty"`
	Timing        chat.Timing       `json:"timing"`
	Reliability   reliability       `json:"reliability"`
}

type briefConversation struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
}

// injection says how much of the event the model is to see.
type injection struct {
	Mode string `json:"mode"`
	// Context is how much around the event the harness should show with it.
	Context string `json:"context,omitempty"`
	Role    string `json:"role,omitempty"`
}

// knock says that there is something to read, and nothing of what it says.
type knock struct {
	From         string `json:"from"`
	Where        string `json:"where"`
	Directedness string `json:"directedness"`
	Policy       string `json:"policy"`
	Priority     string `json:"priority"`
	Topic        string `json:"topic"`
	PullWith     string `json:"pullWith"`
}

// reliability is how a harness recognizes repetitions.
type reliability struct {
	Attempt        int32  `json:"attempt"`
	IdempotencyKey string `json:"idempotencyKey"`
}

// The policies and the directedness that the two drafts have differently.
const (
	policyAckOnly    = "ack_only"
	policyMayRespond = "may_respond"
	directedToMe     = "to_me"
)

// params returns the delivery as the harness's draft has it.
func (d delivery) params(t terms, agent string) any {
	how := injection{Mode: d.mode}
	if shows(d.mode) {
		how.Role = "user"
		if d.event.Conversation.ThreadID != "" {
			how.Context = "thread_window"
		}
	}
	sent := reliability{d.attempt, d.event.EventID + ":" + agent}
	if t.draft == draftJune2 {
		return envelope{d.event, how, d.knock, sent}
	}
	brief := briefEnvelope{
		EventID: d.event.EventID, SourceIDs: d.event.SourceIDs, Conversation: briefConversation{d.event.Conversation.ID, d.event.Conversation.Kind},
		Author: d.event.Author, AddressedToMe: d.event.Target.Directedness == directedToMe, Policy: d.event.Attention.Policy,
		Injection: how, Knock: d.knock, Timing: d.event.Timing, Reliability: sent,
	}
	if brief.Conversation.Kind == chat.KindSystem {
		brief.Conversation.Kind = chat.KindChannel
	}
	brief.Policy = briefPolicy(brief.Policy)
	if brief.Knock != nil {
		shortened := *brief.Knock
		shortened.Policy = briefPolicy(shortened.Policy)
		brief.Knock = &shortened
	}
	if d.event.Content != nil {
		brief.Content = new(plainText(d.event.Content))
	}
	return brief
}

// briefPolicy returns a policy as the draft 2026-06-24 has it: it knows no ack_only.
func briefPolicy(policy string) string {
	if policy == policyAckOnly {
		return policyMayRespond
	}
	return policy
}

// plainText returns a content as one text, with data as JSON.
func plainText(content []chat.Part) string {
	texts := make([]string, 0, len(content))
	for _, part := range content {
		if part.Text != nil {
			texts = append(texts, *part.Text)
		} else {
			texts = append(texts, string(part.Data))
		}
	}
	return strings.Join(texts, "\n")
}

// deliveryOf returns the delivery of a message. channel is the name of the message's channel.
func (t terms) deliveryOf(agent string, entry chat.Entry, channel string, attempt int32) delivery {
	d := delivery{event: chat.EventOf(agent, entry), mode: t.modes.mode(entry.Attention.GetInjection()), attempt: attempt}
	switch d.mode {
	case modeNotify:
		d.event.Content, d.knock = nil, d.knockOn(shownOf(entry))
	case modeDigest:
		topic := topicOf(entry.Message, channel)
		if knock := entry.Attention.GetKnock(); knock != nil {
			topic = knock.GetTopic() // which has none of a stranger's words
		}
		d.event.Content = []chat.Part{chat.TextPart("1 message from " + chat.Named(entry.Message.GetSender()) + ": " + topic)}
	}
	return d
}

// shownOf returns the name of the channel and the topic that a knock shows. Attention has them if it knocks itself. If the harness takes
// nothing louder than a knock, nobody has found out whether the sender is a stranger, so none of its words are shown.
func shownOf(entry chat.Entry) (channel, topic string) {
	if knock := entry.Attention.GetKnock(); knock != nil {
		return knock.GetWhere(), knock.GetTopic()
	}
	channel = entry.Message.GetChannelId()
	return channel, doors.Word(entry.Message.GetMessageType()) + " in " + channel
}

// knockOn returns the knock of an event.
func (d delivery) knockOn(channel, topic string) *knock {
	where := "channel:" + channel
	if d.event.Conversation.ThreadID != "" {
		where = "thread:" + channel
	}
	return &knock{
		From: chat.Named(d.event.Author.ID), Where: where, Directedness: d.event.Target.Directedness, Policy: d.event.Attention.Policy,
		Priority: d.event.Attention.Priority, Topic: topic, PullWith: "chat.read_thread",
	}
}

// topicOf says what a message is about and nothing of its payload: its subject, or else its kind or its type and the channel.
func topicOf(m *openintentv1.Message, channel string) string {
	if m.GetSubject() != "" {
		return m.GetSubject()
	}
	kind := m.GetKind()
	if kind == "" {
		kind = doors.Word(m.GetMessageType())
	}
	return kind + " in " + channel
}

// requestID is the id of the request that delivers an event. It is the same whenever and wherever the event is delivered, so that a
// harness can tell which one is cancelled after it has connected again.
func requestID(event string) string { return "deliver-" + event }

// revisionOf returns the number of a message's content.
func revisionOf(m *openintentv1.Message) int32 { return max(1, m.GetRevision()) }
