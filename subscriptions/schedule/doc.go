// Package schedule keeps what has a time in the order of these times. The poster has a queue of the subscriptions that it must examine, and
// the settler one of the ledgers that it must store. So a wake-up costs work only for what it concerns, however much else rests.
//
// # What holds
//
// What has the earliest time comes first, after any additions, moves and removals. A queue has no lock of its own: its owner guards it, and
// the timers in it.
package schedule
