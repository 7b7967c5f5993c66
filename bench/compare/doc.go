// Command compare contains the peers of bench's comparison between this server and others: programs that are measured
// for comparison and must not become dependencies of the server. For that reason it is a separate module.
//
// # The comparison
//
// make bench-compare starts every contestant on loopback, lets them take turns within each round, repeats the rounds,
// and writes bench/RESULTS.md with plots next to it. Its parts (-only) are each in a file bench/compare_*.go or
// bench/growth*.go:
//
//   - send: sends from few callers to many, on one channel and on many, and on streams of sends.
//   - ask: questions and their answers, with the floor of an ask: its calls with nothing stored, and two commits.
//   - disk: sends on a PostgreSQL whose flushes cost 1 ms more.
//   - fanout: one sender's messages to many streams.
//   - agents: broadcasts to many agents' durable subscriptions, each acknowledged, beside the same to a channel's streams.
//   - stored: broadcasts to many agents' own logs, and to many agents that fetch.
//   - webhooks: broadcasts that are posted for many agents.
//   - options: audit and notifications on and off, and the memory of an idle stream.
//   - sdks: an ask by each SDK of an agent that the same SDK runs, beside bare calls and beside the published package, on this
//     server and on its own; also sends through one client of the Go SDK, beside bare calls and JetStream's client.
//   - growth: whether a message costs the same as channels, members, agents, events and messages grow by factors of ten,
//     and a list after a cursor too, beside the list of a server that has few messages.
//
// A ratio is the median of the rounds' ratios, because a disturbance of the machine in one round affects all
// contestants of that round. The processor time of a contestant is that of its server processes, including its
// database, as the operating system counts it in steps of 10 ms, divided by the number of messages. It does not
// include the load's, except for the bare insert, which is server and load in one process. The results list what each
// contestant syncs before it acknowledges: contestants with different promises cannot be ranked by their figures.
//
// When something cannot be started here (no gcc, no pgbench, no Python, no Node.js), it is left out, and the results
// say so. When a part fails or hangs, the others are still measured; the results contain what the part measured until
// then, and the run prints the reason and ends with an error. The run prints beforehand about how long it takes, and
// then its progress.
//
// # The peers
//
// The bench starts this command as separate processes, as it does with every contestant, so that servers and load are
// separated in the same way as for this server:
//
//   - compare nats DIRECTORY [always] serves NATS with JetStream on file storage. By default JetStream writes a message to
//     its file before it acknowledges, and has the file synced every two minutes; with always it syncs before each
//     acknowledgement, which is what this server promises.
//   - compare drive is the load. It reads a job from each line of its input and answers each with a line of figures.
//
// The jobs:
//
//   - publish: JetStream publishes, each waiting for its acknowledgement.
//   - publish async: the same by the client's asynchronous publishing; each caller waits for its acknowledgement.
//   - request: request and reply of NATS without JetStream. Nothing is stored.
//   - ask: the same with both messages stored: the request is published to JetStream, delivered from the stream to a
//     responder, answered by a publish to JetStream, and the answer delivered from the stream to who asked. NATS knows no
//     correlation, recipients or open requests; the job does what is needed of that in memory.
//   - insert: the limit of this server's design on PostgreSQL: one goroutine takes the messages that wait and stores them
//     with their numbers in one statement, in a table like the server's. Nothing is checked and there is no network
//     between callers and writer.
//
// published.py drives the published Python server, or this one, with the published client in the same way. The
// programs in sdks are the agents and the askers of the SDKs; for the Go SDK, the bench itself plays both.
// slowdisk/flush.c makes a disk slow.
//
// The NATS server and the load end when their input does, and so when their parent ends.
package main
