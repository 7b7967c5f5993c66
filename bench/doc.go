// Command bench measures the server as its users meet it: sends over gRPC and REST, and asks with a streaming responder,
// on SQLite and PostgreSQL, from one caller to many, on one channel and on many. It starts the server as a process of its
// own for each engine.
//
// In the same run it measures what the figures are to be compared with: on each engine one transaction for each message
// with numbering under a lock, the design that group commit replaces; and the floor of an ask, which is the same calls with
// nothing stored, plus two single-row commits. Machines are noisy: compare within a run, by the medians of its rounds.
//
// Run it with make bench, which brings a PostgreSQL that waits for the disk.
package main
