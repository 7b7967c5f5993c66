// Package channels keeps channels: named message streams inside an intent (RFC-0021 sections 1, 5 and 7).
//
// # Model
//
// A channel belongs to one intent for ever and is known by two names: its id, for clients, and its Key (intent number,
// channel number), for rows. What a channel is and who takes part in it is a Rules value, immutable as of an epoch of
// its intent; how many messages it has seen is a Count, which changes with every message and is never cached. The pure
// functions of Rules decide everything: whether it is closed (ClosedBy), who takes part (Participates), who manages it
// (Manages), what of its history is hidden from whom (HistoryFloor). Nothing else in the program decides these.
//
//	open --> closed            by a manager, by its intent's or its task's end, by its time to live
//	     \-> closed, deleted   by a manager; the name is free again and GET answers 404
//
// # What must hold
//
//   - Every change locks its intent's head first, reads and decides afterwards, and raises the head's epoch.
//   - A closed channel never opens again. closed_at is taken under the lock. Of a channel that was closed it is a time of the
//     intent's log, after the channel's last message; where the clock was set back, it lies ahead of the clock as the log does. Of
//     one that lapsed it is the deadline, by the clock.
//   - Openness, and with it the uniqueness of names, is decided by time: a channel whose time to live has run out is
//     closed at its deadline, whether or not a sweep came by. Because a suspension stops that clock and a resumption
//     restarts it, channels that lapsed before a suspension are closed for good in the transaction that suspends.
//   - Whatever closes a channel goes through one function, which runs the OnClosing hooks in the same transaction.
//   - A time to live runs by the clock from the creation, the last message or the last resumption on (Head.Now), not from the
//     times that the log gives those.
//   - What was said before an explicit channel is opened stays with its members of that moment: their list is kept, until the
//     channel is opened anew. How far the channel had come when a member was added is decided under the lock.
//   - A member is listed from the moment it was added, and no longer once it departed at or after that moment, even
//     before the departure reached the list. Times of membership are the database clock's, as those of departures are, but
//     never at or before the member's last departure: that has a time ahead of the clock if the clock was set back since.
//
// # Failure
//
// A refusal is a fault and leaves nothing behind. A transaction that fails, or whose hook fails, changes nothing. The
// sweep works intent by intent; one that fails is logged and tried again at the next turn, and since readers decide by
// time nobody notices.
package channels
