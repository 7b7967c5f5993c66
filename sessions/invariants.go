package sessions

import "openintent/internal/database"

// Invariants are the rules that the stored rows of this room keep.
func Invariants() []database.Invariant {
	return []database.Invariant{
		{
			Rule:   "a session is that of a key, or of somebody for whom an identity provider vouches",
			Of:     "console_sessions",
			Broken: `FROM console_sessions s WHERE (s.key_check IS NULL) <> EXISTS (SELECT 1 FROM console_tokens t WHERE t.session_id = s.session_id)`,
			At:     []string{"s.session_id"},
		},
		database.Refers("console_tokens", "console_sessions", "session_id"),
		{
			Rule:   "only somebody who has yet to take a session over has not named an agent",
			Of:     "console_sessions",
			Broken: "FROM console_sessions s WHERE s.agent_id = '' AND s.code_until IS NULL",
			At:     []string{"s.session_id"},
		},
		{
			Rule:   "nobody has used a session before it began",
			Of:     "console_sessions",
			Broken: "FROM console_sessions s WHERE s.used_at < s.created_at",
			At:     []string{"s.session_id"},
		},
		{
			Rule:   "one seal signs the cookies of all servers",
			Of:     "console_state",
			Broken: "FROM console_state s WHERE s.one <> 1 OR octet_length(s.seal) <> 32",
			At:     []string{"s.one"},
		},
	}
}
