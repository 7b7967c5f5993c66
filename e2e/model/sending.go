package model

import (
	"slices"
	"strings"
	"time"
)

// Message is one typed communication on a channel.
type Message struct {
	ID      string
	Channel *Channel
	Sender  string
	// To is an agent, role:<role>, "*", or "", which means everyone as "*" does.
	To string
	// Type is request, response, notify or broadcast.
	Type      string
	Request   *Message // what a response answers
	Payload   string
	CreatedAt time.Time
	ExpiresAt time.Time // zero: never
	ReadAt    time.Time // the first acknowledgement
	ReadBy    map[string]bool
	Answered  bool
	// Ended is true for a request that expired before its time: its channel closed or its addressee left.
	Ended bool
	// Before are the payloads before each edit, oldest first. EditedAt is the time of the last edit.
	Before   []string
	EditedAt time.Time
	// DeletedAt is when the content was deleted; zero if it was not.
	DeletedAt time.Time
	// Reactions are in the order in which they were set.
	Reactions []Reaction

	content Content
}

// Content is what a message contains. Two messages with the same idempotency key must have the same content.
type Content struct {
	To, Type, CorrelationID, Payload string
	ExpiresAt                        time.Time
	Timeout                          time.Duration // the timeout of an Ask, after which the request expires
}

// Draft is a message that somebody wants to send.
type Draft struct {
	Caller string
	// Sender may be given only by the operator.
	Sender string
	Content
	Key string
	// Reply is true for ReplyMessage, where the request is part of the path.
	Reply bool
	// Channel is where it goes, unless it is sent to a Name within an Intent.
	Channel *Channel
	Intent  *Intent
	Name    string
}

// Verdict is the decision about a draft.
type Verdict struct {
	Outcome Outcome
	// First is set when the key was used before: the server returns this message again.
	First *Message
	draft Draft
}

// place is the scope in which an idempotency key is unique.
type place struct {
	intent             *Intent
	sender, scope, key string
}

func (d Draft) place() place {
	if d.Channel == nil {
		return place{d.Intent, d.Sender, "name " + d.Name, d.Key}
	}
	return place{d.Channel.Intent, d.Sender, "channel " + d.Channel.ID, d.Key}
}

func toEveryone(to string) bool { return to == "" || to == "*" }

func isRole(to string) bool { return strings.HasPrefix(to, "role:") }

// Decide decides about a draft and changes nothing; Store stores an accepted draft.
func (w *World) Decide(d Draft) Verdict {
	var refused Outcome
	if d.Sender, refused = actsAs(d.Caller, d.Sender); refused != OK {
		return Verdict{Outcome: refused}
	}
	if refused := d.wellFormed(); refused != OK {
		return Verdict{Outcome: refused}
	}
	if d.Type == "broadcast" {
		d.To = "*"
	}
	if first := w.first[d.place()]; d.Key != "" && first != nil && w.Now.Sub(first.CreatedAt) < KeyLifetime {
		return Verdict{again(first, d), first, d}
	}
	if d.Channel == nil {
		return Verdict{w.admitByName(d), nil, d}
	}
	return Verdict{w.admit(d), nil, d}
}

// again returns the outcome of a repeated key, whatever has happened to the channel or the sender's access to it.
func again(first *Message, d Draft) Outcome {
	if first.content != d.Content {
		return "IDEMPOTENCY_KEY_REUSED"
	}
	return OK
}

// wellFormed applies the rules of RFC-0021 section 2.3, which depend on the draft alone.
func (d Draft) wellFormed() Outcome {
	wrong := false
	switch d.Type {
	case "request":
		wrong = toEveryone(d.To) || d.To == d.Sender || d.CorrelationID != ""
	case "response":
		wrong = d.CorrelationID == ""
	case "broadcast":
		wrong = !toEveryone(d.To) || d.CorrelationID != ""
	case "notify":
		wrong = d.To == d.Sender || d.CorrelationID != ""
	}
	if wrong {
		return "INVALID_FIELD"
	}
	return OK
}

