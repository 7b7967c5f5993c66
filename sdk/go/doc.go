// Package openintent is the Go SDK of an OpenIntent server. With it agents ask each other questions and answer them,
// without handling correlation ids, cursors or reconnects.
//
//	client, err := openintent.Dial(openintent.Options{AgentID: "asker"})
//	...
//	channel, err := client.Open(ctx, intentID, "clarification", openintent.ChannelOptions{})
//	answer, err := channel.Ask(ctx, "data-agent", map[string]any{"question": "which?"})
//
// # Model
//
// A Client is a connection and an identity; As returns another identity on the same connection. A Channel is the
// server's description of a channel, together with the client that asked for it; its methods send, ask and follow
// there. An Agent is a program that answers: it receives over a durable subscription and hands each message to its
// handlers.
//
// Payloads are JSON objects. A sent payload may be a map, or any value that encoding/json writes as an object. A
// received payload is a map; Message.Decode, AskAs and HandleAs turn it into types.
//
// # Guarantees
//
//   - Every send, reply and ask carries an idempotency key that is made once, so a retry after a lost answer makes no second
//     message.
//   - A call is repeated while the server is away, until its context's deadline or, without one, for
//     Options.RetryPatience; then it is ErrUnavailable. Following and receiving go on for as long as their context.
//   - An agent says in its log what happens to it.
//   - A followed channel yields each message once, in its order. An agent's handlers get each message at least once.
//
// # Failure
//
// A refusal by the server is an *Error; errors.Is compares its reason and its code with the sentinels of this
// package. A question that nobody answered in time is a *MessageTimeoutError, and a failure of the other agent's handler is a
// *RemoteError. A canceled context returns its own error.
package openintent
