// Package caller carries the identity of the caller, which package server has proved, through a request's context.
//
// The server makes one Caller per call, from the API key and the X-Agent-ID header and never from a request's body. Domain
// rooms ask it two things: which agent acts (ActAs, for the names that bodies may repeat) and whether the operator acts.
// A context without a Caller belongs to the server itself (sweepers, start-up) and must never carry a client's request.
package caller
