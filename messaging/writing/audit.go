package writing

import (
	"strconv"

	"openintent/channels"
	"openintent/intents"
	"openintent/internal/jsonvalue"
	"openintent/messaging/message"
)

// auditEvent is a message's copy for the intent's event log (RFC-0021 section 6). A trace id in the message's metadata
// takes precedence over the call's (RFC-0020).
func auditEvent(channel *channels.Rules, m *message.Message, callTrace string) intents.EventDraft {
	draft := intents.EventDraft{
		Type: "channel_message", Actor: m.Sender, Payload: auditPayload(channel, m), TraceID: callTrace,
	}
	if trace, ok := m.Metadata.String("trace_id"); ok && intents.ValidTraceID(trace) {
		draft.TraceID = trace
	}
	if parent, ok := m.Metadata.String("parent_event_id"); ok && parent != "" && len(parent) <= 128 {
		draft.ParentEventID = parent
	}
	return draft
}

// RevisionEvent is the copy of a new revision for the intent's event log. It is a message's copy with another type, and with the
// revision's number.
func RevisionEvent(channel *channels.Rules, m *message.Message, callTrace string) intents.EventDraft {
	draft := auditEvent(channel, m, callTrace)
	draft.Type = "channel_message_edited"
	draft.Payload = auditMembers(channel, m).Raw("revision", strconv.AppendInt(nil, int64(m.Revision().Number), 10)).Object()
	return draft
}

func auditPayload(channel *channels.Rules, m *message.Message) jsonvalue.Object {
	return auditMembers(channel, m).Object()
}

func auditMembers(channel *channels.Rules, m *message.Message) *jsonvalue.Builder {
	object := new(jsonvalue.Builder)
	object.String("channel_id", channel.ID).
		String("channel_name", channel.Name).
		String("message_id", m.ID).
		String("message_type", string(m.Type))
	if m.Target == "" {
		object.Null("to")
	} else {
		object.String("to", m.Target)
	}
	object.Raw("payload", m.Payload)
	if m.CorrelationID != "" {
		object.String("correlation_id", m.CorrelationID)
	}
	if proof, ok := m.Metadata.Member("proof"); ok {
		object.Raw("proof", proof)
	}
	addConversation(object, m.Conversation)
	return object
}

// addConversation adds what a message carries beyond RFC-0021 to its copy: the members that are set, as clients see them.
func addConversation(object *jsonvalue.Builder, c *message.Conversation) {
	if c == nil {
		return
	}
	for _, member := range []struct{ key, text string }{
		{"parent_id", c.ParentID},
		{"thread_id", c.ThreadID},
		{"subject", c.Subject},
		{"kind", c.Kind},
		{"task_id", c.TaskID},
		{"priority", string(c.Priority)},
		{"directedness", c.DirectednessWord()},
		{"policy", c.PolicyWord()},
	} {
		if member.text != "" {
			object.String(member.key, member.text)
		}
	}
	if len(c.Mentions) > 0 {
		object.Strings("mentions", c.Mentions)
	}
	if c.Collect != nil {
		object.Raw("collect", c.Collect.JSON())
	}
	if c.Obligation != nil {
		var obligation jsonvalue.Builder
		obligation.String("blocks", c.Obligation.Word())
		if c.Obligation.Delegate != "" {
			obligation.String("delegate", c.Obligation.Delegate)
		}
		object.Raw("obligation", obligation.Object())
	}
	if c.Document {
		object.Raw("document", []byte("true"))
	}
	if c.Human {
		object.String("sender_kind", message.SenderHuman)
	}
}
