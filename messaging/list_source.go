package messaging

import (
	"math"
	"time"

	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/reading"
)

// This file decides where a list reads its messages: by an index, if what is wanted has one, and otherwise a span of the channel, because
// nobody knows how many messages there are between two that are wanted. Either way one page looks at a bounded number of messages.

// listSource is what a list reads.
type listSource interface {
	// Next reads the next messages, and tells whether these are the last ones to look at.
	Next(tx *database.Tx, l reading.Snapshot) (messages []*message.Message, last bool, err error)
	// cut tells whether the list goes on beyond the last message to look at. That one is where the column, of its row, has the value.
	cut() bool
	end() (column string, value int64)
}

// from returns what the list reads; nil if there is nothing, because an id begins no thread.
func (q listing) from(tx *database.Tx, l reading.Snapshot, p reading.MessageQuery) (listSource, error) {
	var root int64
	var err error
	switch {
	case q.threadID != "":
		if root, err = reading.RootPosition(tx, l, q.threadID); err != nil || root == 0 {
			return nil, err
		}
	case q.correlationID != "":
		root, err = reading.RequestPosition(tx, l, q.correlationID)
	}
	if err != nil || root == 0 { // the responses to a request that is gone are found in the span
		return spanOf(p, q.lookAt), err
	}
	p.After, err = reading.PositionOf(tx, l, p.After)
	p.Through = math.MaxInt64
	return &members{reading.ThreadQuery{
		MessageQuery: p, Root: root, ResponsesOnly: q.threadID == "", LookAt: q.lookAt,
	}}, err
}

// span is a part of a channel.
type span struct {
	reading.MessageQuery
	// through is its last ordinal.
	through int64
	isCut   bool
}

// spanOf returns the first so many messages of what a query selects, or the last, if it reads the newest first.
func spanOf(p reading.MessageQuery, lookAt int) *span {
	s := &span{MessageQuery: p, isCut: p.Through-p.After > int64(lookAt)}
	switch {
	case s.isCut && p.NewestFirst:
		s.After = p.Through - int64(lookAt)
	case s.isCut:
		s.Through = p.After + int64(lookAt)
	}
	s.through = s.Through
	return s
}

func (s *span) cut() bool            { return s.isCut }
func (s *span) end() (string, int64) { return "ordinal", s.through }

// members are those of a thread, or the responses to a request.
type members struct{ reading.ThreadQuery }

func (m *members) cut() bool            { return m.Bounded }
func (m *members) end() (string, int64) { return "position", m.After }

// timeOf returns the time of the last message that a list has looked at, as the cursor that leads on. It is no id, because the caller may
// not see the message.
func timeOf(tx *database.Tx, l reading.Snapshot, of listSource) (cursor string, err error) {
	column, value := of.end()
	err = tx.Pipeline(database.Statement{
		SQL:  "SELECT created_at FROM messages WHERE intent_no = ? AND channel_no = ? AND " + column + " = ?",
		Args: []any{l.Channel.IntentNo, l.Channel.ChannelNo, value},
		Scan: func(row database.Row) error {
			var at int64
			err := row.Scan(&at)
			cursor = database.Time(at).Format(time.RFC3339Nano)
			return err
		},
	})
	return cursor, err
}
