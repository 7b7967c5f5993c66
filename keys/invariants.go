package keys

import "openintent/internal/database"

// Invariants are the rules that the stored rows of this room keep.
func Invariants() []database.Invariant {
	return []database.Invariant{
		database.Refers("guests", "api_keys", "key_id"),
		{
			Rule: "an invite is for a channel of an intent, by somebody, and for a number of guests; another key is not",
			Of:   "api_keys",
			Broken: `FROM api_keys k WHERE (k.channel_id IS NULL) <> (k.intent_no IS NULL) OR (k.channel_id IS NULL) <> (k.max_agents IS NULL)
				OR k.channel_id IS NOT NULL AND (k.operator OR (SELECT COUNT(*) FROM guests g WHERE g.key_id = k.key_id) > k.max_agents)`,
			At: []string{"k.key_id"},
		},
		{
			Rule:   "one row says whether what servers remember of the keys still holds",
			Of:     "api_keys_state",
			Broken: "FROM (SELECT COUNT(*) AS found FROM api_keys_state) s WHERE s.found <> 1",
			At:     []string{"s.found"},
		},
	}
}
