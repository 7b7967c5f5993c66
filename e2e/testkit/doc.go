// Package testkit tests the test kits of the SDKs with the program as it is built: that time stands and moves, that scripted peers do what their
// script says, and that assertions say what is wrong. The kits of Python and TypeScript have tests of their own in their languages, which run
// here. The programs of docs/testing.md run, too.
//
// No test sleeps: what waits for a time waits for the test's clock.
package testkit
