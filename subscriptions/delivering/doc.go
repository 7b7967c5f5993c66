// Package delivering finds what subscriptions have to deliver, numbers it, reads its content, and hands it to who receives it. Streams and
// fetches are here; the poster and the agents' own logs stand on it.
//
// # Model
//
//	intents' logs ──gather──> deliveries ──offer──> consumer
//	               (positions)
//
// A Supplier has what all of them share (supplier.go). A Gatherer numbers what comes after a subscription's positions in the logs of its
// intents (gather.go). Gathering begins where the logs that can reach the subscriber end when the subscription is created. When another
// intent begins to reach the subscriber later, gathering leaves out what was sent in it before the subscription was created. A subscription
// has at most `window` unfinished deliveries; the rest stays in the intents' logs.
//
// A delivery stores no content. The supplier reads it when it makes the delivery, as the subscriber may see it then (content.go). So
// visibility, expiry and eviction are decided at that time. A delivery whose content is gone is finished silently.
//
// One stream, or the poster, has the lease on a subscription at a time (consumer.go), and renews the lease every few seconds. Another one
// takes over when the lease is released or runs out. A stream that takes over begins with everything that is not acknowledged, so that
// nothing newer overtakes what was lost on the way. It tells its client that it took over, if the client asked for that (stream.go). While
// nobody streams, concurrent fetches share the due deliveries (fetch.go). The supplier counts an attempt before it sends a delivery again
// (offer.go). A delivery that is not acknowledged in time is due again, and becomes a dead letter after the last attempt.
//
// # Ahead
//
// A stream sends what is new before that is stored (send_before_storing.go), and notes it in its ledger (package ledger). A look of such a
// stream reads the subscription and the logs that have grown. Once it has sent everything, it need not look for what this replica's writer
// stores next, because the writer hands it over (stream_from_handover.go). What a handover does not certainly show takes a look: what
// another replica stored, what hangs on roles or on listed members, a full window, and what is due again. A stream whose messages come with
// attention always looks.
//
//	writer ──commit──> handover ──the log as the stream left it?──┬── yes ──> send
//	                                                              └── no ───> look
//
// If the stream before may have crashed, the new one stores what already lies in the logs before it sends that. So a delivery that makes
// servers crash when they stream it becomes a dead letter in the end.
//
// # Windows
//
// A subscription may let messages wait for company: with compose, until their sender is silent; with digests, until it is time for a
// summary. What waits, and for how long, is decided in subscriptions/waiting. Whoever gathers stores what waits, without a number, in the
// transaction that moves the position (windows_numbering.go). Whoever receives next after the end of a window numbers it: one delivery that
// stands for several places. From then on it is a delivery like any other. Such a subscription sends nothing ahead.
//
//	intents' logs ──gather──> waiting ──window ends──> one delivery, several places ──offer──> consumer
//
// Which window a message waits in, and when that ends, follows from the stored messages and their times alone. So it does not matter who
// gathers, and nothing is written while a window grows. What messages ask of the subscriber decides, as of the time of gathering. If an
// edit makes a message too important for a digest, the next look takes it out (windows_edits.go).
//
// # Looks
//
// Every receiver (a fetch, a stream, an agent's own log, the poster) looks in the same way (progress.go). It has a watch, which tells in which
// intents something may have happened, by a reading that all watches of the agent share (package messaging). The look reads the
// subscription, and of these intents and of those that are not gathered to their ends how far they have come and how far they are gathered. So
// what a message costs does not grow with the intents that reach its reader.
//
// At first, when the agent's record has changed or commits may have been lost, and every few minutes, a gatherer makes a pass: some looks that
// together go through all intents that reach the subscriber, by their numbers, and find those that have grown. A look finds a bounded number of
// them, and gathers them before it goes on. So what a receiver remembers is bounded, too, and a subscriber that is far behind gets its
// deliveries early.
//
//	watch ──moved──┐
//	behind ────────┼──> look: subscription, heads, positions ──> backlogs ──> gather
//	pass ──page────┘
//
// What no wake-up announced in the intents wakes the watches a while later. What else only the database knows, the room looks for each time the
// slow timer fires: own logs to which another replica has added numbers, and posted subscriptions (below).
//
// # What holds
//
//   - Within an intent, numbers rise with positions. A page is numbered only if the intent's position has not passed the
//     beginning of the page. So no place is numbered twice, and none is left out.
//   - Every numbered delivery was visible to the subscriber when it was gathered. The content that is sent was visible when it
//     was read, at most a second before it is sent, and has not expired.
//   - For one answer the server holds contents of about 6 MiB at most, and twice as much if they have copies in the log. A delivery that is
//     larger alone comes alone. What a digest sums up is read without contents.
//   - An attempt to fetch, and every repetition, is committed before anything is sent. A stream sends first attempts ahead only
//     while nobody else can have taken its lease, and has at most a window of unfinished deliveries. No transaction is open while
//     the server sends.
//   - A message waits in at most one window, and is then in one delivery. Nothing that must be answered waits in a digest, and nothing waits
//     longer than its window.
//
// # Failure
//
// A crash between gathering and offering loses nothing. A crash between offering and sending costs an attempt. While the database is
// unavailable, streams wait. A consumer whose process dies is replaced after ten seconds (on SQLite, where there is only one process, when
// the next process starts). A consumer whose client no longer accepts anything is replaced somewhat later.
//
// When the database loses commits, a gatherer forgets how far it had read logs that lost entries, also if they have grown as far again
// (messaging.LogEnd). A stream that had sent such entries ahead stores nothing of them, begins anew, and gives none of its numbers again.
package delivering
