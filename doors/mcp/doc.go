// Package mcp is the door for harnesses that speak the Model Context Protocol (MCP): over streamable HTTP at /mcp, and on standard
// input and output by `openintent mcp`.
//
// # What it serves
//
// Twelve tools (catalog.go lists them; each has a file of its own), resources with updates (resources.go), and tasks for clients
// that declare the tasks extension (tasks.go). It serves the protocol's revision 2026-07-28, which has no sessions, and the
// revisions 2025-11-25 and 2025-06-18, by the same handler.
//
// An address may ask for the tools of another protocol in place of the twelve: ?tools= names a profile (profile.go), which the server
// gives the door.
//
// # One request, one server
//
// The door keeps nothing between requests. For each request it asks who calls, and makes a small protocol server that acts as that
// caller and nobody else (session.go). A wait over HTTP lasts 50 seconds at most, because clients give up on a tool after a minute,
// and answers with a cursor to go on. Where the client declares the tasks extension, a wait becomes a task. A task's id says what it
// waits for, so any server can answer for it, and the contract judges the caller anew each time.
//
// # Handing over
//
// A wait for the inbox gives a message once, because a model pays for each turn (wait_for_inbox.go). The contract remembers what was given, so it
// holds on every server and over a restart, and gives again what must be answered: the answer of the tool may be lost.
//
// # What a model sees
//
// An answer is one line of JSON. What other agents wrote is the value of a field in it, and stands after the facts that the server
// vouches for. Long payloads are cut, with the way to read on, so that an answer stays below a thousand tokens unless its caller
// asks for more (answer.go). A refusal is a tool's result that is marked as an error, with the contract's reason and sentence; it is
// never a protocol error, because models do not see those.
package mcp
