package leases

import "openintent/internal/database"

// Invariants are the rules that the stored rows of this room keep.
func Invariants() []database.Invariant {
	return []database.Invariant{
		database.Refers("leases", "intents", "intent_no"),
		database.Refers("lease_waiters", "intents", "intent_no"),
		{
			Rule:   "nobody holds a lease in an intent that has ended",
			Of:     "leases",
			Broken: "FROM leases l JOIN intent_heads h ON h.intent_no = l.intent_no WHERE h.ended_at IS NOT NULL",
			At:     []string{"l.id", "l.scope"},
		},
		{
			Rule: "each lease has a fence of its own, a time of the intent's log",
			Of:   "leases",
			Broken: `FROM leases l JOIN intent_heads h ON h.intent_no = l.intent_no WHERE l.fence > h.last_at
				OR EXISTS (SELECT 1 FROM leases o WHERE o.intent_no = l.intent_no AND o.fence = l.fence AND o.scope <> l.scope)`,
			At: []string{"l.id", "l.scope", "l.fence"},
		},
	}
}
