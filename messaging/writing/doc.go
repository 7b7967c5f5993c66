// Package writing stores messages (RFC-0021 sections 2 and 3). A call becomes a draft, which a Writer decides on and commits.
//
// What can be decided from the draft alone is decided before it queues (draft.go). Then it waits in the queue (queue.go) for the
// writer, which takes the drafts that wait and commits them together (writer.go, batch.go):
//
//	lock the heads, read the state ──> decide each draft (admit.go) ──> append (append.go) and commit
//	└────────── one round trip ─────┘                                  └──────── one round trip ───────┘
//
// The writer caches what its own commits left behind (optimistic_cache.go): heads, counts, open requests, agents' records. When a
// batch is decided by nothing else, the writer decides without reading and commits in one round trip:
//
//	take the state from the cache ──> decide ──> take the locks if the heads are as expected, append, commit
//	                                             └──────────────────── one round trip ────────────────────┘
//
// What is cached is a guess. Everything that decides a draft is either unable to change without its intent's head, which is
// compared under the lock, or is an agent's record, which is compared after it, or is an idempotency key, which the table
// keeps unique. If anything is different the database refuses the transaction, nothing is stored, and the batch is read and
// decided as in the first picture. The same goes for a batch with a refusal, for a channel that is named by its name, and
// after a commit of unknown outcome. Deadlines are decided by the same rule on both ways (intents.Head.At). When another
// replica has moved a head in between, the writer does not guess about it until it has found its own head again.
//
// A refused draft touches no other. A sender hears of its message only after the commit. Messages get their place under the
// head's lock, which is held until the commit, so their order is the order of commits. appender is the only code that stores
// messages; the writer and the server's own notifications (announce.go) share it.
//
// # Fairness
//
// In the queue each API key has a line of its own. A batch takes drafts from the lines in turn, and no more than a share from
// each while several keys send. So what a key waits for does not depend on what another one sends. The places are bounded, in all and
// for each key. A key's line keeps its order, and with it the order of each intent. Drafts of two keys have no order before
// they are stored: nobody can tell which of two calls came first while neither is answered.
//
// No intent holds up another one. The writer never waits for a head's lock: it puts the drafts of an intent that somebody else
// holds aside (aside.go), with all that follow in the intent, and tries them again by a timer of the intent's own, until they have
// waited for too long. It does the same after a commit of unknown outcome, whose transaction may keep its locks for a while. The
// writer's transactions have a connection of their own (database.Lane), in which no other wait for a lock lasts long.
//
//	lines of keys ── in turn ──> batch ──> committed, refused
//	                               │ held
//	                               └────> aside, by intent ── when due ──> batch
//
// # Failure
//
// When the connection is lost at the commit, the writer looks for its messages' ids, which were made beforehand, under the lock
// that the lost transaction held, before it decides anything anew. If the lock is not to be had, or the database stays away, the
// sender is told that the outcome is unknown, and repeats the call with its idempotency key (idempotency.go).
//
// When the database loses commits under a running server, places in the logs come again. What the writer has cached of the lost
// commits does not count, because heads are compared with their tags. The same holds for audiences (audiences.go), for which the
// head keeps a tag of their own, and for rules, whose epochs never come again.
//
// # What a commit leaves to do
//
// Effects that touch many intents or many rows are left as rows of pending work (work.go) in their cause's transaction. The room above
// finishes them; readers decide by the cause and do not wait. So eviction (eviction.go) only moves a channel's floor and notes
// that there is something to remove.
package writing
