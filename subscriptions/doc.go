// Package subscriptions keeps durable subscriptions (RFC-0006), and each agent's own log, of which Subscribe's agent scope is
// a stream.
//
// # Model
//
// There is no position across intents. So a subscription that follows several is one position per intent and a log of its
// own: numbered rows that name places in the intents' logs.
//
//	intents' logs ──gather──> numbered rows ──offer──> consumer ──acknowledge──> gone
//	               (positions)                  │
//	                                            └── after the last attempt ──> dead letter ──redrive──> due again
//
// A row holds no content. What stands at its place is read when it is delivered, through the subscriber's eyes, so sight,
// expiry and eviction are judged then; what there is nothing to deliver of is done with, silently.
//
// Gathering (gather.go) is done by whoever looks first: a stream, a fetch, the posting of webhooks. It begins at the end of
// the logs that can reach the subscriber when the subscription is made; of an intent that comes to reach it later, what was
// sent before that time is left out. At most `window` rows wait in a subscription; the logs keep the rest.
// An intent whose messages were purged after its end is not gathered any more, but for a subscription to that intent.
//
// A subscription by another name than `default` is delivered at least once. One stream, or the posting, is its consumer at a
// time (consumer.go) and says every few seconds that it lives; another takes over when it ends or falls silent, and a stream
// then begins with all that is not acknowledged, so that nothing newer overtakes what was lost on the way; it says that it took
// over if it was asked to. Fetches share
// what is due while nobody streams. Each attempt is counted before the delivery goes out (a post's, when it has failed);
// what is not acknowledged in time is due again, and after the last attempt a dead letter.
//
// A subscription whose deliveries are posted is examined by the poster of any replica (posting.go): when a wake-up tells of
// something new, when a post is due, and seldom without either. What is due waits in a lane of its endpoint; the turn takes the
// subscription as its consumer, posts of each channel one delivery after the other and of several channels beside each other,
// and notes what was delivered. A failure is due again after a while that grows, and is a dead letter after the last attempt
// or when the endpoint says that it is gone. While the endpoint's circuit is open nothing is attempted.
//
// An agent's own log, named `default` and made at first use, is shared by all streams of the agent on all replicas. They are
// cursors over its numbers; nothing is acknowledged, and rows are kept for a day. A cursor that is older than the oldest row
// goes on with that. The log knows no filter: each stream has its own. When the agent gains sight, its streams deliver the open
// requests behind the log that are not in it, without a number of their own (backfill.go).
//
// A stream of it that nothing wakes does not look: the lookout does for all of a replica (lookout.go). It asks, at the pace of the
// slow timer, for the heads that changed since the last time, and wakes the streams that saw them as they were before and those
// that such an intent reaches and that do not know it; and it reads all their agents' records and numbers together. An idle
// stream so costs two keys to be read, in how many intents its agent may be named, and each change of a head once for all. Each
// stream still looks for itself after some minutes.
//
//	heads by when they changed ──> lookout ──┬──> who saw less: look
//	                                         └──> whom they reach anew: look
//
// When a head changed is known by spans of ten seconds, so that a busy head's updates leave the index alone. The time is the
// one of the transaction's decision, before its commit, and heads do not commit in its order: so each survey goes back a minute
// further than the last one's time, longer than a transaction lasts, and passes over what is as it was then.
//
// # What holds
//
//   - Numbers are given, attempts counted, and deliveries acknowledged, given up and redriven under the lock on the
//     subscription's row, held until the commit: numbers are gapless and rise in commit order, so a cursor over them skips
//     nothing. Heads of intents are locked before it.
//   - Within an intent, numbers rise with positions. A page is numbered only if the intent's position is still where the page
//     begins or before, so two gatherers never number the same place, and none is left out.
//   - What has a number was visible to the subscriber when it was gathered, and what is delivered is visible when it is read,
//     at most a second before it is sent, and has not expired when it is sent.
//   - Nothing is streamed or fetched before its attempt is committed; no transaction is open while something is sent.
//   - Of a channel, and of an intent's logged events, nothing is posted before what is ahead of it was delivered or given up.
//     The id under which a delivery is posted never changes.
//   - A number above offered_through was never delivered and cannot be acknowledged.
//   - All times are the database's clock. Whether something is due or given up is decided by time when looking; the sweep only
//     makes that lasting where nobody looks.
//
// # Failure
//
// A crash between gathering and offering loses nothing; between offering and sending it costs an attempt; between posting and
// noting it repeats some posts, in order, under the same ids. A commit of unknown outcome is not repeated: the next look reads
// what is stored. When the database is away, streams and posts wait and go on; calls are refused as unavailable. A consumer
// whose process dies is replaced after ten seconds (on SQLite, where there is one process, when the next one starts), one
// whose client takes nothing any more somewhat later. Wake-ups carry no truth, here as elsewhere. When the database loses
// commits, positions and rows go back together; a stream of an own log whose number is beyond that ends, and a gatherer forgets how
// far it looked. A departed agent's subscriptions, and expired ones, deliver
// no more from that moment on, swept or not; their dead letters can be read until they are deleted.
package subscriptions
