package contacts

import (
	"encoding/json"
	"time"

	"openintent/internal/database"
	"openintent/messaging"
)

// record stores what a look has decided, unless another replica has looked meanwhile: the calls, and what is to be sent. What was to be sent of
// messages that do not press any more is not sent.
func (s *Service) record(
	tx *database.Tx, n name, pressing []messaging.Pressing, usable []*contact, live bool, took time.Duration,
) error {
	if err := tx.Alone(ofAgent(n.agent)); err != nil { // so that no contact goes meanwhile
		return err
	}
	var ours int64
	known := make(map[string]*call)
	if err := tx.Pipeline(database.Statement{
		SQL:  "UPDATE contact_looks SET version = version + 1 WHERE agent_id = ? AND version = ?",
		Args: []any{n.agent, n.version}, Affected: &ours,
	}, readCalls(n.agent, known)); err != nil || ours == 0 {
		return err
	}
	now := tx.Now()
	d := decide(now, pressing, known, live)
	statements := []database.Statement{{
		SQL: "UPDATE contact_looks SET look_at = ? WHERE agent_id = ?", Args: []any{database.Micros(nextLook(now, took, d.next)), n.agent},
	}}
	for _, c := range d.calls {
		statements = append(statements, c.storing(n.agent))
	}
	for _, sender := range d.ended {
		statements = append(statements, database.Statement{
			SQL: "DELETE FROM contact_calls WHERE agent_id = ? AND sender = ?", Args: []any{n.agent, sender},
		})
	}
	for _, m := range d.tell {
		statements = append(statements, posting(now, m, usable)...)
	}
	dropped, err := s.drop(tx, n.agent, pressing)
	if err != nil {
		return err
	}
	return tx.Pipeline(append(dropped, statements...)...)
}

func readCalls(agent string, known map[string]*call) database.Statement {
	return database.Statement{
		SQL:  "SELECT sender, intent_no, position, sent_at, stranger, began_at, step FROM contact_calls WHERE agent_id = ?",
		Args: []any{agent},
		Scan: func(row database.Row) error {
			c := new(call)
			var sentAt, beganAt int64
			err := row.Scan(&c.sender, &c.intentNo, &c.position, &sentAt, &c.stranger, &beganAt, &c.step)
			c.sentAt, c.beganAt = database.Time(sentAt), database.Time(beganAt)
			known[c.sender] = c
			return err
		},
	}
}

// storing returns the statement that stores the call in the place of the sender's former one.
func (c *call) storing(agent string) database.Statement {
	return database.Statement{
		SQL: "INSERT INTO contact_calls (agent_id, sender, intent_no, position, sent_at, stranger, began_at, step)" +
			" VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (agent_id, sender) DO UPDATE SET intent_no = excluded.intent_no," +
			" position = excluded.position, sent_at = excluded.sent_at, stranger = excluded.stranger, began_at = excluded.began_at," +
			" step = excluded.step",
		Args: []any{
			agent, c.sender, c.intentNo, c.position, database.Micros(c.sentAt), c.stranger, database.Micros(c.beganAt), c.step,
		},
	}
}

// posting returns the statements that record a pointer for each contact.
func posting(now time.Time, m messaging.Pressing, usable []*contact) (statements []database.Statement) {
	stored, _ := json.Marshal(pointerTo(m)) // texts alone
	for _, c := range usable {
		statements = append(statements, database.Statement{
			SQL: "INSERT INTO contact_posts (agent_id, contact_id, key_id, intent_no, position, pointer, attempts, due_at, made_at)" +
				" SELECT c.agent_id, c.id, c.made_by_key, CAST(? AS bigint), CAST(? AS bigint), ?, 0, CAST(? AS bigint), CAST(? AS bigint)" +
				" FROM contacts c WHERE c.agent_id = ? AND c.id = ?",
			Args: []any{m.IntentNo, m.Position, stored, database.Micros(now), database.Micros(now), c.agent, c.id},
		})
	}
	return statements
}

// drop returns the statements that remove what was to be sent of messages that do not press the name any more.
func (s *Service) drop(tx *database.Tx, agent string, pressing []messaging.Pressing) (statements []database.Statement, err error) {
	press := places(pressing)
	err = tx.Pipeline(database.Statement{
		SQL:  "SELECT post_no, intent_no, position FROM contact_posts WHERE agent_id = ?",
		Args: []any{agent},
		Scan: func(row database.Row) error {
			var no int64
			var at place
			err := row.Scan(&no, &at.intentNo, &at.position)
			if !press[at] {
				statements = append(statements, database.Statement{SQL: "DELETE FROM contact_posts WHERE post_no = ?", Args: []any{no}})
			}
			return err
		},
	})
	return statements, err
}
