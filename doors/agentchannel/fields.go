package agentchannel

import "openintent/doors"

// fields says by what part of a request over HTTP the contract's fields are given: a member of the body, a parameter, a header, or the id
// in the path. The tools of the MCP profile have names of their own.
var fields = doors.Arguments{
	"address":         {"id"},
	"agents[0]":       {"agent"},
	"expires_at":      {"expires_s"},
	"idempotency_key": {"Idempotency-Key"},
	"name":            {"title"},
	"replaces":        {"If-Match"},
	"since":           {"after"},
}
