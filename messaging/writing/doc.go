// Package writing stores messages (RFC-0021 sections 2 and 3). A call becomes a draft, which a Writer decides on and commits.
//
// Some rules need nothing but the draft; they are decided before it queues (draft.go). Then the draft waits in the queue
// (queue.go) for the writer, which takes the drafts that wait and commits them together (writer.go). A batch (batch.go) goes four steps.
// It learns the state, which is all that decides its drafts (state.go). It decides each of them, and reads nothing more for it (admit.go).
// It stores what was decided (append.go). After the commit it tells those who wait (wakeups.go, handover_of_batch.go):
//
//	learn: lock the heads, read the state ──> decide ──> store: append and commit ──> tell
//	       └────────── one round trip ────┘                     └─ one round trip ┘
//
// The writer caches what its own commits left behind (optimistic_cache.go): heads, counts, open requests, agents' records. When
// nothing else decides a batch, the writer learns the state without reading, and the batch takes one round trip:
//
//	learn from the cache ──> decide ──> store: take the locks if the heads are as expected, append, commit ──> tell
//	                                          └──────────────── one round trip ──────────────────────────┘
//
// What is cached is a guess, and the commit checks it. Whatever decides a draft is one of three things. It may be unable to
// change without its intent's head, which is compared under the lock. It may be an agent's record, which is compared after the
// head. Or it is an idempotency key, which the table keeps unique. If anything is different, the database refuses the
// transaction, nothing is stored, and the writer reads and decides the batch as in the first picture. It does the same for a
// batch with
//
//   - a refusal;
//   - a channel given by its name, a parent, a task, a document, an obligation, or names in a text (conversation_read.go);
//   - an addressee that refuses others, while the writer does not know whether the sender is one of them (refused.go);
//   - a request that takes an exact number of answers, or an audience in doubt;
//   - a request or a broadcast, while the writer does not know how much was said in its place (conversation_brake_read.go);
//   - a brake that must be told;
//   - a commit before it whose outcome is unknown.
//
// Both ways decide deadlines by the same rule (intents.Head.At). When another replica has moved a
// head in between, the writer does not guess about that head until it has found it unmoved.
//
// A refused draft affects no other. A sender hears of its message only after the commit. Messages get their place under the
// head's lock, which is held until the commit, so their order is the order of commits. appender (append.go) is the only code
// that stores messages; the writer and the server's own notifications (departure_notice.go, system_notice.go) share it.
//
// # Fairness
//
// In the queue each API key has a line of its own. A batch takes drafts from the lines in turn, and while several keys send it
// takes no more than a share from each. So how long a key waits does not depend on how much another one sends. The places are
// bounded, in all and for each key. A key's line keeps its order, and so keeps the order within each intent. The drafts of two
// keys have no order before they are stored: nobody can tell which of two calls came first while neither is answered.
//
// No intent holds up another one. The writer never waits for a head's lock. When somebody else holds an intent, the writer puts
// the intent's drafts aside (set_aside_drafts.go), with all that follow in that intent, and tries them again by the intent's own timer,
// until they have waited for too long. It does the same after a commit of unknown outcome, whose transaction may keep its locks
// for a while. The writer's transactions have a connection of their own (database.Lane), on which no other wait for a lock lasts
// long.
//
//	lines of keys ── in turn ──> batch ──> committed, refused
//	                               │ held
//	                               └────> aside, by intent ── when due ──> batch
//
// # The loop brake
//
// The writer counts in memory what two agents alone exchange (messaging/loopbrake), and notes on a message if the brake is on (loop_brake_told.go).
// What it remembers is bounded for each intent (loop_brake_kept.go), and belongs to the writer's goroutine. Counting asks nothing of the database.
// Only the first message under a brake of which a coordinator is told is not stored in one round trip.
//
// # The brake on a crowd
//
// What agents do to each other in one place is counted, too (messaging/loopbrake, conversation_brake.go): a request or a broadcast that is one
// too many is refused. Each request and each broadcast of an agent is marked in its row, and so is each message of a person. So the writer reads
// what counts in a place from ranges of one index, when it first writes a request there and after another replica has moved the head. Else it
// counts in memory. Other messages ask nothing.
//
// # Failure
//
// When the connection is lost at the commit, the writer looks for its messages by their ids, which were made beforehand. It does
// so under the lock that the lost transaction held, and before it decides anything anew. If it cannot get the lock, or the
// database stays away, it tells the sender that the outcome is unknown. The sender then repeats the call with its idempotency
// key (idempotency.go).
//
// When the database loses commits under a running server, it gives places in the logs a second time. What the writer has cached
// of the lost commits does not count, because heads are compared by their tags. The same holds for audiences (audience_cache.go), for
// which the head keeps a separate tag, and for rules, because an epoch never comes again. After the database was away the writer
// compares all heads that it has cached with the logs, and names what is lost (losses.go).
//
// # What a commit leaves to do
//
// A cause may have effects on many intents or many rows. Its transaction leaves these as rows of pending work (pending_work.go), and the
// room above does the work. Readers decide by the cause and do not wait for it. So eviction (eviction.go) only moves a channel's
// floor and notes that there is something to remove.
package writing
