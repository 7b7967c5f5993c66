// Package channels keeps channels: named message streams inside an intent (RFC-0021 sections 1, 5 and 7).
//
// # Model
//
// A channel belongs to one intent for ever and has two names: its id, for clients, and its Key (intent number, channel
// number), for rows. A Rules value describes the channel and decides who takes part in it; it is immutable as of an epoch of
// the intent. A Count says how many messages the channel has had; it changes with every message and is never cached. The pure
// functions of Rules decide everything: whether the channel is closed (ClosedBy), who takes part (Participates), who manages
// it (Manages), and which part of its history is hidden from an agent (HistoryFloor). No other code decides these.
//
//	open --> closed            by a manager, by its intent's or its task's end, by its time to live
//	     \-> closed, deleted   by a manager; the name is free again and GET answers 404
//
// # What must hold
//
//   - Every change locks its intent's head first, reads and decides afterwards, and raises the head's epoch.
//   - A closed channel never opens again. The transaction sets closed_at under the lock. If somebody closed the channel,
//     closed_at is a time of the intent's log after the channel's last message; if the clock was set back, it lies ahead of the
//     clock as the log does. If the channel lapsed, closed_at is its deadline, by the clock.
//   - Time decides whether a channel is open, and therefore whether its name is taken: a channel closes at the deadline of its
//     time to live, whether or not a sweep has stored that. A suspension stops the time to live and a resumption restarts it.
//     So the transaction that suspends an intent closes for good the channels that have lapsed before.
//   - All code that closes a channel goes through one function, which runs the OnClosing hooks in the same transaction.
//   - A time to live runs by the clock (Head.Now) from the creation, the last message or the last resumption. It does not run
//     from the times that the log gives to these.
//   - Messages from before an explicit channel was opened stay visible only to its members of that moment. Their list is kept
//     until the channel is opened again. How far the channel had come when a member was added is decided under the lock.
//   - A member is listed from the moment when it was added, until it departs at or after that moment, even before the stored
//     list shows the departure. Times of membership come from the database's clock, as those of departures do. But a member is
//     always added after its last departure, which has a time ahead of the clock if the clock was set back since.
//
// # Failure
//
// A refusal is a fault and changes nothing. A transaction changes nothing if it fails or one of its hooks fails. The sweep
// works intent by intent. It logs an intent that fails and tries it again at the next run; nobody notices, because readers
// decide by time.
package channels
