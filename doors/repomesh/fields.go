package repomesh

import "openintent/doors"

// fields says by which arguments of the actions the contract's fields are given, so that refusals name what the caller filled in. What an
// event may say beside its payload or in it is named where the caller said it.
var fields = doors.Arguments{
	"assigned_agent":   {"assignee"},
	"correlation_id":   {"parent_message_id", "payload.parent_message_id", "payload.reply_to"},
	"depends_on":       {"deps"},
	"duration_seconds": {"ttl", "lease_ttl"},
	"input":            {"scope", "acceptance_criteria"},
	"kind":             {"type"},
	"lease_id":         {"lock_id"},
	"mentions":         {"payload.mentions"},
	"message_id":       {"message_id", "parent_message_id", "payload.parent_message_id", "payload.reply_to"},
	"metadata":         {"metadata", "payload.metadata", "capabilities", "type"},
	"name":             {"goal", "channel", "payload.channel"},
	"output":           {"summary", "notes", "progress"},
	"parent_id":        {"parent_message_id", "payload.parent_message_id", "payload.reply_to"},
	"q":                {"keyword"},
	"scope":            {"resource_key"},
	"sender":           {"from"},
	"status_note":      {"current_task"},
	"subject":          {"payload.subject"},
	"task_id":          {"task_id", "payload.task_id"},
	"to":               {"recipient_id", "to", "payload.recipient_id", "payload.to"},
}
