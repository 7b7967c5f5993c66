package repomesh

import (
	"context"
	"encoding/json"
	"net/http"

	"google.golang.org/grpc/codes"

	"openintent/doors"
	"openintent/internal/fault"
)

// An agent of the protocol's reference proves nothing: it names itself in its arguments. With a key that is bound to no agent, which may
// name any agent in X-Agent-ID, the arguments take that header's place here. For every other key they only repeat whose it is
// (session.own).

// agentHeader is where a caller names itself elsewhere.
const agentHeader = "X-Agent-Id"

// identify returns who makes a request.
func (d *Door) identify(ctx context.Context, headers http.Header, a action, given json.RawMessage) (*doors.Caller, error) {
	caller, err := doors.IdentifyAny(ctx, d.config.Connection, headers)
	if err != nil || !caller.Operator {
		return caller, err
	}
	field, name := a.names(given)
	switch {
	case name == "" && a.nameless:
		return caller, nil
	case name == "":
		return nil, doors.ErrOperator
	}
	headers = headers.Clone()
	headers.Set(agentHeader, name)
	caller, err = doors.Identify(ctx, d.config.Connection, headers)
	if code := doors.RefusalOf(err).Code; code == codes.InvalidArgument || code == codes.PermissionDenied {
		return nil, fault.BadField(field, "must be an agent's name, as X-Agent-ID has it, and no reserved word.")
	}
	return caller, err
}

// names returns the name that arguments give the caller, and the argument with it. A body that cannot be read names nobody; the action
// refuses it.
func (a action) names(given json.RawMessage) (field, name string) {
	members := make(map[string]json.RawMessage)
	if json.Unmarshal(given, &members) != nil {
		return "", ""
	}
	for _, field := range a.callers {
		if name := textIn(members[field]); name != "" {
			return field, name
		}
	}
	payload := make(map[string]json.RawMessage)
	if !a.authored || json.Unmarshal(members["payload"], &payload) != nil {
		return "", ""
	}
	for _, field := range authors {
		if name := textIn(payload[field]); name != "" {
			return "payload." + field, name
		}
	}
	return "", ""
}

// textIn returns a text, and "" for anything else.
func textIn(value json.RawMessage) (text string) {
	_ = json.Unmarshal(value, &text) // what is no text leaves it empty, and the action refuses it
	return text
}
