// Package ledger keeps what streams have sent and not stored yet, and stores it a little later, for many streams together.
//
// # Model
//
// The active stream of a subscription sends what is new before that is stored. It numbers it from a block of numbers that it has reserved,
// and notes it in its ledger (ledger.go). One goroutine of the replica, the settler, stores what the ledgers hold (settling.go). In one
// transaction for many subscriptions it stores rows for what is not acknowledged, the positions, and the highest number given
// (portion.go, store.go). It goes up to the newest delivery of each that is acknowledged or old enough. What was acknowledged by then gets
// no row. No position passes what is younger.
//
//	stream ──give, pass──> ledger ──settle──> deliveries, positions
//	acknowledge ──note──────┘
//
// An acknowledgement that waits reads nothing itself: the transaction that stores it also finds out how the subscription is then
// (standing.go). One for which nobody waits is only noted, and stored about a second later, or at once if the stream waits for the room
// (acknowledge.go). How long a delivery may wait to be stored follows from how long its agent takes to acknowledge and from how long storing
// takes.
//
// # What holds
//
//   - The settler waits for no lock, and comes back to a subscription that somebody else has locked.
//   - It stores a portion only if the stream still has the lease, nobody else has given numbers, and the database has everything that was
//     stored before.
//   - No stored position passes a delivery that is neither stored nor acknowledged.
//   - Once a ledger is fenced, nothing of it is stored any more, and whoever waits for it looks in the database.
//
// # Failure
//
// When the server dies or the database is away, what the ledgers hold comes again as first attempts, under new numbers. If the data of one
// portion makes its transaction fail, each portion is stored by itself, and that one's ledger is fenced. After a commit of unknown outcome,
// and when commits were lost, all ledgers of the transaction are fenced, and their streams begin anew.
package ledger
