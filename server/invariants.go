package server

import (
	"openintent/agents"
	"openintent/channels"
	"openintent/contacts"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/keys"
	"openintent/leases"
	"openintent/messaging"
	"openintent/reach"
	"openintent/search"
	"openintent/sessions"
	"openintent/subscriptions"
	"openintent/tasks"
)

// RoomInvariants are the rules that the stored rows of one room keep.
type RoomInvariants struct {
	Room       string
	Invariants []database.Invariant
}

// Invariants returns the rules of all rooms, from the lowest to the highest.
func Invariants(engine database.Engine) []RoomInvariants {
	return []RoomInvariants{
		{"database", database.FileInvariants(engine)},
		{"intents", intents.Invariants()},
		{"reach", reach.Invariants()},
		{"tasks", tasks.Invariants()},
		{"agents", agents.Invariants()},
		{"channels", channels.Invariants()},
		{"messaging", messaging.Invariants()},
		{"keys", keys.Invariants()},
		{"sessions", sessions.Invariants()},
		{"contacts", contacts.Invariants()},
		{"leases", leases.Invariants()},
		{"search", search.Invariants()},
		{"subscriptions", subscriptions.Invariants()},
	}
}
