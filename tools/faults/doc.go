// Command faults plants faults in a copy of the code, one after the other, and says which tests notice each of them.
//
// A fault is what a careless change could break: some lines of a file, and what would stand there instead. The lists are in rooms/, a file for
// each room of the code. A fault that no test notices is a rule that no test shows, and makes the command fail; so does a fault that no
// longer fits the code. The tests of this package check quickly that every fault still fits.
//
// A fault in the sources of the web console is built into pages that the tests show in Chromium in place of the server's own.
//
//	go -C tools run ./faults [-rooms leases,keys] [-match 'second process'] [-jobs 2]
//
// Files, from the first to read: list.go (faults and their lists), plant.go (a copy with one fault), run.go (the tests that must notice).
package main
