// Package wake wakes those who wait for something to happen. A wake-up carries no truth: it says "look again". A lost one
// delays but loses nothing, because everyone who waits also looks again after a while without one.
//
// Those who wait listen under topics (hub.go): followers of a channel under its key, an asker under the id of its request. A
// wake-up here wakes the other replicas too (relay.go). The topics of one wake-up travel in one notification, after the commit.
// A replica does not pass on what it was told:
//
//	commit ──> Hub.WakeUp ──> listeners here
//	                └──> relay ══ NOTIFY ══> the other replicas' relays ──> listeners there
//
// A replica may know that it has missed some wake-ups, because it begins to listen again or because another replica had too many
// to tell. Then everyone who waits there looks immediately. A crash between a commit and its wake-ups makes those who wait look
// only at the next tick of their slow timer, and so does a notification that is lost on its way.
//
// Some parties wait for the same very many topics: all that wait for what reaches one agent. They are members of a group (group.go), which
// listens once for all of them. So the hub has each topic once for each agent, and is an index from intents to agents.
//
// A test that has moved the clock asks everyone to look, and waits until they have (rouse.go).
//
// When this replica's own writer has committed, the wake-up brings along what was stored (handover.go). So a channel's stream, a durable
// subscription's stream, or somebody who waits for an answer, need not read what the writer had in its hands a moment before. A handover is a cache and
// never truth: it stands for a snapshot at the moment of its commit, and losing it costs one reading.
package wake
