package agents

import "openintent/database"

// Endpoint reads the address that an agent registered for others to reach it at; empty when it has none, or is not
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
