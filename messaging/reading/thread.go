package reading

import (
	"slices"

	"openintent/database"
	"openintent/messaging/message"
)

// ThreadQuery says which messages of a thread are wanted. After and Through of its MessageQuery bound their positions. With its root at
// position P, a thread consists of the root, of the messages whose thread's position is P, and of the responses to the root.
type ThreadQuery struct {
	MessageQuery
	// Root is the position of the thread's first message. Floor is the channel's: what lies up to there was evicted.
	Root, Floor int64
}

// RootPosition returns the position that the message with an id has as the first of its thread, in the snapshot's channel; 0 if the id
// names no such message. The message itself need not be there any more, if one below it is.
func RootPosition(tx *database.Tx, l Snapshot, id string) (position int64, err error) {
	if !message.IsID(id) {
		return 0, nil
	}
	scan := func(row database.Row) error { return row.Scan(&position) }
	err = tx.Pipeline(database.Statement{
		SQL: "SELECT position FROM messages WHERE id = ? AND intent_no = ? AND channel_no = ?" +
			" AND thread_position IS NULL AND correlation_position IS NULL",
		Args: []any{id, l.Channel.IntentNo, l.Channel.ChannelNo}, Scan: scan,
	}, database.Statement{
		SQL: "SELECT thread_position FROM messages WHERE thread_id = ? AND thread_id IS NOT NULL" +
			" AND intent_no = ? AND channel_no = ? LIMIT 1",
		Args: []any{id, l.Channel.IntentNo, l.Channel.ChannelNo}, Scan: scan,
	})
	return position, err
}

// PositionOf returns the position of the message with an ordinal; 0 if it is no longer retained.
func PositionOf(tx *database.Tx, l Snapshot, ordinal int64) (position int64, err error) {
	err = tx.Pipeline(database.Statement{
		SQL:  "SELECT position FROM messages WHERE intent_no = ? AND channel_no = ? AND ordinal = ?",
		Args: []any{l.Channel.IntentNo, l.Channel.ChannelNo, ordinal},
		Scan: func(row database.Row) error { return row.Scan(&position) },
	})
	return position, err
}

// Next reads the next page of the thread, and turns the query to the one after it. It also tells whether there is none after it.
func (q *ThreadQuery) Next(tx *database.Tx, l Snapshot) (messages []*message.Message, last bool, err error) {
	positions, err := q.positions(tx)
	if err != nil || len(positions) == 0 {
		return nil, true, err
	}
	page := q.MessageQuery
	page.byPosition, page.at = true, positions
	rows, err := page.Load(tx, l)
	if err != nil {
		return nil, true, err
	}
	end, last := positions[len(positions)-1], len(positions) < q.Limit
	if rows.Full {
		end, last = rows.Messages[len(rows.Messages)-1].Position, false
	}
	if q.NewestFirst {
		q.Through = end - 1
	} else {
		q.After = end
	}
	if !last {
		q.Limit = rows.NextLimit(q.Limit)
	}
	return rows.Messages, last, nil
}

// positions reads where the next messages of the thread are that the agent may possibly see, in the query's order.
func (q *ThreadQuery) positions(tx *database.Tx) (positions []int64, err error) {
	var statements []database.Statement
	for _, member := range []string{
		"m.position = ?",
		"m.thread_position = ? AND m.thread_position IS NOT NULL",
		"m.correlation_position = ? AND m.correlation_position IS NOT NULL",
	} {
		statements = append(statements, q.members(member, &positions))
	}
	if err := tx.Pipeline(statements...); err != nil {
		return nil, err
	}
	slices.Sort(positions)
	positions = slices.Compact(positions)
	if q.NewestFirst {
		slices.Reverse(positions)
	}
	return positions[:min(len(positions), q.Limit)], nil
}

// members returns the statement that adds the positions of those members of the thread that a condition selects.
func (q *ThreadQuery) members(condition string, positions *[]int64) database.Statement {
	narrowing, narrowedBy := q.narrowing()
	query := "SELECT m.position FROM messages m WHERE m.intent_no = ? AND " + condition +
		" AND m.position > ? AND m.position <= ? AND m.channel_no = ? AND m.ordinal > ?" + narrowing + " ORDER BY m.position"
	if q.NewestFirst {
		query += " DESC"
	}
	arguments := append([]any{q.IntentNo, q.Root, q.After, q.Through, q.ChannelNo, q.Floor}, narrowedBy...)
	return database.Statement{
		SQL: query + " LIMIT ?", Args: append(arguments, q.Limit),
		Scan: func(row database.Row) error {
			var position int64
			err := row.Scan(&position)
			*positions = append(*positions, position)
			return err
		},
	}
}
