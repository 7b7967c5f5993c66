// Package intents keeps intents, who may do what on them, and the log of what happened: IntentService, EventService,
// AccessService and CoordinatorService.
//
// # Model
//
// An intent is one ordered log. Its head (table intent_heads) is a narrow row that holds how far the log has come; the
// lock on it is the only lock there is. Whoever writes anything that belongs to an intent, in this room or above,
// takes the head from Lock first and gets positions, event sequences, channel numbers and times from it:
//
//	Lock --> read --> decide --> Head.Next, Head.Log, Head.RaiseEpoch --> other rows --> commit
//	 |                                                                                     |
//	 +---- SELECT ... FOR UPDATE, all heads at once, in order       one UPDATE, one INSERT +
//
// What a head hands out is kept in memory and stored just before the commit, by one statement for all heads and one for
// all their events, or earlier by whoever takes Heads.Statements. Who knows the heads from a transaction before may Expect
// them instead of locking them first: the update then takes the locks, and refuses unless every head is as it was left.
//
// A log is verified page by page (verification.go), with a running hash, so its length costs time and no memory.
//
// Around it: Rules (who may do what) are pure and cached as of the head's epoch; the event log is a hash chain, see
// Event; the lifecycle is drawn at Status; Sweep makes the passing of time visible in the log.
//
// # What holds
//
//   - Positions of an intent are gapless and rise in the order of commits; times strictly rise with them. Sequences
//     number the events alone, gapless from 1. An event logged by LogAt shares the position of the message it copies.
//   - What is handed out orders the log, and the clock decides. A time that Next or Tick hands out is the later of the clock and
//     the head's last time plus a microsecond, so it can lie ahead of the clock when that was set back. Whether a deadline has
//     passed, and from when a time to live or a silence counts, goes by Head.Now: the clock, or the head's last time where
//     that lies ahead by a second at most (Head.At).
//   - A transaction locks all the heads it needs at once, so no two can wait for each other.
//   - Nothing is decided in the statement that locks: it waited, and saw rows as they were before. What is read after
//     it is true until the commit. What is decided by an expected head is stored only if the head has not moved, so
//     whatever others decide by changes the head with it (Head.Touch where nothing else does).
//   - Each change of access, assignment or coordinator raises the epoch and logs an event, but for a coordinator's
//     heartbeat, which only raises it. So rules kept at an epoch need no second look, other than at Rules.NextChange.
//   - Completion reads the heads of dependencies and parts without locking them, which is safe for what it asks: a
//     completed intent stays completed. A new part locks its parent's head, so that none is missed.
//   - After a terminal status, state, assignments and new coordinators are refused; reading, events, access control and
//     the removal and heartbeats of coordinators are not.
//   - Only Rules.Level decides on access, by Rules.Given, what somebody gave the agent, and by what is open to everyone.
//     Admin is always given: whoever could give itself a right would have every right. SQL repeats Level where a list
//     selects among intents (reader.mayRead), and a test holds the two equal.
//
// # What happens on failure
//
// A refusal is a fault and rolls everything back, hooks of the rooms above included. A failed commit leaves no trace:
// heads live as long as their transaction, and rules read in a transaction that changed them are never kept. When the
// outcome of a commit is unknown, the observers are woken as after a commit, which is harmless. Sweep repeats what it
// did not finish; two replicas sweeping at once log each expiry once, because they decide under the lock.
//
// A clock that was ahead leaves heads ahead of it; each commit to one is counted, and now and then one is logged (lead.go).
// Nothing waits for the clock to come to where the head is. While the server is stopped, coordinators fall silent as they
// would otherwise: the rules rest on stored times alone, so that all replicas decide alike. Nothing is lost by it: a
// coordinator has its rights back with its next heartbeat, unless somebody with a grant took its place before.
//
// When the database loses commits under a running server, it gives positions and times again. Epochs and the numbers of intents
// and channels have random bits, and each change of a head draws a tag, so that nothing kept by them is taken for what is
// stored since (see database.Further).
//
// Access requests (RFC-0011), leases (RFC-0003), portfolios (RFC-0013) and checkpoints (RFC-0019) are not kept.
package intents
