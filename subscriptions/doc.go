// Package subscriptions keeps durable subscriptions (RFC-0006). It also keeps each agent's own log, which Subscribe streams in
// its agent scope.
//
// # Model
//
// Positions exist only within one intent. So a subscription that follows several intents has one position in each of them, and
// a separate log. That log consists of numbered deliveries, each of which points to a place in an intent's log.
//
//	intents' logs ──gather──> deliveries ──offer──> consumer ──acknowledge──> finished
//	               (positions)                │
//	                                          └── after the last attempt ──> dead letter ──redrive──> due again
//
// A delivery stores no content. The server reads the content when it makes the delivery, as the subscriber may see it then. So
// visibility, expiry and eviction are decided at that time. A delivery whose content is gone is finished silently.
//
// The first to look gathers (gather.go): a stream, a fetch, or the poster. Gathering begins where the logs that can reach the
// subscriber end when the subscription is created. When another intent begins to reach the subscriber later, gathering leaves
// out what was sent in it before the subscription was created. A subscription has at most `window` unfinished deliveries; the
// rest stays in the intents' logs. When an intent has ended and its messages are purged, only subscriptions to that intent
// still gather from it.
//
// # Consumers
//
// A subscription with any name other than `default` delivers at least once. One stream, or the poster, has the lease on it at a
// time (consumer.go), and renews the lease every few seconds. Another one takes over when the lease is released or runs out. A
// stream that takes over begins with everything that is not acknowledged, so that nothing newer overtakes what was lost on the
// way. It tells its client that it took over, if the client asked for that. While nobody streams, concurrent fetches share the
// due deliveries. The server counts an attempt before it sends a delivery again; it counts an attempt to post when the post has
// failed. A delivery that is not acknowledged in time is due again, and becomes a dead letter after the last attempt.
//
// A stream sends what is new before that is stored (ahead.go). It numbers it from a block of numbers that it has reserved, and
// notes it in its ledger (ledger.go). One goroutine of the replica stores what the ledgers hold (ledger_settling.go). In one transaction for many
// subscriptions it stores rows for what is not acknowledged, the positions, and the highest number given. It goes up to the newest delivery
// of each that is acknowledged or old enough. What was acknowledged by then gets no row. No position passes what is younger.
//
//	intents' logs ──read──> stream ──send──> client
//	                           └─> ledger ──settle──> deliveries, positions <── acknowledge
//
// A look of such a stream reads the subscription and the logs that have grown. Once it has sent everything, it need not look for what
// this replica's writer stores next, because the writer hands it over (handover.go). What a handover does not certainly show takes a look:
// what another replica stored, what hangs on roles or on listed members, a full window, and what is due again. A stream whose messages
// come with attention always looks.
//
//	writer ──commit──> handover ──the log as the stream left it?──┬── yes ──> send
//	                                                              └── no ───> look
//
// Another stream that takes over abandons what is left of the block (block.go), so the old stream can store nothing any more. What
// it sent and did not store comes again under new numbers. If the old stream may have crashed, the new one stores what already lies
// in the logs before it sends that. So a delivery that makes servers crash when they stream it becomes a dead letter in the end.
//
// An acknowledgement of a delivery that is not stored yet waits until it is, on every replica (acknowledge_across_replicas.go). At the replica of
// the stream it reads nothing itself: the transaction that stores it also finds out how the subscription is then (ledger_standing.go).
// An acknowledgement on a stream of acknowledgements (acknowledge_stream.go) waits for nothing if the ledger knows the delivery: it only
// notes that, and stores it about a second later, or at once if the stream of deliveries waits for the room. The answer at the end of the
// stream of acknowledgements waits until all of them are stored.
//
// A subscription may let messages wait for company: with compose, until their sender is silent; with digests, until it is time for a
// summary. What waits, and for how long, is decided in subscriptions/waiting. Whoever gathers stores what waits, without a number, in the
// transaction that moves the position (windows_store.go). Whoever receives next after the end of a window numbers it: one delivery that
// stands for several places. From then on it is a delivery like any other. Such a subscription sends nothing ahead.
//
//	intents' logs ──gather──> waiting ──window ends──> one delivery, several places ──offer──> consumer
//
// Which window a message waits in, and when that ends, follows from the stored messages and their times alone. So it does not matter who
// gathers, and nothing is written while a window grows. What messages ask of the subscriber decides, as of the time of gathering. If an
// edit makes a message too important for a digest, the next look takes it out (windows_edits.go).
//
// Each replica's poster examines the subscriptions whose deliveries are posted (posting.go). It examines one when a wake-up
// announces something new and when a post is due, and otherwise only rarely. A subscription with due deliveries
// waits in the queue of its endpoint. A dispatch acquires the lease, posts the deliveries, and stores which of them were
// delivered. It posts the deliveries of one channel one after the other, and those of several channels simultaneously. A failed
// post is due again after a pause that grows with each attempt. It becomes a dead letter after the last attempt, or when the
// endpoint answers that it is gone. While the endpoint's circuit is open, nothing is posted.
//
// An agent's own log is named `default` and is created when it is first used. All streams of the agent, on all replicas, share
// it. Each replica has one gatherer for it (own_log_numbers.go), which numbers what is new and tells the streams. Each stream is a cursor over
// the numbers. It takes what was just numbered, or reads it. Nobody acknowledges its deliveries, and they are kept for a day. A cursor that
// is older than the oldest delivery continues there. The log has no filter; each stream has one. When the agent gains access to
// messages, its streams deliver the open requests that lie before their cursors and are not in the log. These deliveries get no
// new numbers (own_log_backfill.go).
//
//	intents' logs ──look──> numbers ──┬──> stream
//	                                  └──> stream
//
// # Group commits
//
// Whoever numbers, offers, acknowledges, or takes or releases a lease decides about one locked subscription. That is a change (change.go).
// While a transaction makes changes, further ones wait, and the next transaction makes all of them (group_commit.go): it locks their
// subscriptions, reads what the decisions have to know (change_read.go), lets each decide, and stores everything with a few statements
// (change_store.go). So a message to everyone is numbered for many agents' own logs, fetches and webhooks by few commits.
//
//	change ──┐
//	change ──┼── wait ──> lock, read ──> decide each ──> store, commit
//	change ──┘
//
// A change that buries or revives a delivery also locks heads of intents, so it has a transaction of its own
// (changeIn). The ledgers of streams that send ahead have a transaction of their own kind, as above.
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
// The poster keeps the subscriptions that it must examine at a certain time in its schedule, a heap (schedule.go). So a
// wake-up costs work only for the subscriptions that it concerns, however many others rest. Each time the slow timer fires, the
// poster looks in the database for subscriptions that other replicas created and for posts that dead replicas left
// (posting_discovery.go).
//
// # What holds
//
//   - A group of changes waits for no lock, and a change whose decision fails or panics spoils no other one.
//   - A panic ends no program: a stream, a call or a subscription's posts fail, and what was sent and not stored comes again. A delivery that
//     cannot be made ready for its post counts that as a failed attempt.
//   - Every transaction that assigns numbers, counts attempts, or acknowledges, gives up or redrives deliveries keeps the lock
//     on the subscription's row until its commit. So no number is given twice. In an agent's own log numbers have no gaps and
//     rise in commit order, and a cursor over them skips nothing. Other subscriptions' numbers rise, and streams that were
//     replaced leave gaps. Heads of intents are locked before the subscription.
//   - Within an intent, numbers rise with positions. A page is numbered only if the intent's position has not passed the
//     beginning of the page. So no place is numbered twice, and none is left out.
//   - Every numbered delivery was visible to the subscriber when it was gathered. The content that is sent was visible when it
//     was read, at most a second before it is sent, and has not expired.
//   - For one answer the server holds contents of about 6 MiB at most, and twice as much if they have copies in the log. A delivery that is
//     larger alone comes alone. What a digest sums up is read without contents.
//   - An attempt to fetch, and every repetition, is committed before anything is sent. A stream sends first attempts ahead only
//     while nobody else can have taken its lease, and has at most a window of unfinished deliveries. No transaction is open while
//     the server sends.
//   - No stored position passes a delivery that is neither stored nor acknowledged. Nothing comes again whose acknowledgement was
//     answered.
//   - Posts keep their order within a channel, and within an intent's logged events. A delivery is posted only after everything
//     ahead of it was delivered, or was given up or skipped and that outcome is stored (posting_order.go). A delivery is posted
//     under the same id each time.
//   - A delivery with a number above offered_through is not stored, or stored as not yet made. Its acknowledgement is answered only when
//     offered_through has passed it.
//   - A message waits in at most one window, and is then in one delivery. Nothing that must be answered waits in a digest, and nothing waits
//     longer than its window.
//   - All times are the database's. Everyone who looks decides from the time whether something is due or given up; the sweep
//     only stores that where nobody looks.
//
// # Failure
//
// A crash between gathering and offering loses nothing. A crash between offering and sending costs an attempt. After a crash, and
// when the database was unavailable, the deliveries of the last moments that were not acknowledged come again as first attempts. A crash between
// posting and storing the outcome repeats some posts, in order and under the same ids. The server does not repeat a commit
// whose outcome is unknown; the next look reads what is stored. While the database is unavailable, streams and posts wait, and
// calls are refused.
//
// A poster whose process stood still may have lost its lease, and notices that before its next post. But it cannot call back a
// post that it has already begun, at most one in each channel. That post arrives when the process runs again, after what
// another replica has posted since. It is a repetition, unless the other replica skipped that delivery because the subscriber
// could not see it at that time. A post can arrive late in the same way when its endpoint did not answer in time.
//
// A consumer whose process dies is replaced after ten seconds (on SQLite, where there is only one process, when the next process starts). A
// consumer whose client no longer accepts anything is replaced somewhat later. When the database loses commits, positions and deliveries go
// back together. A stream of an own log that has sent a lost number ends, also if another replica has given the number again
// (own_log_anchor.go). A gatherer forgets how far it had read logs that lost entries, also if they have grown as far again
// (messaging.LogEnd). A stream that had sent such entries ahead stores nothing of them, begins anew, and gives none of its numbers again.
// The subscriptions of a departed agent, and expired subscriptions, deliver nothing more from that moment on, whether or not the sweep has
// run. Their dead letters can be read until they are deleted. There is one exception: if the agent leaves at another replica and the wake-
// up is lost, its stream goes on for a moment. Until it stores the first of these deliveries, it may send what it is handed over, except
// messages to the agent by name.
package subscriptions
