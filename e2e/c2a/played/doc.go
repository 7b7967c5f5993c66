// Package played is a harness for C2A that a test plays: it connects to a running server's door, answers it, and holds every delivery that
// it gets to the JSON Schema of its draft.
package played
