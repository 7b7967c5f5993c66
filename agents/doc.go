// Package agents keeps agent records, roles and presence (RFC-0016), as far as channels and messages need them.
//
// Registration is optional: an agent without a record may send and receive, but holds no role. A record belongs to its
// agent, and only the agent itself, a key bound to it, or the operator may change it.
//
// # Lifecycle
//
//	               heartbeat
//	    +-------------+--------------+
//	    v             |              |
//	 active ----> unhealthy ----> dead
//	    |             |            ^ |
//	    |             v            | v
//	    +--------> draining -------+-+
//
//	every status ----> deregistered
//	draining, dead, deregistered ----> active, by registering
//
// Silence makes an active agent unhealthy and an unhealthy agent dead. Only the server's clock measures it, and it counts
// only once it has lasted longer than the agent's own threshold. A draining agent is deregistered when its drain timeout has
// run out. A draining agent without a timeout drains until it deregisters, and counts as dead once it has been silent for too
// long. A heartbeat leaves an agent draining; an agent that wants to come back registers.
//
// Time in which the server could not hear anybody is no silence: the server may have been stopped or frozen, or the database
// may have been away. The sweep notices this by the gaps between its runs (silence.go), so silence counts from the end of
// the last gap at the earliest. Drain timeouts are deadlines and keep running during a gap.
//
// If an agent that counts as dead sends a heartbeat, it was not dead: the heartbeat revives it with the record it had, as
// draining if it was draining. The server tells one instance from another only by the agent's id, under a key that may speak
// for it. A key that may not take the record's role cannot get it back this way either. An agent that deregistered has left
// and must register anew.
//
// # What holds
//
// Every reader takes the stored status, and with it the role, as the truth: the sweep stores what silence has changed, and no
// reader derives a status from the time. Rows are never deleted. A record's version starts at 1 with each registration and
// grows with each change of the record or its status (heartbeats alone do not count). A new registration can therefore repeat
// an old version, and readers that watch an agent compare whole presences.
//
// Times follow the clock, even when it is set back: a sign of life from a clock that was ahead counts as one from now. Only a
// departure never gets an earlier time than the departure before it, or than what it ends in the rooms above (OnDeparting).
//
// A record says since when its agent has held its role, by the database's clock: messages that were sent to the role earlier
// are not for this agent. Registering again with the same role keeps that time, unless the agent was deregistered. Intents keep
// their own time, which may be ahead of the clock. In such an intent the agent holds the role from the newest place that the
// intent has when the agent takes the role (role.go). Replicas agree on the time to within one round trip. For a message that
// is sent in the moment when a role is taken, they agree to the same extent on who sees it.
//
// The last departure (departed_at) outlives a new registration, because it makes earlier memberships and requests void. All
// other effects of a deregistration belong to the rooms above, which register two kinds of hooks. OnDeparted hooks run in the
// transaction of the deregistration and only note pending work; AfterDeparted hooks do that work before the call answers.
// OnDeparted hooks run while the agent's row is locked, so they must not lock the head of an intent: every transaction locks
// heads first, before any other row.
//
// # What happens on failure
//
// A hook that fails in the transaction undoes the deregistration. After a crash that follows the commit, the sweeper of the
// room that noted the work does it. A sweep that fails half-way has stored the new statuses of some agents; the next sweep
// handles the others.
//
// # Left out
//
// RFC-0016 writes agent.lifecycle events to a log of the system. There is no such log here; the server writes only its own
// log. It does not keep commands to agents (pending_commands) or the tasks that a heartbeat names either.
package agents
