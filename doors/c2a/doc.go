// Package c2a is the door for harnesses that speak the Chat-to-Agents protocol (C2A): JSON-RPC 2.0 on a WebSocket at /c2a, and on
// standard input and output by `openintent c2a`. It serves the drafts 2026-06-02 and 2026-06-24.
//
// # One harness, one connection
//
// The server is the protocol's host. A harness connects as its agent and sends `initialize` (terms.go). From then on the door makes the
// deliveries of the agent's durable subscription, each as a request `chat/deliver`, and the harness's answer is the acknowledgement
// (deliver.go, pending.go). So the contract remembers what the harness has, and any server goes on after that. A new connection of
// an agent takes the place of the one before, wherever that is.
//
// # Events
//
// envelope.go turns a delivery into the form of the harness's draft, and injection.go says how much of it a model is to see: as
// attention says, or less if the harness does not take that. A knock and a digest hold nothing of a payload. What happens to a message
// later becomes an event of its own or the end of one (annotation.go, expected.go).
//
// The folder schema has the JSON Schema of the deliveries of each draft. Tests hold every delivery to it.
//
// # Tools
//
// The seven tools are in the package chat, which the MCP profile of the same name uses too.
//
// # Bounds and failure
//
// A message of the harness has a largest size and a time in which it must arrive (socket.go). The door answers one request after the
// other, makes no further delivery while 64 are unanswered, and cuts off a harness that does not read what is sent to it. A
// connection that the door ends is closed with the reason. A delivery that is lost with its connection comes again.
package c2a
