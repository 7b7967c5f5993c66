package intents

import "github.com/google/uuid"

// newID makes the identifier of an intent, an event, an assignment, a coordinator or an access entry: a UUID of version 7.
// It begins with the time and rises from call to call, so new rows go to the end of an index and not to random places.
// Rows of earlier versions have UUIDs of version 4. Nothing interprets an identifier: order comes from positions and times.
func newID() string { return uuid.Must(uuid.NewV7()).String() }
