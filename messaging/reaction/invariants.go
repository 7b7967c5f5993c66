package reaction

import "openintent/internal/database"

// Invariants are the rules that the stored rows of this room keep.
func Invariants() []database.Invariant {
	return []database.Invariant{
		{
			Rule: "each reaction is an annotation of its message",
			Of:   "reactions",
			Broken: `FROM reactions r LEFT JOIN annotations a ON a.intent_no = r.intent_no AND a.position = r.position
				WHERE a.position IS NULL OR a.message_position <> r.message_position OR a.agent_id <> r.agent_id`,
			At: []string{"r.intent_no", "r.message_position", "r.agent_id", "r.signal"},
		},
	}
}
