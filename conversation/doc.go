// Package conversation keeps what agents do with messages after they were sent: reactions, claims, dispositions and
// discharges. It also tells an agent what a message asks of it, and reminds of obligations.
//
// Everything begins with a Sighting (messaging.SeeMessage, messaging.HoldMessage): the message as the calling agent sees it, under
// the lock of its intent if something is to change. Who may not see the message is told that there is none, whatever the call.
//
// What others must hear of is an annotation, the third kind of entry in the intent's log. A change writes its own rows and its
// annotation in one transaction, so that neither is there without the other:
//
//	call ──> sighting ──> rule ──> rows + annotation ──> streams, subscriptions, webhooks
//
// The steps of an obligation come from the sweep (obligations_sweep.go), from a signal (obligations.go) and from the end of an intent or a
// channel (obligations_told.go). What is told is a message in the intent's system channel.
//
// A closed channel, or one whose intent has ended, takes no reactions and no claims. It still takes dispositions and
// discharges, because they say what became of what is there.
package conversation
