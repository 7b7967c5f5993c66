package message

import (
	"bytes"
	"encoding/json"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/jsonvalue"
	"openintent/internal/optional"
)

// Revision is what the content of a message was from one edit to the next. The first one is what was sent.
type Revision struct {
	Number            int
	Payload, Metadata jsonvalue.Object
	Subject           string
	Mentions          []string
	CreatedAt         time.Time
}

// Revision returns the message's present content.
func (m *Message) Revision() Revision {
	r := Revision{Number: 1, Payload: m.Payload, Metadata: m.Metadata, CreatedAt: m.CreatedAt}
	if c := m.Conversation; c != nil {
		r.Subject, r.Mentions = c.Subject, c.Mentions
		if c.Revision > 0 {
			r.Number, r.CreatedAt = c.Revision, c.EditedAt
		}
	}
	return r
}

// Revised returns the message with the content of a revision. Everything else stays as it is.
func (m *Message) Revised(r Revision, mentionsGiven bool) *Message {
	next, c := *m, m.conversation()
	next.Payload, next.Metadata = r.Payload, r.Metadata
	c.Subject, c.Mentions, c.MentionsGiven = r.Subject, r.Mentions, mentionsGiven
	c.Revision, c.EditedAt = r.Number, r.CreatedAt
	next.Conversation = &c
	return &next
}

// WithoutContent returns the message as it is once it is deleted: its place, and nothing of what it said.
func (m *Message) WithoutContent(at time.Time) *Message {
	next, c := *m, m.conversation()
	next.Payload, next.Metadata = jsonvalue.Object(nil).OrEmpty(), jsonvalue.Object(nil).OrEmpty()
	c.Subject, c.Mentions, c.MentionsGiven, c.DeletedAt = "", nil, false, at
	next.Conversation = &c
	return &next
}

// conversation returns a copy of the message's conversation, which may be changed. It is empty if the message has none.
func (m *Message) conversation() Conversation {
	if m.Conversation == nil {
		return Conversation{}
	}
	return *m.Conversation
}

// MentionsGiven reports whether the sender gave the message's mentions, be it none.
func (m *Message) MentionsGiven() bool { return m.Conversation != nil && m.Conversation.MentionsGiven }

// Deleted reports whether the message's content was deleted.
func (m *Message) Deleted() bool { return m.Conversation != nil && !m.Conversation.DeletedAt.IsZero() }

// Answered reports whether the message is a request that has an answer.
func (m *Message) Answered() bool { return m.Type == TypeRequest && !m.Open && m.EndedAt.IsZero() }

// SaysTheSame reports whether two revisions have the same content. Neither spaces nor the order of an object's members count.
func (r Revision) SaysTheSame(other Revision) (bool, error) {
	if r.Subject != other.Subject || len(r.Mentions) != len(other.Mentions) {
		return false, nil
	}
	for i := range r.Mentions {
		if r.Mentions[i] != other.Mentions[i] {
			return false, nil
		}
	}
	same, err := sameObject(r.Payload, other.Payload)
	if err != nil || !same {
		return false, err
	}
	return sameObject(r.Metadata, other.Metadata)
}

func sameObject(one, other jsonvalue.Object) (bool, error) {
	a, err := jsonvalue.Canonical(one.OrEmpty())
	if err != nil {
		return false, err
	}
	b, err := jsonvalue.Canonical(other.OrEmpty())
	return bytes.Equal(a, b), err
}

// EncodeMentions returns mentions as the database keeps them; nil for none.
func EncodeMentions(mentions []string) []byte {
	if len(mentions) == 0 {
		return nil
	}
	text, err := json.Marshal(mentions)
	if err != nil {
		panic(err) // a list of texts always has a JSON form
	}
	return text
}

// DecodeMentions reads what EncodeMentions returned.
func DecodeMentions(text []byte) (mentions []string, err error) {
	if len(text) == 0 {
		return nil, nil
	}
	err = json.Unmarshal(text, &mentions)
	return mentions, err
}

// ToWire returns the revision as clients see it.
func (r Revision) ToWire() (*openintentv1.MessageRevision, error) {
	payload, err := r.Payload.OrEmpty().Struct()
	if err != nil {
		return nil, err
	}
	metadata, err := r.Metadata.OrEmpty().Struct()
	return &openintentv1.MessageRevision{
		Revision: int32(r.Number), Payload: payload, Metadata: metadata, Subject: optional.Text(r.Subject), Mentions: r.Mentions,
		CreatedAt: timestamppb.New(r.CreatedAt),
	}, err
}
