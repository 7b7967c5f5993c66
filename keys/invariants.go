package keys

import "openintent/database"

// Invariants are the rules that the stored rows of this room keep.
func Invariants() []database.Invariant {
	return []database.Invariant{
		database.Refers("guests", "api_keys", "key_id"),
		{
			Rule:   "one row says whether what servers remember of the keys still holds",
			Of:     "api_keys_state",
			Broken: "FROM (SELECT COUNT(*) AS found FROM api_keys_state) s WHERE s.found <> 1",
			At:     []string{"s.found"},
		},
	}
}
