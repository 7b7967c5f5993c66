// Package following streams what happens in a scope. A scope is a channel, by its ordinals (follow_channel.go), or an intent, by its
// positions (follow_intent.go); in an intent messages and logged events alternate. Either may be followed with the annotations of its
// messages; then it is a scope of its own, by positions (follow_annotated.go).
//
// The followers of a scope share what its tail has read lately (tail.go, shared_page.go), and each decides by its own rights
// what it shows:
//
//	wake-up ──> tail looks, once for all ──> shared page ──┬──> follower: cursor, viewer, filter ──> its client
//	                                                       └──> follower ...
//
// A follower that has fallen behind the shared page reads its own pages, so a slow client costs a cursor and no memory
// (follow.go). What was read before rules changed, or before its reader took a role, is read again. When a caller comes to hold
// a role, or to take part in a channel, it is given the open requests behind its cursor, as far as it may see them (backfill.go).
//
// A tail takes what the writer hands over instead of looking, where that certainly shows the same (package reading). Any other
// wake-up makes the tail look, also when it comes together with a handover. The slow timer makes it look however much was handed
// over meanwhile.
//
// When the database loses commits, a tail finds that its log ends before what it has read, or that there is another item in the
// place of its anchor (anchor.go). Then it begins anew, and its followers beyond that place end with CURSOR_BEYOND_LOG.
package following
