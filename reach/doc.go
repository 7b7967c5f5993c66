// Package reach knows whether anybody will hear what is sent to an agent. A heartbeat says that a program lives; reach says that something
// of the agent's would get a message now: which paths to it are open, since when, and when the other end last proved that it is there.
//
// # Paths
//
// A path is one way in which an agent hears: a stream, a call that waits, a connection of C2A, a webhook, a running `openintent wake`
// (path.go). Whoever serves one says so for as long as it is open, with Hear and the context of the call, and knows nothing else of this
// room:
//
//	defer reach.Hear(ctx, reach.Stream)()
//
// The server puts into that context which agent calls and how (hearing.go). Here keeps what is open on this replica (paths_of_this_replica.go). A webhook is
// open or not by what is stored of its subscription, so the room of subscriptions is asked for it when reach is read.
//
// # Replicas
//
// Each replica writes its own open paths, when they open and close, all together and at most once a second; and, every five seconds, that it
// lives itself (paths_written.go). Another replica counts these rows as long as their replica was seen in the last fifteen seconds. So the death of a
// replica takes its paths away by itself, and a clean end of a path is known within a second here and within a few elsewhere.
//
// # Cost
//
// A call notes its time in an entry that the server keeps with its key's account. A plain send has no statement, no round trip and no
// allocation for it. What was heard, offered and surfaced is written with the paths, by one statement for all agents, and each agent at most
// every ten seconds.
//
// # Proof
//
// A frozen client keeps its connection. A gRPC stream and a connection of C2A are asked every ten seconds and end five seconds later without
// an answer; so an open one proved that its other end is there no longer than askedWithin ago. A `wake` proves it by calling again, and
// counts for wakeFor after a call. A stream over REST and a call that waits cannot be asked. They count as long as their connection stands, and
// prove only that somebody was there when they began.
package reach
