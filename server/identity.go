package server

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/grpc/metadata"

	"openintent/internal/caller"
	"openintent/internal/fault"
)

// maxAgentIDBytes bounds an agent's id to the same length as the contract's protos.
const maxAgentIDBytes = 256

// These are the refusals of identity. Which of them a call gets reveals nothing about other keys or agents.
var (
	errKeyMissing = fault.New(fault.Unauthenticated, "API_KEY_MISSING",
		"This call needs an API key; send it as X-API-Key or as Authorization: Bearer.")
	errKeyUnknown = fault.New(fault.Unauthenticated, "API_KEY_UNKNOWN",
		"The API key is not known to this server: it is misspelt, has expired, was replaced or was revoked.")
	errKeysDiffer = fault.New(fault.Unauthenticated, "API_KEYS_DIFFER",
		"The call carries two different API keys; send one.")
	errKeyRemoved = fault.New(fault.Unauthenticated, "API_KEY_REMOVED",
		"The API key has expired, or was removed or changed, since this call began; go on with a key that is known now.")
	errAgentReserved = fault.New(fault.Denied, "AGENT_RESERVED",
		"X-Agent-ID names a reserved word (operator, system, * or role:...); name an agent.")
	errAgentNotBound = fault.New(fault.Denied, "AGENT_NOT_ALLOWED",
		"The API key, the token or the certificate is bound to other agents than the one in X-Agent-ID.")
	errKeyReadOnly = fault.New(fault.Denied, "KEY_READ_ONLY",
		"The API key may only read, and this call changes something; use a key that may write.")
	errAgentNeeded = fault.New(fault.Denied, "AGENT_NEEDED",
		"The API key or the token is bound to several agents; name one of them in X-Agent-ID.")
)

// Identify finds out who calls from the call's metadata: the key or the token in x-api-key or authorization, and the agent in
// x-agent-id. Without a key, the certificate of the call's connection counts. A key that is bound to agents acts only as those. An
// unbound key acts as the agent that the call names or, if it names none, as the operator.
func (k *Keys) Identify(ctx context.Context, md metadata.MD) (caller.Caller, error) {
	who, _, err := k.identify(ctx, md)
	return who, err
}

// identify does what Identify does, and also returns the key.
func (k *Keys) identify(ctx context.Context, md metadata.MD) (caller.Caller, *apiKey, error) {
	key, named, err := k.keyAndName(ctx, md)
	if err != nil {
		return caller.Caller{}, nil, err
	}
	compatibility, err := asksForCompatibility(md)
	if err != nil {
		return caller.Caller{}, nil, err
	}
	if key.invite != nil {
		if key, named, err = k.stored.guest(ctx, key, named); err != nil {
			return caller.Caller{}, nil, err
		}
	}
	who := caller.Caller{
		Agent:         named,
		KeyID:         key.id,
		Subject:       key.subject,
		KeyAgents:     key.agents,
		KeyRoles:      key.roles,
		Scope:         key.scope,
		ReadOnly:      key.readOnly,
		Relayed:       isRelayed(ctx, md),
		Quota:         key.quota,
		Compatibility: compatibility || key.compatibility,
		TraceID:       traceID(md),
	}
	switch {
	case !key.bound && named == "":
		who.Agent, who.IsOperator = caller.Operator, true
	case !key.bound:
	case len(key.agents) == 1 && named == "":
		who.Agent = key.agents[0]
	case named == "":
		return caller.Caller{}, nil, errAgentNeeded
	case !slices.Contains(key.agents, named):
		return caller.Caller{}, nil, errAgentNotBound
	}
	who.Human = key.human && !who.IsOperator
	if err := key.checkName(who.Agent); err != nil {
		return caller.Caller{}, nil, err
	}
	return who, key, nil
}

// keyAndName returns the key of a call and the agent that it names: those of the console's session, or those in the metadata.
func (k *Keys) keyAndName(ctx context.Context, md metadata.MD) (key *apiKey, named string, err error) {
	if person := signedInOf(ctx); person != nil {
		named, err = person.acts(md)
		return person.key, named, err
	}
	if key, err = k.shown(ctx, md); err == nil {
		named, err = namedAgent(md)
	}
	return key, named, err
}

