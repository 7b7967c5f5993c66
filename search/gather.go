package search

import (
	"context"
	"database/sql"
	"slices"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
)

// batch is a part of some logs as it goes into the index.
type batch struct {
	backlogs []backlog
	// through is up to where each backlog was read, and taken how many messages it gave.
	through []int64
	taken   []int
	// documents are what the index shall have of the messages, in no order. A message that was edited is among them.
	documents []document
}

// read reads the next part of some logs.
func (x *indexer) read(ctx context.Context, some []backlog) (*batch, error) {
	var b *batch
	err := x.service.db.ReadFor(ctx, caller.ReaderOf(ctx, ""), func(tx *database.Tx) error {
		b = &batch{backlogs: some, through: make([]int64, len(some)), taken: make([]int, len(some))}
		changed := make([]changes, len(some))
		share := max(2, x.together/len(some))
		bytes := 0
		var statements []database.Statement
		for i, one := range some {
			if b.through[i] = one.last; one.through < one.last {
				statements = append(statements, b.messages(i, share, &bytes), changed[i].statement(one, share))
			}
		}
		if err := tx.Pipeline(statements...); err != nil {
			return err
		}
		var again []database.Statement
		for i, one := range some {
			if changed[i].more(share) {
				b.cut(i, changed[i].positions[share-1])
			}
			if statement := changed[i].again(tx, one, b.through[i]); statement != nil {
				statement.Scan = b.scan(func(*message.Message) { b.documents[len(b.documents)-1].again = true })
				again = append(again, *statement)
			}
		}
		return tx.Pipeline(again...)
	})
	return b, err
}

// cut leaves out of the batch what a backlog has after a position.
func (b *batch) cut(i int, position int64) {
	if b.through[i] <= position {
		return
	}
	b.through[i] = position
	b.documents = slices.DeleteFunc(b.documents, func(d document) bool {
		return d.intentNo == b.backlogs[i].intentNo && d.position > position
	})
}

// messageColumns are those of a message that decide what the index has of it.
const messageColumns = "SELECT m.intent_no, m.position, m.channel_no, m.id, m.sender, m.target, m.correlation_position, m.correlation_id," +
	" m.thread_position, m.conversation, m.payload, m.created_at FROM messages m WHERE m.intent_no = ?"

// messages returns the statement that reads the next messages of a backlog.
func (b *batch) messages(i, limit int, bytes *int) database.Statement {
	one := b.backlogs[i]
	var full bool
	return database.Statement{
		SQL:  messageColumns + " AND m.position > ? AND m.position <= ? ORDER BY m.position LIMIT ?",
		Args: []any{one.intentNo, one.through, one.last, limit},
		Scan: func(row database.Row) error {
			if full {
				return nil
			}
			return b.scan(func(m *message.Message) {
				b.taken[i]++
				*bytes += len(m.Payload)
				if full = b.taken[i] == limit || *bytes > readBytes; full {
					b.through[i] = m.Position
				}
			})(row)
		},
	}
}

// scan reads a message into the batch.
func (b *batch) scan(then func(*message.Message)) func(database.Row) error {
	return func(row database.Row) error {
		m := new(message.Message)
		var target, correlation sql.NullString
		var correlationPosition, threadPosition sql.NullInt64
		var conversation, payload []byte
		var createdAt int64
		err := row.Scan(&m.IntentNo, &m.Position, &m.ChannelNo, &m.ID, &m.Sender, &target, &correlationPosition, &correlation,
			&threadPosition, &conversation, &payload, &createdAt)
		if err != nil {
			return err
		}
		m.Target, m.CorrelationID, m.CorrelationPosition = target.String, correlation.String, correlationPosition.Int64
		m.Payload, m.CreatedAt = payload, database.Time(createdAt)
		if m.Conversation, err = message.ConversationFrom(threadPosition.Int64, conversation); err != nil {
			return err
		}
		b.documents = append(b.documents, documentOf(m))
		then(m)
		return nil
	}
}

// changes are the edits and deletions in a backlog: their own positions, and those of their messages.
type changes struct{ positions, messages []int64 }

func (c *changes) statement(one backlog, limit int) database.Statement {
	return database.Statement{
		SQL: "SELECT position, message_position FROM annotations WHERE intent_no = ? AND position > ? AND position <= ?" +
			" AND annotation_type IN (?, ?) ORDER BY position LIMIT ?",
		Args: []any{one.intentNo, one.through, one.last, message.AnnotationEdit, message.AnnotationDeletion, limit},
		Scan: func(row database.Row) error {
			var position, messagePosition int64
			err := row.Scan(&position, &messagePosition)
			c.positions, c.messages = append(c.positions, position), append(c.messages, messagePosition)
			return err
		},
	}
}

// more reports whether there may be more changes than were read.
func (c *changes) more(limit int) bool { return len(c.positions) == limit }

// again returns the statement that reads the changed messages once more, and nil if there are none. Messages of the backlog itself were
// read as they are now.
func (c *changes) again(tx *database.Tx, one backlog, through int64) *database.Statement {
	var messages []int64
	for i, position := range c.positions {
		if position <= through && c.messages[i] <= one.through {
			messages = append(messages, c.messages[i])
		}
	}
	if len(messages) == 0 {
		return nil
	}
	in, argument := tx.In("m.position", database.Distinct(messages))
	return &database.Statement{SQL: messageColumns + " AND " + in, Args: []any{one.intentNo, argument}}
}
