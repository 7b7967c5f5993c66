package agents

import (
	"time"

	"openintent/internal/database"
)

// Whereabouts is what the records say of the agents that an address means: one agent, or the holders of a role.
type Whereabouts struct {
	// Present are the records of those that take part now, by agent.
	Present map[string]Presence
	// Away is how many others have a record, which says that they are dead or have left.
	Away int
	// LastSeen is the last sign of life of those that are away; zero without any.
	LastSeen time.Time
}

// PrepareNames returns the statement that reads the names of agents that take part now, or of the roles that they hold, and the names. It
// reads at most so many.
func PrepareNames(roles bool, most int) (*[]string, database.Statement) {
	column := "agent_id"
	if roles {
		column = "role_id"
	}
	names := new([]string)
	return names, database.Statement{
		SQL:  "SELECT DISTINCT " + column + " FROM agents WHERE " + presentStatuses + " AND " + column + " IS NOT NULL ORDER BY " + column + " LIMIT ?",
		Args: []any{most},
		Scan: func(row database.Row) error {
			var name string
			err := row.Scan(&name)
			*names = append(*names, name)
			return err
		},
	}
}

// WhereaboutsOf returns the statements that read the whereabouts of an agent and what they fill.
func WhereaboutsOf(agentID string) ([]database.Statement, *Whereabouts) {
	return whereabouts("agent_id = ?", agentID)
}

// WhereaboutsOfRole is WhereaboutsOf for the agents whose record names a role.
func WhereaboutsOfRole(roleID string) ([]database.Statement, *Whereabouts) {
	return whereabouts("role_id = ?", roleID)
}

func whereabouts(condition string, argument any) ([]database.Statement, *Whereabouts) {
	present, found := preparePresences(condition+" AND "+presentStatuses, argument)
	w := &Whereabouts{Present: found}
	return []database.Statement{present, {
		SQL:  "SELECT count(*), COALESCE(max(last_heartbeat_at), 0) FROM agents WHERE " + condition + " AND NOT " + presentStatuses,
		Args: []any{argument},
		Scan: func(row database.Row) error {
			var lastSeen int64
			err := row.Scan(&w.Away, &lastSeen)
			if lastSeen > 0 {
				w.LastSeen = database.Time(lastSeen)
			}
			return err
		},
	}}, w
}
