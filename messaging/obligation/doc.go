// Package obligation keeps the obligations of requests: who owes what, when somebody is next told of it, and who discharged it.
//
// An obligation is open from the moment when its request is stored until somebody discharges it. While it is open, it goes through
// steps (escalation.go), each an interval after the one before:
//
//	stored ─> return ─> return ─> return ─> the coordinator ─> the operator ─> (open, and silent)
//
// A signal of somebody who owes it may move the next step: put it off once, take it to the coordinator at once, or pause all steps
// until the author writes.
//
// What must hold:
//
//   - Each step happens once, in order, whoever makes it: it is decided under the lock of the intent's head, by the row as it is then.
//   - None is missed for good. A step that is late, because nobody was there to make it, is made when somebody is. The next one comes
//     an interval after it, so what was missed does not come all at once.
//   - A clock that was set back delays a step by an interval at most (Obligation.Astray).
//   - Only a discharge closes it: neither an answer, nor the request's expiry, nor the end of its channel. When its intent ends it is
//     closed by the server.
package obligation
