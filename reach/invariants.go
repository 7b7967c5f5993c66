package reach

import "openintent/internal/database"

// Invariants are the rules that the stored rows of this room keep.
func Invariants() []database.Invariant {
	return []database.Invariant{
		{
			Rule:   "each open path is at a server that is known",
			Of:     "agent_paths",
			Broken: "FROM agent_paths p WHERE NOT EXISTS (SELECT 1 FROM replicas r WHERE r.replica = p.replica)",
			At:     []string{"p.agent_id", "p.kind", "p.replica"},
		},
		{
			Rule:   "only a wake says when it last called",
			Of:     "agent_paths",
			Broken: "FROM agent_paths p WHERE (p.kind = 'wake') <> (p.proven_at IS NOT NULL)",
			At:     []string{"p.agent_id", "p.kind", "p.replica"},
		},
		{
			Rule:   "an agent that showed messages says when it last did",
			Of:     "agent_reach",
			Broken: "FROM agent_reach a WHERE a.surfaces_in IS NOT NULL AND a.surfaced_at = 0",
			At:     []string{"a.agent_id"},
		},
	}
}
