package jsonform

import (
	"strconv"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// plan is what encoding and decoding need to know about one message type.
type plan struct {
	shape  shape
	fields []field
	byName map[string]*field
}

// shape tells the well-known types, which have their own JSON form, from ordinary messages.
type shape uint8

const (
	ordinary shape = iota
	timestamp
	freeObject
	freeValue
	freeList
	emptyMessage
)

// field is what is known about one field of an ordinary message.
type field struct {
	descriptor protoreflect.FieldDescriptor
	// name is the field's JSON name; key is the name with quotes and colon.
	name string
	key  []byte
	// leftOut is true when JSON omits the field while it is unset; all other unset fields are null.
	leftOut bool
	// words are the words of the field's enum.
	words *vocabulary
	// nested returns the plan of the field's message type; it is looked up at first use because types may contain
	// themselves.
	nested func() *plan
}

var shapes = map[protoreflect.FullName]shape{
	"google.protobuf.Timestamp": timestamp,
	"google.protobuf.Struct":    freeObject,
	"google.protobuf.Value":     freeValue,
	"google.protobuf.ListValue": freeList,
	"google.protobuf.Empty":     emptyMessage,
}

// leftOutWhenUnset names the fields that JSON omits while they are unset: those that an event's hash must not cover then, and
// those that RFC-0021 does not know, so that who uses none of them sees objects as the RFC has them.
var leftOutWhenUnset = map[protoreflect.FullName]bool{
	"openintent.v1.Event.proof":           true,
	"openintent.v1.Event.trace_id":        true,
	"openintent.v1.Event.parent_event_id": true,

	"openintent.v1.Message.parent_id":    true,
	"openintent.v1.Message.thread_id":    true,
	"openintent.v1.Message.subject":      true,
	"openintent.v1.Message.kind":         true,
	"openintent.v1.Message.task_id":      true,
	"openintent.v1.Message.priority":     true,
	"openintent.v1.Message.mentions":     true,
	"openintent.v1.Message.collect":      true,
	"openintent.v1.Message.directedness": true,
	"openintent.v1.Message.policy":       true,
	"openintent.v1.Message.revision":     true,
	"openintent.v1.Message.edited_at":    true,
	"openintent.v1.Message.deleted_at":   true,
	"openintent.v1.Message.obligation":   true,
	"openintent.v1.Message.document":     true,
	"openintent.v1.Message.sender_kind":  true,

	"openintent.v1.Channel.address": true,

	"openintent.v1.Agent.reach":           true,
	"openintent.v1.MessageDelivery.reach": true,
	"openintent.v1.Reach.waiting":         true,

	"openintent.v1.SubscribeResponse.probe_id":         true,
	"openintent.v1.SubscriptionDelivery.probe_id":      true,
	"openintent.v1.SubscriptionDelivery.caught_up":     true,
	"openintent.v1.ChannelOptions.conversation_budget": true,

	"openintent.v1.Annotation.change":      true,
	"openintent.v1.Annotation.signal":      true,
	"openintent.v1.Annotation.note":        true,
	"openintent.v1.Annotation.eta":         true,
	"openintent.v1.Annotation.revision":    true,
	"openintent.v1.Annotation.expires_at":  true,
	"openintent.v1.Annotation.reason":      true,
	"openintent.v1.Annotation.disposition": true,
	"openintent.v1.Annotation.until":       true,

	"openintent.v1.SubscribeResponse.annotation":   true,
	"openintent.v1.SubscribeResponse.attention":    true,
	"openintent.v1.SubscriptionDelivery.attention": true,
	"openintent.v1.InboxItem.attention":            true,

	"openintent.v1.Subscription.include":            true,
	"openintent.v1.Subscription.compose":            true,
	"openintent.v1.Subscription.digest_seconds":     true,
	"openintent.v1.Subscription.max_chars":          true,
	"openintent.v1.Subscription.made_by":            true,
	"openintent.v1.Subscription.paused_reason":      true,
	"openintent.v1.Key.paused":                      true,
	"openintent.v1.Key.paused_reason":               true,
	"openintent.v1.Invite.paused_reason":            true,
	"openintent.v1.SubscriptionDelivery.annotation": true,
	"openintent.v1.SubscriptionDelivery.source_ids": true,
	"openintent.v1.SubscriptionDelivery.earlier":    true,
	"openintent.v1.SubscriptionDelivery.digest":     true,
	"openintent.v1.EarlierMessage.attention":        true,
}

// LeftOutWhenUnset reports whether JSON omits the field while it is unset. All other unset fields are null.
func LeftOutWhenUnset(descriptor protoreflect.FieldDescriptor) bool {
	return leftOutWhenUnset[descriptor.FullName()]
}

// plans holds a *plan for each protoreflect.MessageDescriptor seen so far.
var plans sync.Map

func planOf(message protoreflect.MessageDescriptor) *plan {
	if found, ok := plans.Load(message); ok {
		return found.(*plan)
	}
	made, _ := plans.LoadOrStore(message, newPlan(message))
	return made.(*plan)
}

func newPlan(message protoreflect.MessageDescriptor) *plan {
	if known, ok := shapes[message.FullName()]; ok {
		return &plan{shape: known}
	}
	descriptors := message.Fields()
	p := &plan{
		fields: make([]field, descriptors.Len()),
		byName: make(map[string]*field, descriptors.Len()),
	}
	for i := range p.fields {
		p.fields[i] = newField(descriptors.Get(i))
		p.byName[p.fields[i].name] = &p.fields[i]
	}
	return p
}

func newField(descriptor protoreflect.FieldDescriptor) field {
	f := field{
		descriptor: descriptor,
		name:       string(descriptor.Name()),
		leftOut:    LeftOutWhenUnset(descriptor),
	}
	f.key = append(strconv.AppendQuote(nil, f.name), ':')
	switch {
	case descriptor.IsMap():
		panic("jsonform: " + string(descriptor.FullName()) + " is a map; the contract has none")
	case descriptor.Kind() == protoreflect.EnumKind:
		f.words = vocabularyOf(descriptor.Enum())
	case descriptor.Kind() == protoreflect.MessageKind:
		f.nested = sync.OnceValue(func() *plan { return planOf(descriptor.Message()) })
	}
	return f
}

// mayBeUnset reports whether a singular field distinguishes unset from zero.
func (f *field) mayBeUnset() bool { return f.descriptor.HasPresence() }
