// Package c2a tests the door for C2A from outside: with a harness that a test plays, over WebSockets and standard input and output,
// against running servers on each engine. harness_test.go is that harness. It holds every delivery that it gets to the JSON Schema of
// its draft.
package c2a
