// Package waiting decides which messages a subscription delivers together, and when: what a sender writes in one go, and digests of what
// is not for the subscriber. It is a fold over messages and their times, and depends on nothing but what it is told. So it does not matter
// who gathers them, and a replay of a log finds what a subscription would have delivered.
//
//	message, attention ──treatment──> at once, or into a window ──ends──> Group: one delivery
//	                                                                        └── if it is a digest ──> DigestOf
//
// What must hold:
//
//   - A message waits in at most one window, and is then in one group.
//   - Nothing that must be answered waits for a digest, and nothing waits longer than its window. A window of before the clock was set
//     back is over.
//   - What one sender writes in one channel or thread stays in order, except for what goes into a digest. What is urgent comes after
//     everything that waits in its channel.
//   - A group is bounded in messages and bytes. A digest is bounded in messages, intents and characters, but not in the bytes of what it
//     sums up. So it follows from facts and attention alone, and nobody reads contents for it.
//
// It neither reads nor stores anything: subscriptions keeps what waits, and reads the contents when it makes a delivery.
package waiting
