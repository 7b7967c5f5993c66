package writing

import (
	"openintent/internal/database"
	"openintent/messaging/message"
)

// handling says that an agent has read or answered a request.
type handling struct{ requestID, agent string }

// readHandled finds out which of the requests that drafts answer their senders have read or answered before. It asks only
// where the sender may see the request for that reason alone: it is a request to a role, and was sent before the sender
// took the role. There are few of these, so usually this costs nothing.
func (b *batch) readHandled() error {
	var statements []database.Statement
	for _, s := range b.submissions {
		m, one := b.requests[s.draft.CorrelationID], handling{s.draft.CorrelationID, s.draft.Sender}
		if m == nil || !b.presences[one.agent].HoldsRole(message.RoleOf(m.Target)) ||
			m.CreatedAt.After(b.presences[one.agent].RoleSinceIn(m.IntentNo)) {
			continue
		}
		statements = append(statements, database.Statement{
			SQL: "SELECT 1 FROM receipts WHERE intent_no = ? AND position = ? AND agent_id = ? UNION ALL" +
				" SELECT 1 FROM messages WHERE intent_no = ? AND correlation_position = ? AND sender = ? LIMIT 1",
			Args: []any{m.IntentNo, m.Position, one.agent, m.IntentNo, m.Position, one.agent},
			Scan: func(row database.Row) error {
				var found int64
				if b.handled == nil {
					b.handled = make(map[handling]struct{})
				}
				b.handled[one] = struct{}{}
				return row.Scan(&found)
			},
		})
	}
	return b.tx.Pipeline(statements...)
}
