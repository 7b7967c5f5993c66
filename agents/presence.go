package agents

import (
	"time"

	"openintent/internal/database"
)

// Presence is the part of an agent's record that decides whether messages to a role are for it, and which of its
// memberships still count.
type Presence struct {
	AgentID, RoleID string
	// RoleSince is when the agent took the role; zero without one. RoleSinceIn returns the time that counts in an intent.
	RoleSince time.Time
	// roleAhead lists the intents in which the agent holds the role from a later time on, as JSON: microseconds by intent
	// number.
	roleAhead string
	Status    Status
	// DepartedAt is the time of the last deregistration; zero when there was none.
	DepartedAt time.Time
	// Version starts anew with each registration, so compare whole presences to see whether anything changed.
	Version int64
	// Refusals is a number that each change of the senders that the agent refuses draws anew; 0 while it refuses nobody.
	Refusals int64
}

// HoldsRole reports whether messages to the role are for this agent now.
func (p Presence) HoldsRole(role string) bool {
	return role != "" && p.RoleID == role && p.Status.Present()
}

// Role returns the role whose messages are for this agent now, or "".
func (p Presence) Role() string {
	if p.HoldsRole(p.RoleID) {
		return p.RoleID
	}
	return ""
}

// LoadPresences reads the presences of the agents in one statement. Agents without a record are absent from the map.
func LoadPresences(tx *database.Tx, agentIDs []string) (map[string]Presence, error) {
	if len(agentIDs) == 0 {
		return map[string]Presence{}, nil
	}
	statement, presences := PreparePresences(tx, agentIDs)
	return presences, tx.Pipeline(statement)
}

// PreparePresences is LoadPresences for a pipeline of statements: the statement fills the map when it runs.
func PreparePresences(tx *database.Tx, agentIDs []string) (database.Statement, map[string]Presence) {
	condition, ids := tx.In("agent_id", agentIDs)
	return preparePresences(condition, ids)
}

// PrepareHolders returns the statement that reads the presences of the agents that hold a role now, and the map that it
// fills.
func PrepareHolders(roleID string) (database.Statement, map[string]Presence) {
	return preparePresences("role_id = ? AND "+presentStatuses, roleID)
}

// PrepareHeld returns the statement that calls the function if an agent holds the role now.
func PrepareHeld(roleID string, held func()) database.Statement {
	return database.Statement{
		SQL:  "SELECT 1 FROM agents WHERE role_id = ? AND " + presentStatuses + " LIMIT 1",
		Args: []any{roleID},
		Scan: func(row database.Row) error {
			var one int64
			held()
			return row.Scan(&one)
		},
	}
}

// presentStatuses says in SQL what Status.Present says in Go.
const presentStatuses = "status IN ('active', 'draining', 'unhealthy')"

func preparePresences(condition string, argument any) (database.Statement, map[string]Presence) {
	presences := make(map[string]Presence)
	return database.Statement{
		SQL:  "SELECT agent_id, role_id, role_since, role_ahead, status, departed_at, version, refusals FROM agents WHERE " + condition,
		Args: []any{argument},
		Scan: func(row database.Row) error {
			var p Presence
			var role, ahead *string
			var since, departed, refusals *int64
			if err := row.Scan(&p.AgentID, &role, &since, &ahead, &p.Status, &departed, &p.Version, &refusals); err != nil {
				return err
			}
			p.RoleID, p.RoleSince, p.roleAhead = text(role), database.TimeOrZero(since), text(ahead)
			p.DepartedAt, p.Refusals = database.TimeOrZero(departed), number(refusals)
			presences[p.AgentID] = p
			return nil
		},
	}, presences
}

// RefuseChanged returns statements that make the transaction fail if the presence of one of the agents has changed since it
// was read; database.IsData recognizes the error. An agent without a presence in the map must still have no record.
func RefuseChanged(tx *database.Tx, agentIDs []string, presences map[string]Presence) []database.Statement {
	n := len(agentIDs)
	roles, statuses, aheads := make([]*string, n), make([]*string, n), make([]*string, n)
	sinces, departedAts, versions, refusals := make([]*int64, n), make([]*int64, n), make([]*int64, n), make([]*int64, n)
	for i, agentID := range agentIDs {
		if p, recorded := presences[agentID]; recorded {
			roles[i], statuses[i] = database.NullText(p.RoleID), database.NullText(string(p.Status))
			sinces[i], aheads[i] = database.NullMicros(p.RoleSince), database.NullText(p.roleAhead)
			departedAts[i], versions[i], refusals[i] = database.NullMicros(p.DepartedAt), &p.Version, database.NullInt(p.Refusals)
		}
	}
	return tx.RefuseChanged("agents",
		[]database.Column{{Name: "agent_id", Values: agentIDs}},
		[]database.Column{
			{Name: "role_id", Values: roles},
			{Name: "role_since", Values: sinces},
			{Name: "role_ahead", Values: aheads},
			{Name: "status", Values: statuses},
			{Name: "departed_at", Values: departedAts},
			{Name: "version", Values: versions},
			{Name: "refusals", Values: refusals},
		})
}
