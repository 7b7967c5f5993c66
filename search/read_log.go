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
	stretches []stretch
	// reached is up to where each stretch was read, or down to where, and taken how many messages it gave.
	reached []int64
	taken   []int
	// documents are what the index shall have of the messages, in no order. A message that was edited is among them.
	documents []document
}

// spans returns what the index has of the logs once it has the batch.
func (b *batch) spans() []span {
	spans := make([]span, len(b.stretches))
	for i, one := range b.stretches {
		spans[i] = one.after(b.reached[i])
	}
	return spans
}

// all reports whether the index then lacks nothing of the logs as they were.
func (b *batch) all() bool {
	return !slices.ContainsFunc(b.spans(), func(s span) bool { return s.missing() > 0 })
}

// read reads the next part of some logs.
func (x *indexer) read(ctx context.Context, some []stretch) (*batch, error) {
	var b *batch
	err := x.service.db.ReadFor(ctx, caller.ReaderOf(ctx, ""), func(tx *database.Tx) error {
		b = &batch{stretches: some, reached: make([]int64, len(some)), taken: make([]int, len(some))}
		changed := make([]changes, len(some))
		share := max(2, x.together/len(some))
		bytes := 0
		var statements []database.Statement
		for i, one := range some {
			if b.reached[i] = one.to; one.down {
				b.reached[i] = one.from
			}
			if one.from < one.to {
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
			if statement := changed[i].again(tx, one, b.reached[i]); statement != nil {
				statement.Scan = b.scan(func(*message.Message) { b.documents[len(b.documents)-1].again = true })
				again = append(again, *statement)
			}
		}
		return tx.Pipeline(again...)
	})
	return b, err
}

// cut leaves out of the batch what comes in a stretch after the change that was read last. If it is read from above, that change comes
// again.
func (b *batch) cut(i int, position int64) {
	one := b.stretches[i]
	if !one.covers(position, b.reached[i]) {
		return
	}
	b.reached[i] = position
	b.documents = slices.DeleteFunc(b.documents, func(d document) bool {
		return d.intentNo == one.intentNo && !one.covers(d.position, position)
	})
}

// messageColumns are those of a message that decide what the index has of it.
const messageColumns = "SELECT m.intent_no, m.position, m.channel_no, m.id, m.sender, m.target, m.correlation_position, m.correlation_id," +
	" m.thread_position, m.conversation, m.payload, m.created_at FROM messages m WHERE m.intent_no = ?"

// messages returns the statement that reads the next messages of a stretch. Of a stretch that is read from above, the index may have some
// already: those before which a log went on so fast that the newest came first again.
func (b *batch) messages(i, limit int, bytes *int) database.Statement {
	one := b.stretches[i]
	var full bool
	return database.Statement{
		SQL:  messageColumns + " AND m.position > ? AND m.position <= ? ORDER BY m.position" + one.order() + " LIMIT ?",
		Args: []any{one.intentNo, one.from, one.to, limit},
		Scan: func(row database.Row) error {
			if full {
				return nil
			}
			return b.scan(func(m *message.Message) {
				b.documents[len(b.documents)-1].again = one.down
				b.taken[i]++
				*bytes += len(m.Payload)
				if full = b.taken[i] == limit || *bytes > readBytes; full {
					if b.reached[i] = m.Position; one.down {
						b.reached[i]--
					}
				}
			})(row)
		},
	}
}

// order is what follows the column by which a stretch is read.
func (s stretch) order() string {
	if s.down {
		return " DESC"
	}
	return ""
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

// changes are the edits and deletions in a stretch, in the order in which it is read: their own positions, and those of their messages.
type changes struct{ positions, messages []int64 }

// changesSQL selects the edits and deletions of a part of a log.
const changesSQL = " FROM annotations WHERE intent_no = ? AND position > ? AND position <= ? AND annotation_type IN (?, ?)" +
	" ORDER BY position"

func (c *changes) statement(one stretch, limit int) database.Statement {
	return database.Statement{
		SQL:  "SELECT position, message_position" + changesSQL + one.order() + " LIMIT ?",
		Args: []any{one.intentNo, one.from, one.to, message.AnnotationEdit, message.AnnotationDeletion, limit},
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

// again returns the statement that reads the changed messages once more that the index has, and nil if there are none. Messages of the
// stretch itself were read as they are now, and those that the index lacks will be.
func (c *changes) again(tx *database.Tx, one stretch, reached int64) *database.Statement {
	var messages []int64
	for i, position := range c.positions {
		if one.covers(position, reached) && one.has(c.messages[i]) {
			messages = append(messages, c.messages[i])
		}
	}
	if len(messages) == 0 {
		return nil
	}
	in, argument := tx.In("m.position", database.Distinct(messages))
	return &database.Statement{SQL: messageColumns + " AND " + in, Args: []any{one.intentNo, argument}}
}
