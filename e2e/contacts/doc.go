// Package contacts lets questions find people who are not looking, on whole servers: what ends a call, who is there and has seen it, and what
// the documents show. The posts go to stand-ins on this machine.
package contacts
