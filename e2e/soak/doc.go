// Package soak lets a server live for long: agents come, talk and go, for an hour or for seconds, and what the server
// needs afterwards must be what it needed before.
//
// # The load
//
// Lives follow each other, several at once, all over real sockets: an intent is made, channels are opened in it, streams of
// every scope and kind begin, messages, questions and answers go through them, subscriptions are made, received from and
// deleted; then the streams end, the channels are closed or deleted and the intent completes. Its messages are purged soon
// after. Some agents' streams last all the while.
//
// # What is measured
//
// Now and then the load rests: no life is under way. Then nothing may be left of those that ended. The heap that is in use
// after collecting garbage, the goroutines and the open files are noted at each rest; whatever grows with the number of
// rests (the median slope between any two of them, over the whole time) by more than a bound fails the test, which says
// where the memory was allocated or where the goroutines wait.
//
// The server runs in the test's process, so that its profiles can be read; the clients' memory is in the figures too, and
// they come and go as the server's does. The server's caches are small here, so that they are full
// soon: what is measured before the load has warmed up does not count.
//
// # Plans
//
// The same load serves to find the statements that the server makes. On PostgreSQL each is planned on a database without
// rows and on one with many: it must reach the tables that grow by an index in both, down to the rows that it is about.
package soak
