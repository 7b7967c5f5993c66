package message

import (
	"time"

	"openintent/channels"
	"openintent/intents"
	"openintent/internal/database"
)

// ExpireRequests stores that open requests of one intent, named by their positions, have expired. The caller holds the lock of the
// intent's head.
//
// Message.Expired decides, by time and by Abandoned, whether a request has expired, and readers follow that; the functions here
// write it down. Their callers are the sweep (messaging/expiry.go), a departure (messaging/departure.go), the closing of a channel
// and an Ask whose time is over (messaging/answers.go).
func ExpireRequests(tx *database.Tx, head *intents.Head, positions []int64) error {
	head.Touch()
	return expireOpen(tx, head.IntentNo, head.Now(), "position", positions)
}

// ExpireInChannels stores that the open requests of channels that close have expired, whatever closes them (RFC-0021
// section 7).
func ExpireInChannels(tx *database.Tx, head *intents.Head, closed []*channels.Rules, at time.Time) error {
	numbers := make([]int64, len(closed))
	for i, channel := range closed {
		numbers[i] = channel.ChannelNo
	}
	return expireOpen(tx, head.IntentNo, at, "channel_no", numbers)
}

// expireOpen stores the time at which requests expired: all open requests whose column has one of the values.
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
