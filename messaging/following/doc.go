// Package following streams what happens in a scope: a channel by its ordinals (follow_channel.go), or an intent by its positions
// (follow_intent.go), where messages and logged events interleave.
//
// The followers of a scope share what its tail has read lately (tail.go, shared_page.go), and each judges that by its own rights:
//
//	wake-up ──> tail looks, once for all ──> shared page ──┬──> follower: cursor, viewer, filter ──> its client
//	                                                       └──> follower ...
//
// A follower that has fallen behind the shared page reads pages of its own, so a slow client costs a cursor and no memory
// (follow.go). What was read before rules changed, or before its reader took a role, is read again. A caller that comes to hold a
// role, or to take part in a channel, is given the open requests behind its cursor, as far as it may see them (backfill.go).
//
// A tail takes what the writer hands over instead of looking, where that is certain to be the same (package reading). Any other
// wake-up asks for a look, also when it comes together with a handover; and the slow timer looks however much was handed over
// meanwhile.
//
// When the database loses commits, a tail finds its log behind what it has read, or another item in the place of its anchor
// (anchor.go). It begins anew then, and its followers beyond that place end with CURSOR_BEYOND_LOG.
package following
