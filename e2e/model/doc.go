// Package model describes in plain Go what the server should do with channels and messages: who may do what, what
// each agent sees, and what time, endings and departures change. It keeps everything in memory, decides eagerly (a
// channel closes as soon as the clock passes its deadline) and knows nothing about storage, locks or the wire. The
// end-to-end tests compare the server with it after each step of random histories, so it is also the shortest
// statement of the rules of RFC-0021 and of the server's contract.
//
//	world.go     the world, its clock and its deadlines
//	agents.go    registering, roles, leaving
//	access.go    intents: who has which level of access, statuses, coordinators, tasks
//	channels.go  channels: creating, changing, closing, deleting
//	sending.go   which messages are accepted, in the order in which the rules apply
//	reading.go   who sees which message, lists, acknowledging, awaiting answers
//
// When several refusals apply to one call, the first one in the order of the code is the expected one.
//
// The server chooses some values (ids, exact times within a millisecond). The model learns them after it has decided.
package model
