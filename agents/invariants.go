package agents

import "openintent/internal/database"

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
		{
			Rule:   "an agent refuses somebody if, and only if, its record says so",
			Of:     "agents",
			Broken: "FROM agents a WHERE (a.refusals IS NOT NULL) <> EXISTS (SELECT 1 FROM refusals r WHERE r.agent_id = a.agent_id)",
			At:     []string{"a.agent_id"},
		},
		{
			Rule:   "whoever refuses somebody has a record",
			Of:     "refusals",
			Broken: "FROM refusals r WHERE NOT EXISTS (SELECT 1 FROM agents a WHERE a.agent_id = r.agent_id)",
			At:     []string{"r.agent_id", "r.sender"},
		},
	}
}
