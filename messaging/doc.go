// Package messaging keeps messages: it stores them, hands them to those who may see them, and lets askers wait for answers
// (RFC-0021 sections 2 to 7). This room holds the calls. What they share lives in the rooms inside, each of which imports only
// those before it:
//
//	message ──> wake, claim, reaction, obligation, loopbrake
//	claim, obligation ──> attention
//	wake, claim, obligation, loopbrake ──> writing
//	wake, attention ──> reading ──> following
//
// # Sending
//
// The calls that send make a draft and give it to the writer (send.go, ask.go; package writing). A stream of messages
// (pipeline.go) queues each message without waiting for the one before. One goroutine takes messages up, as long as there is room
// for messages in flight (in_flight.go) and in the queue, and another one answers them in order.
//
//	client ──> in flight ──> queue ──> writer
//	   └──────── answers, in order ───────┘
//
// # Receiving
//
// Every way to receive is a cursor over the same rows: a list (list.go), a stream (subscribe.go, package following), a wait
// for answers (ask.go, answers.go; silence.go says why none came), a feed that the rooms above read in pages (feed.go).
// Each look reads one snapshot (package reading). The hub wakes those who wait (package wake). A look now and then
// finds what no wake-up has announced.
//
// A wait is a duration from the moment of the call. The request of an Ask expires that long after the clock's time, and the wait
// moves back with a clock that is set back (wait.go). An Ask whose time is over settles under the lock: it finds an answer that
// was stored before, or it expires the request, so that no answer can be stored afterwards.
//
// # Inboxes and deliveries
//
// An inbox (inbox.go, inbox_state.go) is a state and not a cursor: what waits for an agent now, in every intent that may reach
// the agent. Its page merges what indexes have of it, in order (inbox_candidates.go), and looks at a bounded number of
// messages, as a page of a list (list_source.go) and of a thread does. A page that ends because of that says so and leads on,
// even if it is empty. Which intents these are follows from what names the agent and from the audiences that the writer notes
// (writing/audience_cache.go).
//
// All calls of a replica that wait for one inbox share one goroutine that reads (inbox_watch.go). It reads pages, one for all waits that ask
// for the same, when a wait joins and when something may have come for the agent. A wait costs a few hundred bytes beside its call, however
// many intents reach the agent.
//
//	watch ──anything for the agent?──> a page for each query ──> the calls that wait for it
//
// # Watches
//
// A watch waits for what reaches an agent (feed_watch.go). The inbox's goroutine has one, and so have the fetches, streams and webhooks of the
// room above. On each replica, all watches of an agent share its kept catchment (kept_catchment.go): it says which intents reach the agent, and how far
// each of them has come. They also share a group of listeners (package wake). After a wake-up, the first watch that looks reads for all of them:
//
//	hub ──which intents?──> kept catchment ──how far? for the agent?──┬──> moves of a watch
//	                                                                  └──> moves of another one
//
// The moves of a watch are the intents in which something may have happened since its latest look. An intent in which others talk to each other
// becomes a move only after very many messages (kept_catchment_news.go). So such talk costs a few statements for all watches of the agent on a
// replica, and the watches that it wakes have nothing to do. A watch with very many moves looks at everything. The last watch that closes
// removes the kept catchment.
//
// The catchment is read as a whole at first and when the agent's record changes. A wake-up tells which intent begins to reach an agent, so that the
// catchment grows without that. Whatever it says about an intent is as old as the last wake-up; nothing is decided by it but what to read.
//
// Wake-ups can be lost. Now and then each replica looks once for all its watches (missed_wakeups.go). It reads the heads that changed since the
// last time, and wakes the watches of the agents of which such a head is kept in another state, and those that such an intent has begun to
// reach. It also reads the agents' records. So an idle watch costs its agent's key in each look, and a changed head is read once for all.
//
//	heads by when they changed ──> look ──┬──> agents of which another state is kept
//	                                      └──> agents that the intent newly reaches
//
// The database stores in which span of ten seconds a head changed. So the updates of a busy head within one span leave the
// index alone. The stored time is when the transaction decided, before its commit, and heads do not commit in the order of
// these times. So each look goes back a minute further than the one before, which is longer than a transaction lasts, and
// skips the heads that have not changed since. When a head becomes too old for that minute, it is read once more,
// because its latest change may have been lost with its commit.
//
// What readers were handed is recorded beside the reading (offers.go). It is noted in memory and written together now and then;
// it is bounded, and a crash loses it. Senders are told of it, and of receipts (receipts.go), answers and dead letters
// (deliveries.go). A recipient to whom nothing has happened has no row. What a call has given a recipient's model is another matter: it is
// stored before the call answers (handed.go), because the inbox leaves it out.
//
// A sender may edit its message (edit.go), and its content may be deleted (deletion.go). The row always has the present content, so
// whoever reads gets that; what was said before is kept beside it (revisions.go). Both raise the intent's epoch in their transaction.
// By this every server notices that what its followers share is outdated, and waiting askers look whether their request is still there.
//
// # Ends
//
// Readers decide by time whether a request has expired; the sweep (sweep.go) only persists what readers already see (expiry.go).
// It also finishes what commits leave to do: departures (departure.go), the removal of deleted channels and of ended intents
// (removal.go), and the removal of evicted messages. max_messages bounds what is stored: a channel's floor moves with each message
// (writing/eviction.go), and the sweep removes what lies below it (sweep_eviction.go). Requests that an asker may still ask for
// are noted in evicted_requests, with the time when they go:
//
//	below the floor ──> no request, or answered and without a deadline ──> removed
//	                └─> a request with a deadline ───────────────────────> kept until then, with the responses to it
//	                └─> unanswered and without a deadline ───────────────> gets one: the retention, from here on
//
// When the database loses commits under a running server, an idle reader misses what others read meanwhile: if the log has grown
// beyond the client's position again, nobody can tell it from the log that the client knew.
package messaging
