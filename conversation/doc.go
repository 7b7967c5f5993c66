// Package conversation keeps what agents do with messages after they were sent: reactions, claims and dispositions. It also tells
// an agent what a message asks of it.
//
// Everything begins with a Sighting (messaging.SeeMessage, messaging.HoldMessage): the message as the calling agent sees it, under
// the lock of its intent if something is to change. Who may not see the message is told that there is none, whatever the call.
//
// What others must hear of is an annotation, the third kind of entry in the intent's log. A change writes its own rows and its
// annotation in one transaction, so that neither is there without the other:
//
//	call ──> sighting ──> rule ──> rows + annotation ──> streams, subscriptions, webhooks
//
// A closed channel, or one whose intent has ended, takes no reactions and no claims. It still takes dispositions, because they say
// what became of what is there.
package conversation
