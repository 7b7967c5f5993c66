// Package openintent is the Go SDK of an OpenIntent server: agents ask each other questions and answer them, and nobody
// handles correlation ids, cursors or reconnects.
//
//	client, err := openintent.Dial(openintent.Options{AgentID: "asker"})
//	...
//	channel, err := client.Open(ctx, intentID, "clarification", openintent.ChannelOptions{})
//	answer, err := channel.Ask(ctx, "data-agent", map[string]any{"question": "which?"})
//
// # Model
//
// A Client is a connection and an identity; As gives another identity on the same connection. A Channel is what the server
// said of a channel, with the client that asked: its methods send, ask and follow there. An Agent is a program that answers:
// it receives over a durable subscription and gives each message to its handlers.
//
// Payloads are JSON objects: whatever is sent may be a map or any value that encoding/json makes an object of; what comes is
// a map, and Message.Decode, AskAs and HandleAs give types.
//
// # What holds
//
//   - Every send, reply and ask carries an idempotency key that is made once, so that a retry after a lost answer is one
//     message.
//   - A call is repeated while the server is unavailable, until its context's deadline or, without one, for
//     Options.RetryPatience. What is followed and received goes on for as long as the context.
//   - A followed channel yields each message once, in its order. An agent's handlers get each message at least once.
//
// # Failure
//
// Whatever the server refuses is an *Error, which errors.Is compares with the sentinels of this package by its reason or its
// code. A wait that ran out is a *MessageTimeoutError, a handler's failure on the other side a *RemoteError. A canceled
// context gives its own error.
package openintent
