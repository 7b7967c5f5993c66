// Package chat holds what the door for C2A and the MCP profile of the same name share: events as the protocol shows them, and the
// seven tools by which an agent reads, writes and reacts.
//
// # Events
//
// An event is a message (event.go). Its id is the message's; an event that is made later because of the same message adds what made
// it (id.go). What other agents wrote stands in the event's content and nowhere else, as the value of JSON strings that no text can end.
//
// # Tools
//
// Each tool has a file of its own and is composed of calls of the contract, with the caller's credentials. A tool takes messages by the id
// of an event, in `inReplyTo`. The tools hold nothing between calls.
package chat
