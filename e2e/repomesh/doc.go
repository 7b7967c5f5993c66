// Package repomesh tests the door for RepoMesh's protocol from outside: over REST and as tools over MCP, against a running server on each
// engine. harness_test.go has the agents; each further file has one subject.
package repomesh
