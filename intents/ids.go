package intents

import "github.com/google/uuid"

// newID makes the identifier of an intent, an event, an assignment, a coordinator or an access entry: a UUID of version 7.
// It begins with the time and rises from call to call, so that new rows go to the end of an index instead of all over it.
// Rows of earlier versions have UUIDs of version 4. Nothing reads an identifier: order comes from positions and times.
func newID() string { return uuid.Must(uuid.NewV7()).String() }
