// Conformance runs the conformance suite of the Model Context Protocol against the door /mcp of a server, for each revision that the
// suite has requirements for, and prints the suite's figures. `make conformance` installs the suite and runs it.
//
// The program must be built with the tag "conformance", which gives the door the tools, prompts and resources that the suite asks for
// (doors/mcp/conformance). expected-failures has what the door does not do, with the reasons.
package main
