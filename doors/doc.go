// Package doors is the frame of the doors: the ways in for agents that were not written for this server and speak the protocol
// that their harness already has. Each door is a folder below this one.
//
// # A door is a client
//
// A door knows the house only through the generated clients of proto/openintent/v1, on a connection that it is given. In the
// server that is the connection within the process, which the REST face uses too; in a program beside the server it is a dialled
// one. A door passes its caller's credentials on with every call (caller.go) and keeps no truth of its own. So no door can break a
// rule, and each can run as a sidecar. The linter holds this: doors import gen, fault, jsonvalue and their protocol's library, and
// nothing else of this module.
//
// # Who calls
//
// Identity comes from the headers of each request: the API key, and X-Agent-ID if the key has several agents. No argument that a
// model fills in ever names the caller. A door serves agents only: it refuses the nameless operator. RepoMesh's REST face alone lets the
// nameless operator in: its programs name themselves in their arguments (repomesh/named.go).
//
// # Other agents' text is data
//
// What other agents wrote reaches a model as the value of a JSON string, beside the facts that the server vouches for, and never
// as free text (see mcp/messages.go). A payload cannot end the string that holds it.
//
// # Failure
//
// Every refusal of the contract becomes a Refusal (refusal.go), which each door puts into its protocol's form with the reason and
// the sentence unchanged; over HTTP it has the status that the REST face gives it (refusal_http.go). What somebody fills in is read by one
// rule, the house's (arguments.go). The server bounds bodies, answers and simultaneous requests before a door sees a request
// (server/doors.go).
package doors
