package search

import "openintent/internal/database"

// Invariants are the rules that the stored rows of this room keep.
func Invariants() []database.Invariant {
	return []database.Invariant{
		database.Refers("search_cursors", "intents", "intent_no"),
		database.Refers("search_removals", "intents", "intent_no"),
		database.Refers("search_keepers", "intents", "intent_no"),
		database.Refers("search_holes", "intents", "intent_no"),
		{
			Rule:   "one row says which version the index has",
			Of:     "search_state",
			Broken: "FROM (SELECT COUNT(*) AS found FROM search_state) s WHERE s.found <> 1",
			At:     []string{"s.found"},
		},
		{
			Rule:   "the index of no intent is ahead of its log",
			Of:     "search_cursors",
			Broken: "FROM search_cursors c JOIN intent_heads h ON h.intent_no = c.intent_no WHERE c.position > h.last_position",
			At:     []string{"c.intent_no", "c.position", "h.last_position"},
		},
		{
			Rule:   "what the index lacks of a log has a beginning and an end",
			Of:     "search_holes",
			Broken: "FROM search_holes g WHERE g.low < 0 OR g.high <= g.low",
			At:     []string{"g.intent_no", "g.low", "g.high"},
		},
		{
			Rule: "the index has nothing that lies after its cursor",
			Of:   "search_documents",
			Broken: `FROM search_documents d LEFT JOIN search_cursors c ON c.intent_no = d.intent_no
				WHERE d.position > COALESCE(c.position, 0)`,
			At: []string{"d.intent_no", "d.position"},
		},
		{
			Rule: "each message of the index is stored, or noted as removed",
			Of:   "search_documents",
			Broken: `FROM search_documents d
				WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE m.intent_no = d.intent_no AND m.position = d.position)
				AND NOT EXISTS (SELECT 1 FROM search_removals r WHERE r.intent_no = d.intent_no)`,
			At: []string{"d.intent_no", "d.position"},
		},
	}
}
