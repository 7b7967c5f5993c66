// Package backups tests what docs/backups.md promises to who runs a server: that a backup of a busy server can be restored, that
// PostgreSQL can be brought back to a moment, and that `openintent check` finds what is wrong with a database.
//
// The check is held to planted faults: for each of its rules, a test changes rows so that they break the rule, and the check must name
// it. A rule without a planted fault fails the test. On a database that nobody tampered with, the check must find nothing, also while
// a server works on it.
//
// Clients that run while the database goes back, in every way in which they receive and wait, get what is sent afterwards, or are told.
package backups
