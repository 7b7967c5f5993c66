// Package intents keeps intents, the rules on who may do what with them, and the log of what happened. It implements
// IntentService, EventService, AccessService and CoordinatorService.
//
// # Model
//
// An intent is one ordered log. Its head (table intent_heads) is a narrow row that says how far the log has come; the
// lock on the head is the only lock of an intent. Code that writes anything that belongs to an intent, in this room or
// above, first takes the head from Lock and gets positions, event sequences, channel numbers and times from it:
//
//	Lock --> read --> decide --> Head.Next, Head.Log, Head.RaiseEpoch --> other rows --> commit
//	 |                                                                                     |
//	 +---- SELECT ... FOR UPDATE, all heads at once, in order       one UPDATE, one INSERT +
//
// A head keeps in memory what it hands out and stores it just before the commit: one statement for all heads and one for all
// their events. Code that takes Heads.Statements stores it earlier. Code that knows the heads from an earlier transaction may
// Expect them instead of locking them first. The update then takes the locks, and refuses unless every head is unchanged.
//
// Verification reads a log page by page (verification.go) with a running hash, so a long log costs time but no memory.
//
// If events have a retention, SweepEvents removes older ones from the beginning of each log (event_removal.go), and keeps a checkpoint of
// them (checkpoint.go): where the log now begins, and the hash on which it goes on. The newest event always stays.
//
// Around the log: Rules (who may do what) are pure and cached as of the head's epoch. The event log is a hash chain, see
// Event. Status has a drawing of the lifecycle. Sweep makes the passing of time visible in the log.
//
// # What holds
//
//   - Positions of an intent have no gaps and rise in the order of commits; times strictly rise with them. Sequences
//     number only the events, without gaps from 1. An event logged by LogAt shares the position of the message it copies.
//   - The times that a head hands out order the log, but the clock makes the decisions. A time from Next or Tick is the later
//     of the clock and the head's last time plus a microsecond, so it can lie ahead of the clock after the clock was set back.
//     Head.Now is the time for decisions, such as whether a deadline has passed, and when a time to live or a silence begins.
//     It is the clock, or the head's last time if that lies ahead by a second at most (Head.At).
//   - A transaction locks all the heads it needs in one statement, so no two transactions can wait for each other.
//   - Nothing is decided by the rows of the locking statement: it may have waited, and saw the rows as they were before the
//     wait. What is read after it stays true until the commit. A decision by an expected head is stored only if the head has
//     not moved. So every change that other transactions decide by also changes the head (Head.Touch where nothing else does).
//   - Each change of access, assignment or coordinator raises the epoch and logs an event. Only a coordinator's heartbeat
//     raises the epoch without an event. So cached rules stay valid as long as the epoch, except at Rules.NextChange.
//   - Completion reads the heads of dependencies and parts without locking them. This is safe, because a completed intent
//     stays completed. A new part locks its parent's head, so the completion cannot miss it.
//   - After a terminal status, the server refuses changes of state and assignments, and new coordinators. It still allows
//     reading, events, access control, and the removal and heartbeats of coordinators.
//   - Only Rules.Level decides on access, by the level that somebody gave the agent (Rules.Given) and by the level that
//     everyone has. Admin is always given, because an agent that could give itself a right would have every right. SQL
//     repeats Level where a list selects among intents (reader.mayRead), and a test checks that the two agree.
//
// # What happens on failure
//
// A refusal is a fault and rolls everything back, including the hooks of the rooms above. A failed commit leaves no trace:
// heads live only as long as their transaction, and a transaction that changed rules never caches the rules that it read.
// When the outcome of a commit is unknown, the observers are woken as after a commit, which is harmless. Sweep repeats the
// work that it did not finish. If two replicas sweep simultaneously, they still log each expiry once, because they decide
// under the lock.
//
// After a clock was ahead and is set back, heads lie ahead of the clock. The server counts each commit to such a head, and
// logs one now and then (head_time.go). Nothing waits until the clock reaches the head's time. While the server is stopped,
// coordinators fall silent as they would otherwise: the rules depend only on stored times, so all replicas decide alike.
// Nothing is lost by this: a coordinator gets its rights back with its next heartbeat, unless an agent with admin access has
// replaced it in the meantime.
//
// When the database loses commits under a running server, it hands out the same positions and times again. Epochs and the
// numbers of intents and channels therefore contain random bits, and each change of a head draws a new tag. So values that
// are cached by them are never mistaken for what was stored after the loss (see database.Further).
//
// The server keeps no access requests (RFC-0011), leases (RFC-0003), portfolios (RFC-0013) or Merkle trees of logs
// (the checkpoints of RFC-0019).
package intents
