// Package message says what a message is and who may see it (RFC-0021 sections 2, 4 and 5). It is the lowest room of messaging.
// It decides and describes; all that it stores is the end of open requests.
//
//   - message.go: the message, its types and its statuses
//   - viewer.go: the agent that looks at a channel, and whether it may take part there
//   - sight.go: the one rule of who sees a message, for which purpose and until when; every path that hands out a message, or does
//     something with one, asks it
//   - annotation_sight.go: by what the same rule decides about an annotation
//   - expiry.go: when a message has expired; expiry_store.go: how the end of requests is stored
//   - rows.go and wire.go: a message as the database has it, and as clients see it
//   - errors.go: the refusals that several rooms share
//
// What an agent sees has a beginning. The holder of a role sees the messages to that role that were sent since it took the role
// (agents.Presence), the requests that were open at that time, and what it has read or answered itself. A channel may have
// been opened later, or its members may see only what is sent after they joined. In such a channel nobody sees what lies below
// the history floor (channels.Rules.HistoryFloor), except for its own messages.
//
// created_at orders messages and decides nothing; deadlines follow the clock, see package intents. When the clock was ahead for
// a while, a message may have an expires_at that lies before its own created_at: the one says when the message ends, the other
// where it stands. Two times are compared only where one was made to follow the other: a departure lies after every
// membership and every request that it ends, and what comes after the departure lies after it.
package message
