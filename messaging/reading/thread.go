package reading

import (
	"slices"

	"openintent/channels"
	"openintent/internal/database"
	"openintent/messaging/message"
)

// ThreadQuery says which messages of a thread are wanted. After and Through of its MessageQuery bound their positions. With its root at
// position P, a thread consists of the root, of the messages whose thread's position is P, and of the responses to the root.
type ThreadQuery struct {
	MessageQuery
	// Root is the position of the thread's first message.
	Root int64
	// ResponsesOnly leaves only the responses to the root.
	ResponsesOnly bool
	// LookAt is at how many messages the query looks. Bounded is true when it has ended because of that: with After or, newest first,
	// Through it goes on.
	LookAt  int
	Bounded bool
}

// RootPosition returns the position that the message with an id has as the first of its thread, in the snapshot's channel; 0 if the id
// names no such message. The message itself need not be there any more, if one below it is.
func RootPosition(tx *database.Tx, l Snapshot, id string) (position int64, err error) {
	if !message.IsID(id) {
		return 0, nil
	}
	var threadPosition int64
	var of channels.Key
	err = tx.Pipeline(database.Statement{
		SQL: "SELECT m.position FROM messages m WHERE " + message.ByIDInChannel +
			" AND m.thread_position IS NULL AND m.correlation_position IS NULL",
		Args: []any{id, l.Channel.IntentNo, l.Channel.ChannelNo},
		Scan: func(row database.Row) error { return row.Scan(&position) },
	}, database.Statement{ // all messages of a thread are in one channel; to name it would make an index of channels look better
		SQL:  "SELECT thread_position, intent_no, channel_no FROM messages WHERE thread_id = ? AND thread_id IS NOT NULL LIMIT 1",
		Args: []any{id},
		Scan: func(row database.Row) error { return row.Scan(&threadPosition, &of.IntentNo, &of.ChannelNo) },
	})
	if of == l.Channel.Key {
		position = threadPosition
	}
	return position, err
}

// RequestPosition returns the position of the request with an id in the snapshot's channel; 0 if there is none.
func RequestPosition(tx *database.Tx, l Snapshot, id string) (position int64, err error) {
	err = tx.Pipeline(database.Statement{
		SQL:  "SELECT m.position FROM messages m WHERE " + message.ByIDInChannel + " AND m.message_type = 'request'",
		Args: []any{id, l.Channel.IntentNo, l.Channel.ChannelNo},
		Scan: func(row database.Row) error { return row.Scan(&position) },
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

// Next reads the next page of the thread, and turns the query to the one after it. It also tells whether there is none after it, or
// enough was looked at.
func (q *ThreadQuery) Next(tx *database.Tx, l Snapshot) (messages []*message.Message, last bool, err error) {
	limit := min(q.Limit, q.LookAt)
	positions, err := q.positions(tx, limit)
	if err != nil || len(positions) == 0 {
		return nil, true, err
	}
	page := q.MessageQuery
	page.byPosition, page.at, page.Limit = true, positions, limit
	rows, err := page.Load(tx, l)
	if err != nil {
		return nil, true, err
	}
	end, last := positions[len(positions)-1], len(positions) < limit
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
		q.LookAt -= len(positions)
		q.Bounded = q.LookAt <= 0
	}
	return rows.Messages, last || q.Bounded, nil
}

// positions reads where the next messages of the thread are, in the query's order, whether or not the agent may see them.
func (q *ThreadQuery) positions(tx *database.Tx, limit int) (positions []int64, err error) {
	members := []string{"correlation_position"}
	if !q.ResponsesOnly {
		members = append(members, "thread_position")
		if q.After < q.Root && q.Root <= q.Through {
			positions = append(positions, q.Root)
		}
	}
	var statements []database.Statement
	for _, column := range members {
		statements = append(statements, q.members(column, limit, &positions))
	}
	if err := tx.Pipeline(statements...); err != nil {
		return nil, err
	}
	slices.Sort(positions)
	positions = slices.Compact(positions)
	if q.NewestFirst {
		slices.Reverse(positions)
	}
	return positions[:min(len(positions), limit)], nil
}

// members returns the statement that adds the positions of those members of the thread that have the root's position in a column. It names
// nothing but the column and the position, and both as one, so that no other index than the column's looks better to any planner.
func (q *ThreadQuery) members(column string, limit int, positions *[]int64) database.Statement {
	place, direction := "(m."+column+", m.position)", ""
	if q.NewestFirst {
		direction = " DESC"
	}
	return database.Statement{
		SQL: "SELECT m.position FROM messages m WHERE m.intent_no = ? AND m." + column + " IS NOT NULL AND " +
			place + " > (?, ?) AND " + place + " <= (?, ?) ORDER BY m." + column + direction + ", m.position" + direction + " LIMIT ?",
		Args: []any{q.IntentNo, q.Root, q.After, q.Root, q.Through, limit},
		Scan: func(row database.Row) error {
			var position int64
			err := row.Scan(&position)
			*positions = append(*positions, position)
			return err
		},
	}
}
