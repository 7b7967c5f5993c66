package chat

import "openintent/doors"

// fields says by which arguments of the tools the contract's fields are given, so that refusals name what the model filled in.
var fields = doors.Arguments{
	"channel_id":      {"target.conversationId", "conversationId", "inReplyTo"},
	"correlation_id":  {"inReplyTo"},
	"idempotency_key": {"idempotencyKey"},
	"message_id":      {"inReplyTo"},
	"parent_id":       {"target.threadId", "inReplyTo"},
	"payload":         {"content"},
	"since":           {"since", "cursor"},
	"thread_id":       {"target.threadId"},
	"to":              {"target.recipient"},
	"ttl_seconds":     {"ttlSeconds"},
}
