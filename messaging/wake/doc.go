// Package wake wakes those who wait for something to happen. A wake-up carries no truth: it says "look again". A lost one
// delays and never loses, because everyone who waits also looks again after a while without one.
//
// Those who wait listen under topics (hub.go): followers of a channel under its key, an asker under the id of its request. A
// wake-up here wakes the other replicas too (relay.go). The topics of each travel as one notification, after the commit; a
// replica does not pass on what it was told:
//
//	commit ──> Hub.WakeUp ──> who listens here
//	                └──> relay ══ NOTIFY ══> the other replicas' relays ──> who listens there
//
// When a replica knows that it may have missed some, because it begins to listen again or another one had too many to tell,
// everyone who waits there looks at once. A crash between a commit and its wake-ups costs those who wait one turn of their
// slow timer, and so does a notification that is lost on its way.
//
// A wake-up for what this replica's own writer has committed brings along what was stored (handover.go), so that a stream of a
// channel, or somebody who waits for an answer, need not read what the writer had in its hands a moment before. A handover is a
// cache and never truth: it stands for a look at the moment of its commit, and losing it costs one look.
package wake
