package reaction

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/optional"
	"openintent/messaging/message"
)

// Reaction is one agent's signal on one message.
type Reaction struct {
	// MessagePosition is the place of the message.
	MessagePosition          int64
	Agent, Signal, Note, ETA string
	// Position is the place of the annotation that set it. It is what orders a message's reactions.
	Position  int64
	CreatedAt time.Time
	// Changes is how often the agent set the signal or took it away. Present is false once it was taken away.
	Changes int64
	Present bool
}

// Own are one agent's reactions to one message, by signal.
type Own map[string]*Reaction

// Changes is how often the agent changed any of its signals on the message.
func (o Own) Changes() (count int64) {
	for _, one := range o {
		count += one.Changes
	}
	return count
}

// Present is how many signals of the agent are on the message.
func (o Own) Present() (count int) {
	for _, one := range o {
		if one.Present {
			count++
		}
	}
	return count
}

const columns = "r.message_position, r.agent_id, r.signal, r.note, r.eta, r.position, r.created_at, r.changes, r.present"

func scan(row database.Row) (one Reaction, err error) {
	var createdAt int64
	err = row.Scan(&one.MessagePosition, &one.Agent, &one.Signal, &one.Note, &one.ETA, &one.Position, &createdAt, &one.Changes, &one.Present)
	one.CreatedAt = database.Time(createdAt)
	return one, err
}

// OwnOf reads an agent's reactions to a message, with those that were taken away.
func OwnOf(tx *database.Tx, m *message.Message, agent string) (Own, error) {
	own := make(Own)
	return own, tx.Pipeline(database.Statement{
		SQL:  "SELECT " + columns + " FROM reactions r WHERE r.intent_no = ? AND r.message_position = ? AND r.agent_id = ?",
		Args: []any{m.IntentNo, m.Position, agent},
		Scan: func(row database.Row) error {
			one, err := scan(row)
			own[one.Signal] = &one
			return err
		},
	})
}

// To reads the reactions to a message after a position, in order.
func To(tx *database.Tx, m *message.Message, after int64, limit int) (found []Reaction, err error) {
	err = tx.Pipeline(prepare(m, after, limit, &found))
	return found, err
}

// ToEach reads the first reactions to each of some messages, in the order of the messages.
func ToEach(tx *database.Tx, messages []*message.Message, limit int) (found []Reaction, err error) {
	statements := make([]database.Statement, len(messages))
	for i, m := range messages {
		statements[i] = prepare(m, 0, limit, &found)
	}
	err = tx.Pipeline(statements...)
	return found, err
}

func prepare(m *message.Message, after int64, limit int, found *[]Reaction) database.Statement {
	return database.Statement{
		SQL: "SELECT " + columns + " FROM reactions r WHERE r.intent_no = ? AND r.message_position = ? AND r.position > ?" +
			" AND r.present ORDER BY r.position LIMIT ?",
		Args: []any{m.IntentNo, m.Position, after, limit},
		Scan: func(row database.Row) error {
			one, err := scan(row)
			*found = append(*found, one)
			return err
		},
	}
}

// Store writes the reaction in place of the agent's former one with this signal.
func (r Reaction) Store(tx *database.Tx, m *message.Message) error {
	return tx.Pipeline(database.Statement{
		SQL: `INSERT INTO reactions (intent_no, position, message_position, agent_id, signal, note, eta, created_at, changes, present)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (intent_no, message_position, agent_id, signal) DO UPDATE SET position = excluded.position, note = excluded.note,
			eta = excluded.eta, created_at = excluded.created_at, changes = excluded.changes, present = excluded.present`,
		Args: []any{m.IntentNo, r.Position, m.Position, r.Agent, r.Signal, r.Note, r.ETA, database.Micros(r.CreatedAt), r.Changes, r.Present},
	})
}

// ToWire returns the reaction as clients see it in the list of a message's reactions.
func (r Reaction) ToWire() *openintentv1.Reaction {
	return &openintentv1.Reaction{
		AgentId: r.Agent, Signal: r.Signal, Note: optional.Text(r.Note), Eta: optional.Text(r.ETA),
		CreatedAt: timestamppb.New(r.CreatedAt),
	}
}

// InThread returns the reaction as clients see it in a thread, beside the id of its message.
func (r Reaction) InThread(messageID string) *openintentv1.ThreadReaction {
	return &openintentv1.ThreadReaction{
		MessageId: messageID, AgentId: r.Agent, Signal: r.Signal, Note: optional.Text(r.Note), Eta: optional.Text(r.ETA),
		CreatedAt: timestamppb.New(r.CreatedAt),
	}
}
