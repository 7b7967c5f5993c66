// Package replay reads the log of an intent and says how attention judges each of its messages for one agent, under the rules of today or
// under others. It is a client of the contract, and asks nothing of a server that other clients could not ask. The judge is that of the
// server: package attention, which is pure. So no rule of the table stands here.
//
//	log --reader--> messages and annotations --recorded--> what the judge knows of a message --judge--> Message, one for each delivery
//	                                                                                      --windows, digests--> Totals
//
// What must hold:
//
//   - A replay changes nothing but what every reading does: a log that an agent reads itself counts as offered to it. What the operator
//     reads about an agent does not.
//   - Who receives a message is the server's word: an agent is streamed what is for it, and the operator asks. It asks about few messages,
//     because the answer to one tells of those that follow it (received.go).
//   - A message is judged as of the moment when it was stored, with the content that it has now. So nobody has claimed it yet, its
//     obligation is open, and the agent wrote in its thread only what stands before it.
//   - What the server remembers of a dialogue, a restart ends, and each replica counts what it stores. A replay remembers all.
//   - The same log, rules and agent give the same result.
//   - Of each message only what is printed is kept, and nothing of its payload.
//
// What happens on failure: a log that cannot be read to its end gives an error and no result.
package replay
