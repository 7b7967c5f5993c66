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
// The room has rooms of its own, each with its own model. This one is on top of them: it takes the calls, creates subscriptions
// (create.go) and sweeps (sweep.go), acknowledges and redrives (acknowledge.go), and puts the rooms together (service.go).
//
//	waiting <- record <- ledger <- delivering <- {posting, ownlog} <- subscriptions
//
// Each room imports only those before it:
//
//   - waiting decides what is delivered together, and when. It reads and stores nothing.
//   - record has the stored subscription, its deliveries, and the changes that are made of it under its lock.
//   - ledger has what streams have sent and not stored yet, and stores it.
//   - delivering gathers, reads contents, offers, and streams. The first to look gathers: a stream, a fetch, an own log, or the poster.
//   - posting posts deliveries to webhooks.
//   - ownlog streams the agents' own logs.
//   - schedule keeps what has its time in order, for ledger and posting.
//
// A subscription with any name other than `default` delivers at least once. When an intent has ended and its messages are purged, only
// subscriptions to that intent still gather from it.
//
// # Acknowledgements
//
// An acknowledgement of a delivery that is not stored yet waits until it is, on every replica (acknowledge_across_replicas.go). At the
// replica of the stream it reads nothing itself. An acknowledgement on a stream of acknowledgements (acknowledge_stream.go) waits for
// nothing if the ledger knows the delivery. The answer at the end of the stream of acknowledgements waits until all of them are stored.
//
// What no wake-up announced in the intents wakes the watches of all who look a while later. What else only the database knows, the room
// looks for each time the slow timer fires: own logs to which another replica has added numbers, and posted subscriptions.
//
// # What holds
//
//   - A panic ends no program: a stream, a call or a subscription's posts fail, and what was sent and not stored comes again.
//   - Every transaction that assigns numbers, counts attempts, or acknowledges, gives up or redrives deliveries keeps the lock
//     on the subscription's row until its commit. So no number is given twice. In an agent's own log numbers have no gaps and
//     rise in commit order. Other subscriptions' numbers rise, and streams that were replaced leave gaps. Heads of intents are locked
//     before the subscription.
//   - No stored position passes a delivery that is neither stored nor acknowledged. Nothing comes again whose acknowledgement was
//     answered.
//   - A delivery with a number above offered_through is not stored, or stored as not yet made. Its acknowledgement is answered only when
//     offered_through has passed it.
//   - All times are the database's. Everyone who looks decides from the time whether something is due or given up; the sweep
//     only stores that where nobody looks.
//
// # Failure
//
// After a crash, and when the database was unavailable, the deliveries of the last moments that were not acknowledged come again as first
// attempts. The server does not repeat a commit whose outcome is unknown; the next look reads what is stored. While the database is
// unavailable, streams and posts wait, and calls are refused. When the database loses commits, positions and deliveries go back together.
//
// The subscriptions of a departed agent, and expired subscriptions, deliver nothing more from that moment on, whether or not the sweep has
// run. Their dead letters can be read until they are deleted. There is one exception: if the agent leaves at another replica and the wake-
// up is lost, its stream goes on for a moment. Until it stores the first of these deliveries, it may send what it is handed over, except
// messages to the agent by name.
package subscriptions
