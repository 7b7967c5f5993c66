// Command compare holds the peers of the comparison that bench makes of this server with others: what is measured beside it
// and must not be among the server's own dependencies. It is a module of its own for that reason.
//
// # The comparison
//
// make bench-compare starts every contestant on loopback, lets them take turns within each round, repeats, and writes
// bench/RESULTS.md with plots beside it. Its parts (-only), each in a file bench/compare_*.go or bench/growth*.go:
//
//   - send: sends from few callers to many, on one channel and on many, and on streams of sends.
//   - ask: questions and their answers, with what an ask takes at least: its calls with nothing stored, and two commits.
//   - disk: sends on a PostgreSQL whose flushes cost 1 ms more.
//   - fanout: one sender's messages to many streams.
//   - options: audit and notifications on and off, and the memory of an idle stream.
//   - sdks: an ask by each SDK of an agent that the same SDK runs, beside bare calls and beside the published package, on this
//     server and on its own.
//   - growth: whether a message costs the same as channels, members, agents, events and messages grow by factors of ten,
//     and a list after a cursor too, beside the list of a server that has few messages.
//
// A ratio is the median of the rounds' ratios: what the machine did to one contestant in a round, it did to its neighbours. The
// processor time of a contestant is that of its server processes, its database included, as the operating system counts it in
// steps of 10 ms, divided by the messages; the load's is not in it, except for the bare insert, which is server and load in
// one. The results say of each contestant what is synced when it acknowledges: figures of unlike promises are no race.
//
// What cannot be started here (no gcc, no pgbench, no Python, no Node.js) is left out, and the results say so. A part that fails, or hangs,
// does not keep the others from being measured: its results are those until then, the run says why, and ends with an error.
// It says beforehand about how long it takes, and goes on saying how far it has come.
//
// # The peers
//
// The bench starts it as processes, as it does with every contestant, so that servers and load are as far apart as they
// are for this server:
//
//   - compare nats DIRECTORY [always] serves NATS with JetStream on file storage. By default JetStream writes a message to
//     its file before it acknowledges, and has the file synced every two minutes; with always it syncs before each
//     acknowledgement, which is what this server promises.
//   - compare drive is the load. It reads a job from each line of its input and answers each with a line of figures.
//
// The jobs:
//
//   - publish: JetStream publishes, each waiting for its acknowledgement.
//   - request: request and reply of NATS without JetStream. Nothing is stored.
//   - ask: the same with both messages stored: the request is published to JetStream, delivered from the stream to a
//     responder, answered by a publish to JetStream, and the answer delivered from the stream to who asked. NATS knows no
//     correlation, recipients or open requests; the job does what is needed of that in memory.
//   - insert: the limit of this server's design on PostgreSQL: one goroutine takes the messages that wait and stores them
//     with their numbers in one statement, in a table like the server's. Nothing is checked and there is no network
//     between callers and writer.
//
// published.py drives the published Python server, or this one, with the published client in the same way; the programs in sdks
// are the agents and the askers of the SDKs (the Go SDK's are the bench itself). slowdisk/flush.c makes a disk slow.
//
// Both end when their input does, and so with their parent.
package main
