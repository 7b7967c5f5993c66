package reading

import (
	"openintent/channels"
	"openintent/internal/database"
	"openintent/messaging/message"
)

// Place is the channel that a message is in.
type Place struct {
	Key                 channels.Key
	IntentID, ChannelID string
}

// PlaceOf returns where a message is, whether or not it was evicted, or nil for an id that no message has. It does not check
// whether the channel is deleted.
func PlaceOf(tx *database.Tx, messageID string) (place *Place, err error) {
	if !message.IsID(messageID) {
		return nil, nil
	}
	err = tx.Pipeline(database.Statement{
		SQL: "SELECT c.intent_no, c.channel_no, i.id, c.id FROM messages m" +
			" JOIN channels c ON c.intent_no = m.intent_no AND c.channel_no = m.channel_no" +
			" JOIN intents i ON i.intent_no = m.intent_no WHERE m.id = ?",
		Args: []any{messageID},
		Scan: func(row database.Row) error {
			place = new(Place)
			return row.Scan(&place.Key.IntentNo, &place.Key.ChannelNo, &place.IntentID, &place.ChannelID)
		},
	})
	return place, err
}
