// Package subscriptions keeps durable subscriptions (RFC-0006), and each agent's own log, which Subscribe streams in its agent
// scope.
//
// # Model
//
// There is no position across intents. So a subscription that follows several intents has one position in each of them, and a log
// of its own: numbered deliveries that point to places in the intents' logs.
//
//	intents' logs ──gather──> deliveries ──offer──> consumer ──acknowledge──> finished
//	               (positions)                │
//	                                          └── after the last attempt ──> dead letter ──redrive──> due again
//
// A delivery holds no content. The content is read when it is delivered, as the subscriber may see it then, so visibility, expiry
// and eviction are decided at that time. A delivery without content is finished silently.
//
// Whoever looks first gathers (gather.go): a stream, a fetch, or the poster. Gathering begins at the end of the logs that can reach
// the subscriber when the subscription is created. When another intent begins to reach the subscriber later, what was sent before
// the creation is left out. A subscription has at most `window` unfinished deliveries; the logs keep the rest. An intent whose
// messages were purged after its end is gathered only by subscriptions to that intent.
//
// # Consumers
//
// A subscription with any other name than `default` is delivered at least once. One stream, or the poster, has the lease on it at
// a time (consumer.go) and renews the lease every few seconds. Another one takes over when the lease is released or runs out. A
// stream then begins with everything that is not acknowledged, so that nothing newer overtakes what was lost on the way, and tells
// its client that it took over, if the client asked for that. While nobody streams, fetches share what is due. An attempt is
// counted before a delivery is sent; that of a post is counted when it has failed. What is not acknowledged in time is due again,
// and becomes a dead letter after the last attempt.
//
// Each replica's poster examines the subscriptions whose deliveries are posted (posting.go): when a wake-up or the monitor tells of
// something new, when a post is due, and seldom without either. What is due waits in the queue of its endpoint. A dispatch acquires
// the lease, posts the deliveries of each channel one after the other and those of several channels at the same time, and stores
// what was delivered. A failed post is due again after a pause that grows. It becomes a dead letter after the last attempt, or when
// the endpoint says that it is gone. While the endpoint's circuit is open nothing is posted.
//
// An agent's own log is named `default` and created at first use. All streams of the agent, on all replicas, share it. They are
// cursors over its numbers. Nothing is acknowledged, and deliveries are kept for a day. A cursor that is older than the oldest
// delivery goes on there. The log has no filter; each stream has its own. When the agent gains access to messages, its streams
// deliver the open requests that lie before their cursors and are not in the log, without numbers of their own
// (own_log_backfill.go).
//
// # Changes without a wake-up
//
// Wake-ups can be lost. The monitor finds what they did not tell of, for all streams of own logs and all posted subscriptions of a
// replica together (monitor.go). At the pace of the slow timer it reads the heads that changed since the last time. It wakes the
// observers that saw such a head in another state, and those that such an intent has begun to reach. For the streams it also reads
// their agents' records and the numbers of their logs. So an idle stream costs two keys to be read, an idle posted subscription
// its row in the list of all of them, and a changed head is read once for all. Each of them still looks for itself after some minutes.
//
//	heads by when they changed ──> monitor ──┬──> observers that saw another state
//	                                         └──> observers that the intent newly reaches
//
// The database knows in which span of ten seconds a head changed. So the updates of a busy head leave the index alone. That time is
// when the transaction decided, before its commit, and heads do not commit in the order of these times. So each poll goes back a
// minute further than the poll before, which is longer than a transaction lasts, and skips the heads that have not changed since.
// When a head is too old for that minute, it is read once more, because its latest change may have been lost with its commit.
//
// What the poster has to examine at a certain time waits in its schedule, a heap (posting_schedule.go). So a wake-up costs only the
// subscriptions that it concerns, however many others rest. Subscriptions that other replicas created, and posts that dead replicas
// left, are found in the database, at the pace of the slow timer (posting_discovery.go).
//
// # What holds
//
//   - Numbers are given, attempts counted, and deliveries acknowledged, given up and redriven under the lock on the subscription's
//     row, which is kept until the commit. So numbers have no gaps and rise in commit order, and a cursor over them skips nothing.
//     Heads of intents are locked before the subscription.
//   - Within an intent, numbers rise with positions. A page is numbered only if the intent's position has not passed the beginning
//     of the page. So no place is numbered twice, and none is left out.
//   - What has a number was visible to the subscriber when it was gathered. What is sent was visible when it was read, at most a
//     second before, and has not expired.
//   - An attempt to stream or fetch is committed before anything is sent. No transaction is open while something is sent.
//   - Within a channel, and within an intent's logged events, nothing is posted before everything ahead of it was delivered, or was
//     given up or skipped and that is stored (posting_order.go). The id under which a delivery is posted never changes.
//   - A number above offered_through was never delivered and cannot be acknowledged.
//   - All times are the database's. Whoever looks decides by time whether something is due or given up; the sweep only stores that
//     where nobody looks.
//
// # Failure
//
// A crash between gathering and offering loses nothing. A crash between offering and sending costs an attempt. A crash between
// posting and storing the outcome repeats some posts, in order and under the same ids. A commit with an unknown outcome is not
// repeated; the next look reads what is stored. While the database is unavailable, streams and posts wait, and calls are refused.
//
// A poster that stands still loses its lease, and notices that before its next post. But nothing calls back a post that it has begun,
// at most one of each channel: it arrives when the poster goes on, behind what another replica has posted since. It is a repetition,
// unless the other replica skipped that delivery because the subscriber could not see it at that time. A post whose endpoint did not
// answer in time may arrive late in the same way.
//
// A consumer whose process dies is replaced after ten seconds (on SQLite, where there is one process, when the next one starts). A
// consumer whose client accepts nothing any more is replaced somewhat later. When the database loses commits, positions and
// deliveries go back together. A stream of an own log that has sent a lost number ends, and a gatherer forgets how far it had read
// lost logs. The subscriptions of a departed agent, and expired ones, deliver nothing more from that moment on, swept or not. Their
// dead letters can be read until they are deleted.
package subscriptions
