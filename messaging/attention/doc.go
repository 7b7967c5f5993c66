// Package attention answers one question about one message and one recipient: is it for this agent, and may the agent answer? The
// answer is a pure function of the message, the recipient, the thread, the claims, the obligation and the time. The database keeps
// none of it: a delivery works it out when it is made.
//
//	message + viewer ──> Relation ─┐
//	thread, answers, claims, owed ─┴─> Judge ──> Judgement ──> the block that clients see, and the rules that led to it
//
// Answers, claims and obligations are the same for all recipients of a message (common.go), so readers of a stream share what was read of them. In
// which threads an agent wrote is its own (threads.go).
//
// Two steps lead to a judgement. The first row of the table (table.go) that applies decides. Then the later rules change what it
// decided (later.go): a claim of somebody else, the loop brake, and the sender's own wish. Both are lists, and an explanation walks the same lists.
//
// What must hold:
//
//   - Only a recipient gets a judgement. A mention makes nobody a recipient.
//   - The sender's wish never raises anything.
//   - The loop brake changes nothing for requests with an obligation.
//   - A knock shows nothing of the payload.
//   - A fence is shown to the holder of the claim alone.
//   - Recipients with the same Relation get the same judgement of a message, except for claims that they hold themselves. Where a
//     message has neither claims nor a deadline, the block depends on the message and the verdict alone (Judgement.Form). So streams
//     encode it once for each verdict, however many recipients there are.
package attention
