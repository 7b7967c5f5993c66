// Package c2a tests the door for C2A from outside: with a harness that a test plays, over WebSockets and standard input and output,
// against running servers on each engine. The folder played has that harness.
package c2a
