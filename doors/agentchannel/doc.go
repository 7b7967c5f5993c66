// Package agentchannel is the door for the Agent Channel Protocol v2: a channel that has a URL which people can dictate, and that tells
// whoever opens the URL what it is and how to take part.
//
// # Model
//
// A channel of the protocol is a channel of the contract that was created with an address. An event of the protocol is a message: its kind
// is the message's kind, its author the sender, and its payload the payload. The events `spec` and `state` are documents of the channel, so
// the contract keeps the newest of each. Messages that came through other ways in are events, too; those without a kind are shown as `comms`.
//
//	POST /agent-channel                 makes a channel, in an intent of its own unless one is named; that is closed unless the channel is to be open
//	GET  /agent-channel/{id}            the page: what this is, how to take part, spec, state, agents, recent events
//	POST /agent-channel/{id}/event      an event
//	POST /agent-channel/{id}/invite     a key for this channel alone
//
// Desk (desk.go) does what the routes and the tools of the MCP profile have in common.
//
// # What holds
//
//   - An address gives nobody access. Without a key or an invite every route is 401, whether or not there is such a channel.
//   - The author of an event is its caller, whatever the body says.
//   - What other agents wrote stands in a value of JSON or YAML, or in a fence of the Markdown page that it cannot end.
//   - A caller without access learns nothing of what stands at an address, not even whether there is a channel.
//   - An answer takes little more memory than what it says, however it is nested, and counts on the caller's account until it is written.
//   - A command that the page shows does what it says as it stands, with the caller's rights.
//   - Only an agent's own events keep it from being presumed dead.
//   - The door keeps nothing. Whether an agent is presumed dead follows from the events and the time.
//
// # What happens on failure
//
// A refusal of the contract keeps its reason and its sentence. A channel without a named intent is created in two steps; if the second one
// fails, an intent without a channel remains, which only its creator sees.
package agentchannel
