// Package concerns says what needs somebody: questions that wait, requests that nobody takes up, agents that cannot hear, posts that fail.
// docs/concerns.md has the kinds, who sees which, and what can be done about each.
//
// # Model
//
// A concern is not stored. It is found when somebody asks, in one snapshot, in rows that other rooms have written anyway; so it begins and
// ends with its cause, and nothing has to close it. The send path knows nothing of this room. It pays for one index (open_requests_age), and
// only with requests that wait for longer than an ask does by default.
//
// Each kind is a source, in the file of its name (look.go). A source says in which lanes its candidates are, for this caller, and judges
// which of them are concerns. A lane is a list in the order of places (place.go): it is sought in an index and read on portion by portion, or
// it is read whole where a bound says how long it can be (lanes.go). A merge gives the candidates of all lanes in one order, the oldest
// first (merge.go). What a page has judged is behind its cursor, whatever became of it.
//
// # What holds
//
// A place does not change while the concern lasts: a request's is when it was sent. So a walk over the pages gives everything once that is
// there from its beginning to its end. An id is a hash of what the concern is about; it is the same for everybody and tells nothing.
//
// Nobody learns here of a message that they may not see. A message is judged as any other read judges it (sight.go). Where an
// administrator may only know that there is one, the concern has neither its id nor its names, and a filter by them does not find it.
//
// An action is offered only if the caller may take it now.
//
// # Failure and cost
//
// A page only reads, in a snapshot of the readers' share of the database, and fails as any read does. It reads and judges a bounded number of
// rows, each lane at least once; so it may be empty and go on all the same. Lanes that are read whole show so many of their kind at most.
package concerns
