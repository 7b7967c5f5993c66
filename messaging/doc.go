// Package messaging keeps messages: it stores them, hands them to whoever may see them, and lets askers wait for answers
// (RFC-0021 sections 2 to 7).
//
// # Writing
//
// A call becomes a draft. What can be decided from the draft alone is decided at once (draft.go); then it queues (queue.go) for
// the writer, which takes drafts that wait and commits them together (writer.go, batch.go):
//
//	lock the heads, read the state ──> decide each draft (admit.go) ──> append (append.go) and commit
//	└────────── one round trip ─────┘                                  └──────── one round trip ───────┘
//
// The writer remembers what its own commits left behind (recollection.go): heads, counts, open requests, agents' records. When
// that is all a batch is decided by, it decides without reading, and commits in one round trip:
//
//	recall the state ──> decide ──> take the locks if the heads are as expected, append, commit
//	                                └──────────────────── one round trip ────────────────────┘
//
// What is remembered is a guess. Whatever a draft is decided by either cannot change without its intent's head, which is
// compared under the lock, or is an agent's record, which is compared after it, or is an idempotency key, whose uniqueness the
// table keeps. If anything is different the database refuses the transaction, nothing is stored, and the batch is read and
// decided as above; so is one with a refusal, with a channel by its name, or after a commit of unknown outcome. The clock is
// the one that follows the database's, and decides by the same rule (intents.Head.At). Where another replica has moved the head
// in between, the writer guesses no more until it has found its own head again.
//
// A refused draft touches no other. A sender hears of its message only after the commit. Messages get their place under the
// head's lock, which is held until the commit, so their order is the order of commits. appender is the only code that stores
// messages; the writer and the lifecycle's own notifications share it.
//
// A stream of messages (pipeline.go) queues each without waiting for the one before: one goroutine takes them up, as long as
// there is room in its window (window.go) and in the queue, another answers them in order.
//
//	client ──> window ──> queue ──> writer
//	   └────── answers, in order ─────┘
//
// # Fairness
//
// In the queue each API key has a line of its own. A batch takes drafts from the lines in turn, and no more than a share from
// each, so what a key waits for does not depend on what another one sends. The places are bounded, in all and for each key. A
// key's line keeps its order, and with it the order of each intent. Drafts of two keys have no order before they are
// stored: nobody can tell which of two calls came first of which neither was answered before the other began.
//
// No intent holds up another one. The writer never waits for a head's lock: drafts of an intent that somebody else holds are
// put aside (aside.go) with all that follow in the intent, and tried again by a timer of the intent's own, until they have
// waited for too long. So it goes after a commit of unknown outcome, whose transaction may keep its locks for a while. The
// writer's transactions have a connection of their own (database.Lane), in which no other wait for a lock lasts long.
//
//	lines of keys ── in turn ──> batch ──> committed, refused
//	                               │ held
//	                               └────> aside, by intent ── when due ──> batch
//
// # Reading
//
// Every way to receive is a cursor over the same rows: a list (list.go), a stream (tail.go, follow.go), a wait for answers
// (ask.go), a feed that the rooms above read in pages (feed.go). Each look is one snapshot of the intent's head, the channels,
// the viewer and the rows, and visible (visible.go) decides for each message. Waiting parties are woken by the hub (hub.go); a
// wake-up only says "look again", and everyone looks again after a while without one.
//
// A stream follows a scope: a channel by its ordinals (follow_channel.go) or an intent by its positions (follow_intent.go),
// where messages and logged events interleave and the log's copy of a message comes with it or not at all (section.go). The
// followers of a scope share what its tail has read lately, and each judges it by its own sight:
//
//	wake-up ──> tail looks, once for all ──> sight ──┬──> follower: cursor, viewer, filter ──> its client
//	                                                 └──> follower ...
//
// Who is further behind than what is shared reads pages of its own, so that slowness costs a cursor and no memory. What was
// read before rules changed, or before its reader took a role, is read again. Who comes to hold a role, or to take part in a
// channel, gets the open requests that lie behind its cursor (backfill.go), as far as it may see them.
//
// Sight has a beginning. Of messages to a role a holder sees those sent since it took the role (agents.Presence), the
// requests that were open then, and what it has read or answered itself. Of a channel that was opened, or whose members see what is
// sent from their joining on, nobody sees what lies below its history floor (channels.Rules.HistoryFloor) but its own.
//
// A wake-up for what this replica's own writer has committed brings what was stored along (handover.go), so that a stream of
// a channel and whoever waits for an answer need not read what was in the writer's hands a moment before:
//
//	commit known ──> handover ──> hands, bounded ──> does it follow on what was seen? ──> sight, answer
//	                                   └─ too much       └─ no, or not certain ──────────> look
//
// A handover is a cache and never truth: it stands for a look of the moment of its commit, and losing it costs one look. It
// is taken only by who can tell from it alone what a look would have shown:
//
//   - It begins right after the last message that was seen, so nothing that another replica stored lies in between; an
//     asker takes it only when its request was unanswered under the lock until then.
//   - The epoch is the one whose rules are known. The head was read and written under the lock, so closing, revocation and
//     membership cannot have passed unseen before the commit.
//   - The viewer's sight does not hang on agents' records that may have changed: messages to one agent, whose sender and
//     addressee were read under the lock and are as they were; and where membership is not listed, those to everyone.
//   - It is of a moment ago, and the commit's outcome is certain.
//
// Any other wake-up asks for a look, also when it comes together with a handover; and the slow timer looks however much was
// handed over meanwhile.
//
// What wakes here wakes on the other replicas too (relay.go). Each wake-up's topics travel as one notification, after the
// commit; one that came from elsewhere is not told again:
//
//	commit ──> hub.wakeUp ──> who listens here
//	               └──> relay ══ NOTIFY ══> the other replicas' relays ──> who listens there
//
// # Inboxes and deliveries
//
// An inbox (inbox.go) is no cursor but a state: what waits for an agent now, in every intent that may reach it. Which these
// are follows from what names the agent and from audiences (audiences.go), which the appender notes once for each pair of a
// party and an intent; the pairs that it knows of cost nothing. A call that waits for an inbox looks first whether anything
// for its agent may have come, because most of what wakes it is between others.
//
// What readers were handed is recorded beside the reading (offers.go): noted in memory, written together now and then,
// bounded, and lost in a crash. Senders are told of it, of receipts, answers and dead letters (deliveries.go). There is no
// row for a recipient to whom nothing has happened.
//
// # Time
//
// Expiry is decided by time when reading, whether or not the sweep (sweep.go) came by. An Ask whose time is over settles
// under the lock: it finds an answer that was stored before, or expires the request so that none can be stored after.
//
// created_at orders messages and decides nothing; deadlines follow the clock, see package intents. A wait is a duration from the
// moment of the call: its request expires that long after the clock's time, and the wait moves back with a clock that is set
// back (wait.go). So after the clock was ahead, an expires_at may lie before the created_at of the same message: the one says
// when it ends, the other where it stands. Two times are compared only where one was made to follow the other: a departure
// lies after every membership and request that it ends, and what comes after it, after it.
//
// max_messages bounds what is stored (eviction.go): a channel's floor moves with each message, and the sweep removes what lies
// below it. What an asker may still ask for is noted in evicted_requests with the time when it goes:
//
//	below the floor ──> no request, or answered and without a deadline ──> removed
//	                └─> a request with a deadline ───────────────────────> kept until then, with the responses to it
//	                └─> unanswered and without a deadline ───────────────> gets one: the retention, from here on
//
// # Failure
//
// When the connection is lost at the commit, the writer looks for its messages' ids, made beforehand, under the lock that
// the lost transaction held, before it decides anything anew; if the lock is not to be had or the database stays away the sender is told that the
// outcome is unknown and repeats the call with its idempotency key. A crash between a commit and its wake-ups costs the
// waiting parties one turn of their slow timer, and so does a notification that is lost on its way to another replica. When a
// replica knows that it may have missed some, because it begins to listen again or another had too many to tell, everyone who
// waits there looks at once.
//
// When the database loses commits under a running server, places in the logs come again. What the writer remembers of the lost
// ones does not count, because heads are compared with their tags; nor do audiences, of which the head keeps a tag of their own;
// nor rules, whose epochs do not come again. A tail that finds its log behind what it has read, or another item in its
// anchor's place (anchor.go), begins anew, and its followers beyond that end with CURSOR_BEYOND_LOG. Offers are remembered with
// the message's id or time. What an idle reader misses is what others read over: a log that has grown beyond a client's
// position again cannot be told from the one that it knew.
//
// Lifecycle effects that touch many intents are left as rows of pending work in
// their cause's transaction, and finished by the caller or the sweep; readers decide by the cause and do not wait for them.
package messaging
