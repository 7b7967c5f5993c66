// Package record keeps what is stored of subscriptions: the subscription itself, which is a durable cursor (subscription.go), its
// deliveries (delivery.go), and what waits in its windows (waiting_rows.go). The rooms that gather, deliver and post read and change
// these rows through it.
//
// # Model
//
// A delivery is a number and a place in an intent's log, or several places (sources.go). It has no content. The times in its row say
// whether it is due, or is to be given up, and everyone who looks decides that by the same rule (delivery.go). Consumers have a lease on a
// subscription (lease.go). A stream reserves numbers before it uses them, in blocks (block.go).
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
// (ChangeIn). The ledgers of streams that send ahead have a transaction of their own kind (package ledger).
//
// # What holds
//
//   - A group of changes waits for no lock, and a change whose decision fails or panics spoils no other one.
//   - Every change keeps the lock on the subscription's row until its commit. So no number is given twice. Heads of intents are locked
//     before the subscription.
//   - The numbers of a block that its stream has not stored are abandoned when another one takes over, and nobody gives them again.
//   - All times are the database's, except for ProcessTime, by which a process measures how long it has not asked the database.
//
// # Failure
//
// A commit whose outcome is unknown is not repeated. Whoever asked for the change hears of it, and looks at what is stored.
package record
