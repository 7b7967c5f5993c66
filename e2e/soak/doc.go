// Package soak lets a server run for a long time, for seconds or for an hour, while agents come, talk and go.
// Afterwards the server must need no more than it needed before.
//
// # The load
//
// The load consists of lives. Several run simultaneously, others follow them, and all use real sockets. In a life an
// intent is created and channels are opened in it. Streams of every scope and kind begin; messages, questions and
// answers go through them; subscriptions are created, read and deleted. Then the streams end, the channels are closed
// or deleted, and the intent completes. Its messages are purged soon after. Some agents' streams last all the time.
//
// # What is measured
//
// Now and then the load rests: no life is running. Then nothing may be left of the lives that ended. At each rest the
// test records the heap that is in use after a garbage collection, the goroutines and the open files. A quantity
// grows by the median slope between any two rests, over the whole time. If it grows by more than a bound, the test
// fails and prints where the memory was allocated or where the goroutines wait.
//
// The server runs in the test's process, so that the test can read its profiles. The figures therefore include the
// clients' memory, which comes and goes like the server's. The server's caches are small here, so that they fill
// quickly; measurements from before the load has warmed up do not count.
//
// # Plans
//
// The same load serves to collect the statements that the server makes. On PostgreSQL each statement is planned on a
// database without rows and on one with many. In both cases the plan must use an index on the tables that grow, and
// read only the rows that the statement is about.
//
// # Rows
//
// Another test fills a database twice, the second time with ten times as much, and makes the same calls after each. It counts the rows
// that the statements of a call give, on both engines. On PostgreSQL it also counts the rows and index entries that the statements read to
// find those, as PostgreSQL counts them. A session tells that when it ends, so each call has a server of its own there. On SQLite nothing
// counts what is read. bench growth measures the times of such calls.
package soak
