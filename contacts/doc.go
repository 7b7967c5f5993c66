// Package contacts finds a person who is not looking. A person acts under an agent's name; when something waits for that name and must be
// answered, the server sends a pointer to the addresses that the person has set: who asks, where and since when, and a link. A pointer never
// has the content.
//
// # Model
//
//	SetContacts ──> code ──> ProveContact ──> the name is looked at (due_names.go)
//	look: what presses the name ──> due (when.go) ──> calls and posts, in one transaction (record.go)
//	post: take up ──> send (send.go) ──> it arrived, or later, or never (post.go)
//
// A contact is an address, a secret of the person. A call is a question of a sender of which the name was told: the first time a minute after it
// was sent, then nine minutes and 59 minutes after the first time. A post is what is to be sent to one contact.
//
// # What holds
//
//   - Nothing but codes is sent to an address before somebody has proved that the code arrived there.
//   - Nobody is shown an address again, and no log line has one.
//   - A send does nothing for contacts. What presses a name is read by the indexes of its inbox, when an index says that the name is due.
//   - Each look makes another version of the name's row, under which it stores what it decided. So of two replicas that look, one stores.
//   - A post is taken up by moving its time before it is sent. If the server dies in between, it is sent again later; so it may come twice.
//   - One sender begins one call of a name in an hour, all senders together 20 and strangers 5 of them.
//   - A contact lasts as long as the key with which it was set or last proved.
//   - Strangers' words (the names of their channels and intents) are not sent.
//
// # What happens on failure
//
// What did not arrive is tried again after pauses that grow, for ten minutes. A contact where nothing has arrived for a day is switched off, and
// says so. A name whose look fails is looked at again at the next run. If the server was down, what was due comes once when one runs again.
package contacts
