// Command bench measures the server as its users meet it. It starts the server as processes of its own. The parts, each of
// which can be measured by itself (-only):
//
//   - send: sends over gRPC and REST, and asks with a streaming responder, from one caller to many, on one channel and on
//     many; sends on a few streams that do not wait for each answer. Beside them one transaction for each message with
//     numbering under a lock, the design that group commit replaces; and the floor of an ask, which is the same calls with
//     nothing stored, plus two single-row commits.
//   - fanout: one sender's messages to streams of many agents. Beside it the same with nothing stored, each message encoded
//     once for all streams.
//   - latency: from a send to its recipient's stream, on one replica and across two on one PostgreSQL.
//   - notifications: sends while a second replica listens, with and without notifications.
//   - allocations: what a send makes the server allocate, over gRPC and REST, beside a server that stores nothing.
//   - memory: what idle streams cost the server, beside gRPC streams of a server that does nothing. The server says itself
//     what it uses, in a process of its own after collecting garbage, so nothing of the clients is in it.
//
// Clients, servers and databases share the machine. Machines are noisy: compare within a run, by the medians of its rounds.
//
// Run it with make bench, which brings a PostgreSQL that waits for the disk. How this server stands beside others is measured
// by make bench-compare, which compare/doc.go explains.
package main
