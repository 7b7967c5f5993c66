// Command bench measures the server as its users experience it. It starts the server in separate processes. Each of
// its parts can be measured alone (-only):
//
//   - send: sends over gRPC and REST, and asks with a streaming responder, from one caller to many, on one channel and on
//     many; also sends on a few streams that do not wait for each answer. For comparison it measures one transaction for
//     each message with numbering under a lock, which is the design that group commit replaces, and the floor of an ask:
//     the same calls with nothing stored, plus two single-row commits.
//   - fanout: one sender's messages to streams of many agents. For comparison it measures the same with nothing stored,
//     each message encoded once for all streams.
//   - latency: from a send to its recipient's stream, on one replica and across two on one PostgreSQL.
//   - doors: sends through the doors, compared with the same over gRPC, and from a send to a waiting tool's answer.
//   - notifications: sends while a second replica listens, with and without notifications.
//   - allocations: what a send makes the server allocate, over gRPC and REST, compared with a server that stores nothing.
//   - replay: how long a replay of an intent with 200,000 messages (-replayed) takes, for the agent itself and for the operator. For
//     comparison it measures what it takes to ask the server about each message.
//   - memory: what idle streams cost the server, compared with gRPC streams of a server that does nothing. The server runs
//     in a separate process and reports its own use after a garbage collection, so the figures contain nothing of the
//     clients.
//
// bench growth measures calls on an empty database and on a filled one, up to ten million messages (grown.go).
//
// bench search measures searches, on a database of a million messages that it keeps (search.go).
//
// Clients, servers and databases share the machine. Machines are noisy: compare within a run, by the medians of its rounds.
//
// Run it with make bench, which starts a PostgreSQL that waits for the disk. make bench-compare compares this server
// with others; compare/doc.go explains it.
package main
