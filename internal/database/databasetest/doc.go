// Package databasetest provides tests with a fresh database on each engine, a clock that the test sets, and faults.
//
// SQLite databases are files in the folder that OPENINTENT_TEST_MEMORY names, or else in the test's temporary directory. They
// are removed with the test. PostgreSQL databases are on the server that
// OPENINTENT_TEST_POSTGRES names (a postgres:// URL with a user that may create databases). Without this variable they are on a
// private server that starts once per test process and ends with it. In both cases a fresh database is a copy of a migrated
// template, which takes only milliseconds. The default collation of the templates is that of a language, as in production, so
// a test can notice a comparison that lacks COLLATE "C".
//
// If an engine is not available, the test fails; it is not skipped.
package databasetest
