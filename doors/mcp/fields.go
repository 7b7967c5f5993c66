package mcp

import "openintent/doors"

// fields says by which arguments of the tools the contract's fields are given, so that refusals name what the model filled in.
var fields = doors.Arguments{
	"channel_id":         {"channel", "url"},
	"correlation_id":     {"message"},
	"expires_in_seconds": {"expires_s", "timeout_s"},
	"idempotency_key":    {"key"},
	"intent_id":          {"intent", "intent_id"},
	"message_id":         {"message", "thread", "for"},
	"message_ids":        {"messages"},
	"min_responses":      {"min"},
	"name":               {"channel", "title"},
	"parent_id":          {"thread", "message"},
	"payload":            {"text", "payload"},
	"q":                  {"query"},
	"reason":             {"note", "reason"},
	"replaces":           {"if_match"},
	"scope":              {"resource"},
	"since":              {"cursor", "after"},
	"status_note":        {"note", "state"},
	"thread_id":          {"thread"},
	"title":              {"title", "intent"},
	"timeout_seconds":    {"timeout_s"},
	"ttl_seconds":        {"ttl_s"},
	"duration_seconds":   {"ttl_s"},
	"wait_seconds":       {"timeout_s"},
}