// presentedKey returns the key that the call carries. The key may appear under both names, and repeatedly, if it is
// the same each time.
func presentedKey(md metadata.MD) (string, error) {
	presented := slices.Clone(md.Get("x-api-key"))
	for _, authorization := range md.Get("authorization") {
		scheme, token, _ := strings.Cut(authorization, " ")
		if strings.EqualFold(scheme, "bearer") {
			presented = append(presented, strings.TrimSpace(token))
		}
	}
	presented = slices.DeleteFunc(presented, func(key string) bool { return key == "" })
	if len(presented) == 0 {
		return "", errKeyMissing
	}
	if slices.ContainsFunc(presented, func(key string) bool { return key != presented[0] }) {
		return "", errKeysDiffer
	}
	return presented[0], nil
}

// namedAgent returns the agent in x-agent-id, or "" when the call names none. A value of blanks names none, over both faces.
func namedAgent(md metadata.MD) (string, error) {
	values := md.Get("x-agent-id")
	if len(values) > 1 {
		return "", fault.BadField("X-Agent-ID", "must be given once")
	}
	if len(values) == 0 {
		return "", nil
	}
	named := strings.Trim(values[0], " \t") // as HTTP does; gRPC leaves blanks around a value
	if named == "" {
		return "", nil
	}
	if caller.Reserved(named) {
		return "", errAgentReserved
	}
	if problem := agentProblem(named); problem != "" {
		return "", fault.BadField("X-Agent-ID", problem)
	}
	return named, nil
}

// agentProblem describes what is wrong with the form of an agent's id, or returns "".
func agentProblem(agent string) string {
	switch {
	case agent == "":
		return "must not be empty"
	case len(agent) > maxAgentIDBytes:
		return "must be at most 256 bytes"
	case !utf8.ValidString(agent):
		return "must be valid UTF-8"
	case strings.Contains(agent, "/") || strings.ContainsFunc(agent, unicode.IsControl):
		return "may not contain / or control characters"
	}
	return ""
}

func asksForCompatibility(md metadata.MD) (bool, error) {
	values := md.Get("x-openintent-compat")
	if slices.ContainsFunc(values, func(value string) bool { return value != "sdk" }) {
		return false, fault.BadField("X-OpenIntent-Compat", `must be "sdk"; leave it out for the RFC's own form`)
	}
	return len(values) > 0, nil
}

// relayedHeaders are those with which programs say that they make a call for a model. What they are set to does not count.
var relayedHeaders = []string{"x-openintent-wake", "x-openintent-door"}

// isRelayed reports whether a call came through a door, or says that a program makes it for a model.
func isRelayed(ctx context.Context, md metadata.MD) bool {
	return cameThroughDoor(ctx) || slices.ContainsFunc(relayedHeaders, func(name string) bool { return len(md.Get(name)) > 0 })
}

// traceID returns the trace of a traceparent of the form 00-<trace>-<span>-<flags>, or "". Tracing is never a reason
// to refuse a call, so a malformed or repeated header is ignored.
func traceID(md metadata.MD) string {
	values := md.Get("traceparent")
	if len(values) != 1 {
		return ""
	}
	parts := strings.Split(values[0], "-")
	if len(parts) != 4 || parts[0] != "00" ||
		!isHex(parts[1], 32) || !isHex(parts[2], 16) || !isHex(parts[3], 2) {
		return ""
	}
	// All zeros mean "no trace" and "no parent".
	if strings.Trim(parts[1], "0") == "" || strings.Trim(parts[2], "0") == "" {
		return ""
	}
	return parts[1]
}

// isHex reports whether the text consists of this many lower-case hexadecimal digits.
func isHex(text string, digits int) bool {
	return len(text) == digits && strings.Trim(text, "0123456789abcdef") == ""
}
