// Package caller carries who is calling, as package server proved it, through a request's context.
//
// A Caller is made once per call from the API key and the X-Agent-ID header and never from a request's body. Domain
// rooms ask it two things: who acts (ActAs, for the names that bodies may repeat) and whether the operator acts.
// A context without a Caller belongs to the server itself (sweepers, start-up) and may be handed no client's request.
package caller
