// Package agentdata tests what docs/personal-data.md promises: that an export has all that a database has of an agent, and no secret, and
// that after an erasure nothing is left of it but what the page says, while other agents go on and the database stays whole.
package agentdata
