package message

import (
	"time"

	"openintent/channels"
	"openintent/database"
	"openintent/intents"
)

// ExpireRequests ends open requests of one intent for good, by their positions. The intent's head is locked.
func ExpireRequests(tx *database.Tx, head *intents.Head, positions []int64) error {
	head.Touch()
	return expireOpen(tx, head.IntentNo, head.Now(), "position", positions)
}

// ExpireInChannels ends the open requests of channels that close, whatever the cause (RFC-0021 section 7).
func ExpireInChannels(tx *database.Tx, head *intents.Head, closed []*channels.Rules, at time.Time) error {
	numbers := make([]int64, len(closed))
	for i, channel := range closed {
		numbers[i] = channel.ChannelNo
	}
	return expireOpen(tx, head.IntentNo, at, "channel_no", numbers)
}

// expireOpen stores that requests expired at a time: those that are open and have one of the values in a column.
func expireOpen(tx *database.Tx, intentNo int64, at time.Time, column string, values []int64) error {
	in, argument := tx.In(column, values)
	return tx.Pipeline(
		database.Statement{
			SQL: "UPDATE messages SET ended_at = ? WHERE intent_no = ? AND position IN" +
				" (SELECT position FROM open_requests WHERE intent_no = ? AND " + in + ")",
			Args: []any{database.Micros(at), intentNo, intentNo, argument},
		},
		database.Statement{
			SQL:  "DELETE FROM open_requests WHERE intent_no = ? AND " + in,
			Args: []any{intentNo, argument},
		},
	)
}
