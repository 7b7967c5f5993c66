package claim

import (
	"fmt"

	"openintent/internal/database"
	"openintent/messaging/message"
)

// Invariants are the rules that the stored rows of this room keep.
func Invariants() []database.Invariant {
	return []database.Invariant{
		database.Refers("claims", "channels", "intent_no", "channel_no"),
		{
			Rule: "each claim has a fence of its own, a time of the intent's log",
			Of:   "claims",
			Broken: `FROM claims c JOIN intent_heads h ON h.intent_no = c.intent_no WHERE c.fence > h.last_at
				OR EXISTS (SELECT 1 FROM claims o WHERE o.intent_no = c.intent_no AND o.fence = c.fence
					AND (o.message_position <> c.message_position OR o.agent_id <> c.agent_id))`,
			At: []string{"c.message_id", "c.agent_id", "c.fence"},
		},
		{
			Rule: "each claim that has ended is of a message",
			Of:   "claims WHERE ended <> ''",
			Broken: `FROM claims c LEFT JOIN messages m ON m.intent_no = c.intent_no AND m.position = c.message_position
				WHERE c.ended <> '' AND m.position IS NULL OR m.id <> c.message_id`,
			At: []string{"c.message_id", "c.agent_id"},
		},
		{
			Rule: "an open request lacks answers, and a message has no more claims than free places",
			Of:   "claims",
			Find: findOverfull,
		},
	}
}

// findOverfull compares the places of open requests, and of claimed messages, with their answers and claims. How many places a request
// has is in its fields, which no statement reads.
func findOverfull(tx *database.Tx, broken func(where string)) error {
	return tx.Pipeline(database.Statement{
		SQL: `SELECT m.id, m.message_type, m.target, m.conversation,
			EXISTS (SELECT 1 FROM open_requests o WHERE o.intent_no = m.intent_no AND o.position = m.position),
			(SELECT COUNT(DISTINCT a.sender) FROM messages a WHERE a.intent_no = m.intent_no AND a.correlation_position = m.position),
			(SELECT COUNT(*) FROM claims c WHERE c.intent_no = m.intent_no AND c.message_position = m.position)
			FROM (SELECT intent_no, position FROM open_requests UNION SELECT intent_no, message_position FROM claims) p
			JOIN messages m ON m.intent_no = p.intent_no AND m.position = p.position`,
		Scan: func(row database.Row) (err error) {
			var m message.Message
			var kind string
			var target *string
			var fields []byte
			var answers, claims int
			if err := row.Scan(&m.ID, &kind, &target, &fields, &m.Open, &answers, &claims); err != nil {
				return err
			}
			if m.Type = message.Type(kind); target != nil {
				m.Target = *target
			}
			if m.Conversation, err = message.ConversationFrom(0, fields); err != nil {
				return err
			}
			wanted, places := 1, 1
			if exact := m.ExactAnswers(); exact > 0 {
				wanted, places = exact, exact-answers
			}
			if m.Open && answers >= wanted || claims > places {
				broken(fmt.Sprintf("id %s, answers %d, claims %d", m.ID, answers, claims))
			}
			return nil
		},
	})
}
