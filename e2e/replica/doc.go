// Package replica runs the rooms of a server within a test, so that the test can do to the server what a machine does: its clock
// steps, acknowledgements of its commits get lost, and it restarts at any time, which breaks off the calls that it serves. Agents
// of such a test live and fall silent by that clock.
//
// Several replicas share one database, as far as the engine allows it.
package replica
