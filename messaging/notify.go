package messaging

import (
	"openintent/intents"
	"openintent/internal/database"
	"openintent/messaging/writing"
)

// Notify tells agents something in the server's name, in the channel _system of the intent, in a transaction of the room above that
// holds the lock of the intent's head. Only the agent that a notice is for reads it, and only while it has access to the intent.
// An intent that has ended takes no notice.
func (s *Service) Notify(tx *database.Tx, head *intents.Head, notices ...writing.Notice) error {
	return s.writer.Notify(tx, head, notices...)
}
