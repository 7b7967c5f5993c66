package asking

import (
	"openintent/internal/caller"
	"openintent/internal/database"
)

// mostShared bounds how many shared channels are looked at for one that lies in the scope of the caller's key.
const mostShared = 1_000

// mayKnow reports whether the caller may know how an agent can be reached.
func mayKnow(tx *database.Tx, c caller.Caller, agent string) (known bool, err error) {
	if c.Owns(agent) {
		return true, nil
	}
	statements := []database.Statement{{
		// A member that has left is on the list no more. After a departure, earlier memberships are void.
		SQL: "SELECT i.id, ch.id FROM members mine JOIN members theirs ON theirs.intent_no = mine.intent_no AND theirs.channel_no = mine.channel_no" +
			" JOIN channels ch ON ch.intent_no = mine.intent_no AND ch.channel_no = mine.channel_no AND ch.deleted_at IS NULL" +
			" JOIN intents i ON i.intent_no = mine.intent_no" +
			" WHERE mine.agent_id = ? AND theirs.agent_id = ?" +
			" AND NOT EXISTS (SELECT 1 FROM agents g WHERE g.agent_id = mine.agent_id AND g.departed_at >= mine.added_at)" +
			" AND NOT EXISTS (SELECT 1 FROM agents g WHERE g.agent_id = theirs.agent_id AND g.departed_at >= theirs.added_at) LIMIT ?",
		Args: []any{c.Agent, agent, mostShared},
		Scan: func(row database.Row) error {
			var intentID, channelID string
			err := row.Scan(&intentID, &channelID)
			known = known || c.Scope.CoversChannel(intentID, channelID)
			return err
		},
	}}
	if c.Scope.ShowsAllAgents() {
		statements = append(statements, database.Statement{
			SQL:  "SELECT 1 FROM agents WHERE agent_id = ?",
			Args: []any{agent},
			Scan: func(row database.Row) error {
				var one int64
				known = true
				return row.Scan(&one)
			},
		})
	}
	return known, tx.Pipeline(statements...)
}