// admit checks, in this order: may the sender take part, is the channel open, is the message valid.
func (w *World) admit(d Draft) Outcome {
	c := d.Channel
	switch {
	case c.Deleted:
		return "CHANNEL_NOT_FOUND"
	case w.needPart(c, d.Sender) != OK:
		return w.needPart(c, d.Sender)
	case !c.Open():
		return "CHANNEL_CLOSED"
	case w.past(d.ExpiresAt):
		return "INVALID_FIELD"
	case d.Type == "response":
		return w.admitResponse(d)
	case c.Explicit && !toEveryone(d.To) && !isRole(d.To) && !slices.Contains(c.Members, d.To):
		return "TARGET_NOT_A_MEMBER"
	}
	return w.admitTarget(d)
}

// admitTarget refuses to address an agent that has no access to the intent.
func (w *World) admitTarget(d Draft) Outcome {
	i := d.Intent
	if d.Channel != nil {
		i = d.Channel.Intent
	}
	if !toEveryone(d.To) && !isRole(d.To) && w.Level(i, d.To) < Read {
		return "TARGET_WITHOUT_ACCESS"
	}
	return OK
}

// admitByName sends to the intent's open channel of the name, or to a new one (RFC-0021 section 1.4).
func (w *World) admitByName(d Draft) Outcome {
	switch {
	case w.need(d.Intent, d.Sender, Read) != OK:
		return "FORBIDDEN"
	case d.Intent.Ended():
		return "INTENT_ENDED"
	}
	if d.Channel = w.OpenByName(d.Intent, d.Name); d.Channel != nil {
		return w.admit(d)
	}
	if d.Type == "response" || w.past(d.ExpiresAt) {
		return "INVALID_FIELD"
	}
	return w.admitTarget(d)
}

// admitResponse applies the rules of answers: they come from a recipient of the request, go to its sender, and are
// accepted while the request can be answered.
func (w *World) admitResponse(d Draft) Outcome {
	request := w.Messages[d.CorrelationID]
	switch {
	case request == nil || request.Channel != d.Channel || !w.Sees(d.Sender, request):
		if d.Reply {
			return "MESSAGE_NOT_FOUND"
		}
		return "INVALID_FIELD"
	case request.Type != "request":
		return "NOT_A_REQUEST"
	case request.Sender == d.Sender && d.Sender != Operator:
		return "OWN_REQUEST"
	case !request.DeletedAt.IsZero():
		return "MESSAGE_DELETED"
	case request.Expired(w.Now) || w.past(request.ExpiresAt):
		return "MESSAGE_EXPIRED"
	case d.To != "" && d.To != request.Sender:
		return "INVALID_FIELD"
	}
	return OK
}

// ByName returns the channel that an accepted draft goes to; isNew is true when the draft created it.
func (w *World) ByName(v Verdict) (c *Channel, isNew bool) {
	d := v.draft
	if d.Channel != nil {
		return d.Channel, false
	}
	if c := w.OpenByName(d.Intent, d.Name); c != nil {
		return c, false
	}
	return w.add(Channel{Intent: d.Intent, Name: d.Name, Creator: d.Sender, Max: 1000}), true
}

// Store adds an accepted draft to its channel, with the id and the time that the server gave it.
func (w *World) Store(v Verdict, c *Channel, id string, at time.Time) *Message {
	d := v.draft
	m := &Message{
		ID: id, Channel: c, Sender: d.Sender, To: d.To, Type: d.Type, Payload: d.Payload,
		CreatedAt: at, ExpiresAt: d.ExpiresAt, content: d.Content,
	}
	if d.Timeout > 0 {
		m.ExpiresAt = at.Add(d.Timeout)
	}
	if d.Type == "response" {
		m.Request = w.Messages[d.CorrelationID]
		m.To, m.Request.Answered = m.Request.Sender, true
	}
	if d.Key != "" {
		w.first[d.place()] = m
	}
	w.append(m)
	return m
}

// Tell adds the server's own announcement to a channel.
func (w *World) Tell(c *Channel, payload, id string, at time.Time) *Message {
	m := &Message{ID: id, Channel: c, Sender: System, To: "*", Type: "notify", Payload: payload, CreatedAt: at}
	w.append(m)
	return m
}

func (w *World) append(m *Message) {
	m.ReadBy = make(map[string]bool)
	c := m.Channel
	c.Sent, c.runsFrom = append(c.Sent, m), m.CreatedAt
	c.evict()
	w.Messages[m.ID] = m
	if c.Audit {
		c.Intent.Log = append(c.Intent.Log, m)
	}
}
