package openintent

import (
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
)

// Conversation is what a message says of its place among others. The zero value says nothing, and the server then treats the message as a
// plain one.
type Conversation struct {
	// ParentID is the message that this one belongs under; it is on the same channel.
	ParentID string
	// Subject is one line of at most 200 characters.
	Subject string
	// Kind names the kind of content, such as "status" or "review.finding", in at most 64 characters.
	Kind string
	// TaskID is the task of the intent that the message is about.
	TaskID string
	// Priority is PriorityNormal when it is empty.
	Priority Priority
	// Mentions are agents and "role:" names, at most 50. When it is nil, the server looks for "@name" in the payload; an empty list
	// mentions nobody.
	Mentions []string
	// Collect says how many answers a request wants; CollectAny when it is empty.
	Collect Collect
	// Obligation makes a request stay open until somebody discharges it; nil for none.
	Obligation *Obligation
	// Directedness and Policy are what the sender means or asks at most; they can lower what the server finds, not raise it.
	Directedness Directedness
	Policy       Policy
}

// Priority is how urgent a sender finds its message.
type Priority string

// These are the priorities.
const (
	PriorityLow    Priority = "low"
	PriorityNormal Priority = "normal"
	PriorityHigh   Priority = "high"
	// PriorityUrgent makes a request interrupt its recipient.
	PriorityUrgent Priority = "urgent"
)

var priorities = wordsOf(map[openintentv1.Priority]Priority{
	openintentv1.Priority_PRIORITY_LOW:    PriorityLow,
	openintentv1.Priority_PRIORITY_NORMAL: PriorityNormal,
	openintentv1.Priority_PRIORITY_HIGH:   PriorityHigh,
	openintentv1.Priority_PRIORITY_URGENT: PriorityUrgent,
})

// Collect is how many answers a request wants: one of the constants, or what CollectQuorum returns.
type Collect string

// These are the ways to collect answers, besides a quorum.
const (
	// CollectAny takes every answer.
	CollectAny Collect = "any"
	// CollectOne takes one answer. If the request addresses a role, the holder of its claim gives it.
	CollectOne Collect = "one"
	// CollectAll takes every answer, and expects one of each holder of the role.
	CollectAll Collect = "all"
)

// quorumWord begins the Collect of a quorum.
const quorumWord = "quorum:"

// CollectQuorum takes exactly n answers of different agents, each with a claim; n is 1 to 100.
func CollectQuorum(n int) Collect { return Collect(quorumWord + strconv.Itoa(n)) }

// exact returns how many answers a request takes exactly, so that whoever answers it for a role needs a claim; 0 when it takes any number.
func (c Collect) exact() int {
	if c == CollectOne {
		return 1
	}
	text, isQuorum := strings.CutPrefix(string(c), quorumWord)
	n, err := strconv.Atoi(text)
	if !isQuorum || err != nil {
		return 0
	}
	return n
}

// Value returns the form that the contract has: nil for the empty one, a word, or an object. It leaves it to the server to refuse an
// unknown word.
func (c Collect) Value() *structpb.Value {
	switch n := c.exact(); {
	case c == "":
		return nil
	case n != 0 && c != CollectOne:
		return structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"quorum": structpb.NewNumberValue(float64(n))}})
	}
	return structpb.NewStringValue(string(c))
}

func collectOf(value *structpb.Value) Collect {
	if n, isQuorum := value.GetStructValue().GetFields()["quorum"]; isQuorum {
		return CollectQuorum(int(n.GetNumberValue()))
	}
	return Collect(value.GetStringValue())
}

// mentionsOf returns nil for nil, so that the server looks for mentions, and otherwise a list.
func mentionsOf(names []string) *structpb.ListValue {
	if names == nil {
		return nil
	}
	list := &structpb.ListValue{Values: make([]*structpb.Value, len(names))}
	for i, name := range names {
		list.Values[i] = structpb.NewStringValue(name)
	}
	return list
}

func conversationOf(m *openintentv1.Message) Conversation {
	return Conversation{
		ParentID: m.GetParentId(), Subject: m.GetSubject(), Kind: m.GetKind(), TaskID: m.GetTaskId(), Mentions: m.GetMentions(),
		Priority: priorities.word(m.GetPriority()), Collect: collectOf(m.GetCollect()),
		Obligation:   obligationOf(m.GetObligation()),
		Directedness: directednesses.word(m.GetDirectedness()), Policy: policies.word(m.GetPolicy()),
	}
}
