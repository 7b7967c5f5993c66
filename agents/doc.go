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
// Silence makes an active agent unhealthy and an unhealthy one dead; it is judged by the server's clock alone, and only
// when it lasted longer than the agent's own threshold. A draining agent is deregistered when its drain timeout has run
// out; one that named no timeout drains until it says that it is done, or counts as dead once it fell silent.
// A heartbeat leaves it draining; one that comes back registers.
//
// Time in which nobody could be heard is no silence: while the server was stopped or frozen, or the database away. The sweep
// tells by the gaps between its turns (hearing.go), so silence counts from the end of the last gap at the earliest. Drain
// timeouts are deadlines and run on meanwhile.
//
// An agent that counts as dead and is heard was not dead: its heartbeat revives it with the record it had, as draining if it
// was draining. Its id, under a key that may speak for it, is all that tells one instance from another; a key that may not
// take the record's role does not get it back either. Who deregistered has left and registers anew.
//
// # What holds
//
// The stored status is the truth for every reader, roles included: the sweep makes silence lasting, and nothing is
// derived from time on the way. Rows are never deleted. A record's version starts at 1 with each registration and grows
// with each change of the record or its status (heartbeats alone do not count), so a new registration can repeat an old
// version: readers that watch an agent compare whole presences.
//
// Times follow the clock, also when it is set back: a sign of life from a clock that was ahead counts as one of now. Only a
// departure never gets an earlier time than one before it, nor than what it ends in the rooms above (OnDeparting).
//
// A record says since when its agent holds its role, by the database's clock: what was sent to the role before is not for it.
// Registering again with the same role keeps that time, from every status but deregistered. Intents keep their own time, which
// may be ahead of the clock; where it is when the role is taken, the place is the intent's newest (role.go). Replicas agree on
// the time within a round trip, and so does who sees a message that is sent at the moment when a role is taken.
//
// The last departure (departed_at) outlives a new registration, because memberships and requests from before it are
// void. What else a deregistration causes belongs to the rooms above: they register OnDeparted hooks, which run in the
// transaction of the deregistration and do no more than note pending work, and AfterDeparted hooks, which do that work
// before the call answers. An agent's row is locked while the hooks run, so they must not lock the head of an intent:
// heads come first, before any other row.
//
// # What happens on failure
//
// A hook that fails in the transaction undoes the deregistration. A crash after the commit leaves the noted work to the
// sweeper of the room that noted it. A sweep that fails half-way has made some agents' statuses lasting; the next one
// goes on.
//
// # Left out
//
// RFC-0016 writes agent.lifecycle events to a log of the system; there is no such log here, only the server's own.
// Commands to agents (pending_commands) and the tasks that a heartbeat names are not kept either.
package agents
