package conversation

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/database"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/message"
)

// reaction is one agent's signal on one message. One that was removed stays, with the number of its changes.
type reaction struct {
	agent, signal, note, eta string
	// position is the place of the annotation that set it. It is what orders a message's reactions.
	position  int64
	createdAt time.Time
	changes   int64
	present   bool
}

// reactions are one agent's on one message, by signal.
type reactions map[string]*reaction

func (r reactions) changes() (count int64) {
	for _, one := range r {
		count += one.changes
	}
	return count
}

func (r reactions) present() (count int) {
	for _, one := range r {
		if one.present {
			count++
		}
	}
	return count
}

const reactionColumns = "r.agent_id, r.signal, r.note, r.eta, r.position, r.created_at, r.changes, r.present"

func scanReaction(row database.Row) (one reaction, err error) {
	var createdAt int64
	err = row.Scan(&one.agent, &one.signal, &one.note, &one.eta, &one.position, &createdAt, &one.changes, &one.present)
	one.createdAt = database.Time(createdAt)
	return one, err
}

// reactionsOf reads an agent's reactions to a message, with those that were removed.
func reactionsOf(tx *database.Tx, m *message.Message, agent string) (reactions, error) {
	own := make(reactions)
	return own, tx.Pipeline(database.Statement{
		SQL:  "SELECT " + reactionColumns + " FROM reactions r WHERE r.intent_no = ? AND r.message_position = ? AND r.agent_id = ?",
		Args: []any{m.IntentNo, m.Position, agent},
		Scan: func(row database.Row) error {
			one, err := scanReaction(row)
			own[one.signal] = &one
			return err
		},
	})
}

// reactionsTo reads the reactions to a message after a position, in order.
func reactionsTo(tx *database.Tx, m *message.Message, after int64, limit int) (found []reaction, err error) {
	err = tx.Pipeline(prepareReactions(m.IntentNo, m.Position, after, limit, func(one reaction) { found = append(found, one) }))
	return found, err
}

func prepareReactions(intentNo, messagePosition, after int64, limit int, found func(reaction)) database.Statement {
	return database.Statement{
		SQL: "SELECT " + reactionColumns + " FROM reactions r WHERE r.intent_no = ? AND r.message_position = ? AND r.position > ?" +
			" AND r.present ORDER BY r.position LIMIT ?",
		Args: []any{intentNo, messagePosition, after, limit},
		Scan: func(row database.Row) error {
			one, err := scanReaction(row)
			found(one)
			return err
		},
	}
}

// store writes the reaction in place of the agent's former one with this signal.
func (r reaction) store(tx *database.Tx, m *message.Message) error {
	return tx.Pipeline(database.Statement{
		SQL: `INSERT INTO reactions (intent_no, position, message_position, agent_id, signal, note, eta, created_at, changes, present)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (intent_no, message_position, agent_id, signal) DO UPDATE SET position = excluded.position, note = excluded.note,
			eta = excluded.eta, created_at = excluded.created_at, changes = excluded.changes, present = excluded.present`,
		Args: []any{m.IntentNo, r.position, m.Position, r.agent, r.signal, r.note, r.eta, database.Micros(r.createdAt), r.changes, r.present},
	})
}

func (r reaction) toWire() *openintentv1.Reaction {
	return &openintentv1.Reaction{
		AgentId: r.agent, Signal: r.signal, Note: message.TextOrNil(r.note), Eta: message.TextOrNil(r.eta),
		CreatedAt: timestamppb.New(r.createdAt),
	}
}

func toWire(all []reaction) []*openintentv1.Reaction {
	wire := make([]*openintentv1.Reaction, len(all))
	for i, one := range all {
		wire[i] = one.toWire()
	}
	return wire
}
