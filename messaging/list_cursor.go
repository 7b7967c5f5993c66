package messaging

import (
	"errors"
	"strings"
	"time"

	"openintent/channels"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/messaging/message"
	"openintent/messaging/reading"
)

// next returns the cursor after a page. After an empty page that is the cursor that was asked with. Without one it is the
// time of the intent's newest position: everything that is stored later lies after it.
func (q listing) next(messages []*message.Message, l reading.Snapshot) string {
	switch {
	case len(messages) > 0:
		return messages[len(messages)-1].ID
	case q.since != "":
		return q.since
	}
	return l.Head.LastAt.Format(time.RFC3339Nano)
}

// errElsewhere means that a cursor is the id of a message of another channel. It never leaves the room. Only a caller that sees that message
// there is refused, because the refusal tells that there is such a message.
var errElsewhere = errors.New("the cursor names a message of another channel")

// cursorOrdinal finds the place after which a list goes on. since is a message id of this channel, or a time. If the
// message is no longer retained, the list goes on with the oldest retained one. An id of another channel is errElsewhere, and a
// malformed one is refused.
func cursorOrdinal(tx *database.Tx, l reading.Snapshot, since string) (int64, error) {
	if at, err := parseTime(since); err == nil {
		return ordinalAt(tx, l, at)
	}
	if !message.IsID(since) {
		return 0, fault.BadField("since", "it must be a message id of this channel or an RFC 3339 time")
	}
	var intentNo, channelNo, ordinal int64
	err := tx.Pipeline(database.Statement{
		SQL:  "SELECT intent_no, channel_no, ordinal FROM messages WHERE id = ?",
		Args: []any{since},
		Scan: func(row database.Row) error { return row.Scan(&intentNo, &channelNo, &ordinal) },
	})
	if err != nil || ordinal == 0 {
		return 0, err
	}
	if (channels.Key{IntentNo: intentNo, ChannelNo: channelNo}) != l.Channel.Key {
		return 0, errElsewhere
	}
	return ordinal, nil
}

// ordinalAt finds the last ordinal whose message was stored at or before a time.
func ordinalAt(tx *database.Tx, l reading.Snapshot, at time.Time) (int64, error) {
	return reading.OrdinalBy(tx, l, "created_at", database.Micros(at))
}

// parseTime reads an RFC 3339 time, in lower case too. A time without a zone counts as UTC. In a query a bare + means a
// space, and the offset of a time begins with a +.
func parseTime(text string) (time.Time, error) {
	text = strings.ReplaceAll(strings.ToUpper(text), " ", "+")
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at.UTC(), nil
	}
	return time.Parse("2006-01-02T15:04:05.999999999", text)
}
