package agents

import "openintent/internal/database"

// Endpoint reads the address at which other agents can reach an agent. It is empty if the agent registered none, or is not
// registered.
func Endpoint(tx *database.Tx, agentID string) (endpoint string, err error) {
	err = tx.Pipeline(database.Statement{
		SQL:  "SELECT endpoint FROM agents WHERE agent_id = ?",
		Args: []any{agentID},
		Scan: func(row database.Row) error {
			var registered *string
			err := row.Scan(&registered)
			endpoint = text(registered)
			return err
		},
	})
	return endpoint, err
}
