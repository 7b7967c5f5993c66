package agents

import "openintent/database"

// Invariants are the rules that the stored rows of this room keep.
func Invariants() []database.Invariant {
	return []database.Invariant{
		{
			Rule:   "an agent that holds a role has held it since some time",
			Of:     "agents WHERE role_id IS NOT NULL",
			Broken: "FROM agents a WHERE a.role_id IS NOT NULL AND a.role_since IS NULL",
			At:     []string{"a.agent_id", "a.role_id"},
		},
		{
			Rule:   "an agent that is presumed dead since some time is dead",
			Of:     "agents WHERE presumed_dead_at IS NOT NULL",
			Broken: "FROM agents a WHERE a.presumed_dead_at IS NOT NULL AND a.status <> 'dead'",
			At:     []string{"a.agent_id", "a.status"},
		},
	}
}
