// Package claims lets many agents fight for requests that take an exact number of answers, and proves from the log that each took
// exactly as many, that no place was taken twice, and that no request was left with nobody to end it.
//
// Check is a pure function from the history of one request to findings. It knows the promises to clients and nothing of the server.
// Its own tests plant faults in histories.
//
// The test runs two replicas on PostgreSQL and one on SQLite, with clocks that it steps back and forth. Claimants answer, renew,
// release, fall silent until they count as dead, or stand still and answer with an old fence. Commits fail or lose their
// acknowledgement, replicas restart, and calls are repeated under their keys. `make claims ROUNDS=1000` runs more rounds.
package claims
