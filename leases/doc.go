// Package leases lets one agent at a time work on something of an intent (RFC-0003).
//
// # Model
//
// A lease is an agent's exclusive hold of a scope for a time. A scope is a text on which the agents agree; task:ID names a task.
// The table has only leases that have not ended: what became of the others is in the intent's log, as lease_acquired and
// lease_released.
//
//	AcquireLease --> free? --> lease, lease_acquired --> RenewLease ... --> an ending (why_ended.go), lease_released
//	                   |                                                        |
//	                   +--> a place among those who wait (waiting.go) <-- woken +
//
// # What holds
//
//   - Everything is decided under the lock of the intent's head, so a scope has one holder at a time.
//   - A fence is the time of its lease in the intent's log, in microseconds. So it rises with each lease of the intent, and goes on
//     rising if the database loses commits and the clock goes on.
//   - Time, access, presence, the scope's task and the intent decide whether a lease has ended, in one function. Whoever looks under
//     the lock decides by it, so nothing waits for the sweep, which stores what is so already.
//   - While the intent is suspended, time does not end leases: the suspension stores what is left of each, and the resumption gives it
//     back.
//   - Those who wait get the scope in the order of asking. Whoever would close a circle of agents that wait for each other is refused.
//     Circles through several intents are not found.
//
// # What happens on failure
//
// A call that waits keeps its place with a sign of life every few seconds. If its server dies, the place is void a few seconds later,
// and the next one gets the scope. If the answer of AcquireLease is lost, the lease stands until it expires: the holder finds it with
// ListLeases and may release it. If the commit of a grant fails while its call waits, the call looks again, and returns only a lease that
// is stored.
package leases
