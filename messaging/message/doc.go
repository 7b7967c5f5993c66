// Package message says what a message is and who may see it (RFC-0021 sections 2, 4 and 5). It is the lowest room of messaging:
// it decides and describes, and keeps nothing.
//
//   - message.go: the message, its types and its statuses
//   - viewer.go: who looks at a channel, and whether it may take part there
//   - visible.go: the one rule of who may see a message; every path that hands out a message asks it
//   - expiry.go: how the end of open requests is stored
//   - rows.go and wire.go: a message as the database has it, and as clients see it
//   - errors.go: the refusals that several rooms share
//
// Sight has a beginning. A holder of a role sees the messages to that role which were sent since it took it (agents.Presence),
// the requests that were open then, and what it has read or answered itself. In a channel that was opened, or whose members
// see only what is sent after their joining, nobody sees what lies below its history floor (channels.Rules.HistoryFloor),
// except for its own messages.
//
// created_at orders messages and decides nothing; deadlines follow the clock, see package intents. After the clock was ahead, an
// expires_at may therefore lie before the created_at of the same message: the one says when the message ends, the other
// where it stands. Two times are compared only where one was made to follow the other: a departure lies after every
// membership and every request that it ends, and what comes after it lies after it.
package message
