// Command compare holds the peers of the comparison that bench makes of this server with others (bench compare): what is
// measured beside it and must not be among the server's own dependencies. It is a module of its own for that reason.
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
// published.py drives the published Python server with its own client in the same way, and slowdisk/flush.c makes a disk slow.
//
// Both end when their input does, and so with their parent.
package main
