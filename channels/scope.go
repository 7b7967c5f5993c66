package channels

import "openintent/internal/database"

// IntentOf returns the id of a channel's intent, and "" for an id that no channel has.
func IntentOf(tx *database.Tx, channelID string) (intentID string, err error) {
	err = tx.Pipeline(database.ReadValue(&intentID,
		"SELECT i.id FROM channels c JOIN intents i ON i.intent_no = c.intent_no WHERE c.id = ?", channelID))
	return intentID, err
}

// NameOf returns a channel's name, and "" for an id that no channel has.
func NameOf(tx *database.Tx, channelID string) (name string, err error) {
	err = tx.Pipeline(database.ReadValue(&name, "SELECT name FROM channels WHERE id = ?", channelID))
	return name, err
}
