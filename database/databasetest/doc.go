// Package databasetest gives each test a fresh database on each engine, a clock that the test sets, and faults.
//
// SQLite databases are files in the folder that OPENINTENT_TEST_MEMORY names, or else in the test's temporary directory, and
// are removed with the test. PostgreSQL databases live in the server that
// OPENINTENT_TEST_POSTGRES names (a postgres:// URL whose user may create databases), or else in a private server that
// is started once for the test process and ends with it. Either way a fresh database is a copy of a migrated template,
// made within milliseconds. The templates' default collation is a language's, as in production: a comparison that
// forgot COLLATE "C" shows.
//
// An engine that cannot be had fails the test; nothing is skipped.
package databasetest
