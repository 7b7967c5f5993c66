// Package growth checks that calls read as many rows of a large database as of a small one.
//
// The test fills a database twice, the second time with ten times as much as the first, and makes the same calls after each. It counts the
// rows that the statements of a call give, on both engines. On PostgreSQL it also counts the rows and index entries that the statements
// read to find those, as PostgreSQL counts them. A session tells that when it ends, so each call has a server of its own there.
//
// bench growth measures the time of the same calls.
package growth
