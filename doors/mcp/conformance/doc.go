// Package conformance has what the conformance suite of the Model Context Protocol asks of a server under test: tools, prompts and
// resources with given names, which exercise parts of the protocol that no tool of the door needs.
//
// Only a program that is built with the tag "conformance" has them (see ../fixtures.go). `make conformance` builds it and runs the
// suite. A fixture's task has the door's form and passes the door's checks. What becomes of it is kept in memory (jobs.go). The suite's
// transport, its revisions, its refusals and all that is not in this package are the door's own.
package conformance
