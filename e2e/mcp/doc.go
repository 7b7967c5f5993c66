// Package mcp tests the door for MCP from outside: with the protocol's official client, over streamable HTTP, against a running server
// on each engine. harness_test.go connects agents of any revision of the protocol; each further file has one subject.
package mcp
