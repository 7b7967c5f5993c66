package caller

import (
	"context"
	"slices"
	"strings"

	"openintent/internal/fault"
)

// Reserved names. No agent can be registered under one of them or claim one.
const (
	// Operator is the name under which an unbound key without X-Agent-ID acts.
	Operator = "operator"
	// System is the sender of the server's own notifications.
	System = "system"
	// Broadcast addresses every participant of a channel.
	Broadcast = "*"
	// RolePrefix begins a role address: role:<role_id>.
	RolePrefix = "role:"
)

// AnyRole among a key's roles stands for every role.
const AnyRole = "*"

// Reserved reports whether a name is reserved, so that no agent may have it.
func Reserved(name string) bool {
	return name == Operator || name == System || name == Broadcast || strings.HasPrefix(name, RolePrefix)
}

// Caller is the proved identity behind a call.
type Caller struct {
	// Agent is the acting agent's id; Operator when the operator acts without naming an agent.
	Agent string
	// IsOperator is true for an unbound key that names no agent; the operator may do everything that any caller may.
	IsOperator bool
	// KeyID identifies the API key without revealing it; equal for calls with the same key.
	KeyID string
	// Subject names a caller without a key for which somebody else vouches: the issuer and the subject of its token, or the name in
	// its certificate.
	Subject string
	// KeyAgents are the agents the key is bound to; empty for an unbound key.
	KeyAgents []string
	// KeyRoles are the roles that agents of this key may take; none when it is empty, any when AnyRole is among them.
	KeyRoles []string
	// Scope is where the key works; nil for everywhere. The operator's is nil.
	Scope *Scope
	// ReadOnly is true for a key that may change nothing; the server refuses such calls before any room sees them.
	ReadOnly bool
	// Human is true for the key of a person, who has one agent's name.
	Human bool
	// Relayed is true for a call that a program makes for a model: it came through a door, or says that `openintent wake` or a door makes it.
	Relayed bool
	// Quota bounds what the key may send; nil means no bound.
	Quota *Quota
	// Account pays for what the call stores; nil for a call that stores nothing of its caller's, or is not bounded.
	Account *Account
	// Compatibility is true under the compatibility profile for existing clients.
	Compatibility bool
	// TraceID is the trace of the call's traceparent, 32 hexadecimal digits, or empty.
	TraceID string
}

// ActAs returns the agent that an action is attributed to, when the request's body may name an agent in the given field.
// This is the caller itself if the body names no agent, and the named agent if the operator calls. ActAs refuses any
// other caller that names an agent other than itself.
func (c Caller) ActAs(field, named string) (string, error) {
	switch {
	case named == "" || named == c.Agent:
		return c.Agent, nil
	case c.IsOperator:
		return named, c.CheckNotForGuest(field, named)
	}
	return "", fault.New(fault.Denied, "SENDER_MISMATCH",
		"%s must be the calling agent; leave it out or call as that agent.", field)
}

// SpeaksAsHuman reports whether what the caller sends is a person's word: the key is a person's, and the call came straight from that person.
func (c Caller) SpeaksAsHuman() bool { return c.Human && !c.Relayed }

// Owns reports whether the caller speaks for the agent, because it is the agent itself, a key bound to it, or the operator.
func (c Caller) Owns(agent string) bool {
	return c.IsOperator || c.Agent == agent || slices.Contains(c.KeyAgents, agent)
}

// CheckOwns refuses a caller that does not speak for the agent.
func (c Caller) CheckOwns(agent string) error {
	if c.Owns(agent) {
		return nil
	}
	return fault.New(fault.Denied, "NOT_AGENT_OWNER", "Only the agent itself, its key or the operator may do this.")
}

// MayTakeRole reports whether agents of the caller's key may register with the role. The operator may register any agent
// with any role, and every agent may register without one.
func (c Caller) MayTakeRole(role string) bool {
	return c.IsOperator || role == "" || slices.Contains(c.KeyRoles, role) || slices.Contains(c.KeyRoles, AnyRole)
}

// Reader is the caller as a database.Reader, by which its reads take their turns. This package knows no database.
func (c Caller) Reader() struct{ Key, Agent string } {
	return struct{ Key, Agent string }{c.KeyID, c.Agent}
}

// ReaderOf is the Reader of the context's caller or, for the server's own work for an agent, System with the agent's name.
func ReaderOf(ctx context.Context, agent string) struct{ Key, Agent string } {
	if c, ok := From(ctx); ok {
		return c.Reader()
	}
	return Caller{KeyID: System, Agent: agent}.Reader()
}

type contextKey struct{}

// NewContext returns a context that carries the caller.
func NewContext(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, contextKey{}, c)
}

// From returns the context's caller; ok is false for the server's own work.
func From(ctx context.Context) (c Caller, ok bool) {
	c, ok = ctx.Value(contextKey{}).(Caller)
	return c, ok
}

// Known returns the caller of a call from outside. It refuses a call that has none.
func Known(ctx context.Context) (Caller, error) {
	c, ok := From(ctx)
	if !ok {
		return c, fault.New(fault.Unauthenticated, "UNAUTHENTICATED", "The call carries no API key; send one as X-API-Key.")
	}
	return c, nil
}
