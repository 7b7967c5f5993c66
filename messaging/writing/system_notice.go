package writing

import (
	"openintent/caller"
	"openintent/channels"
	"openintent/database"
	"openintent/intents"
	"openintent/jsonvalue"
	"openintent/messaging/message"
)

// Notice is something that the server tells one agent.
type Notice struct {
	To      string
	Payload jsonvalue.Object
}

// Notify sends notices in the intent's system channel (channels.System), each as a notify from the server to its agent. An
// intent that has ended takes none. The caller holds the lock of the intent's head. The statements run immediately, so a
// transaction may notify several times.
func (w *Writer) Notify(tx *database.Tx, head *intents.Head, notices ...Notice) error {
	if len(notices) == 0 || head.Ended() {
		return nil
	}
	counts := make(map[channels.Key]*channels.Count)
	channel, err := w.channels.System(tx, head, counts)
	if err != nil {
		return err
	}
	appended := newAppender(tx, counts, w.audiences)
	for _, notice := range notices {
		_, err := appended.add(head, channel, nil, &Draft{
			ID: message.NewID(), Sender: caller.System, MessageType: message.TypeNotify, Target: notice.To, payload: notice.Payload,
		})
		if err != nil {
			return err
		}
	}
	topics := append(appended.reached.topics(), channel.Key)
	tx.AfterCommit(func() { w.hub.WakeUp(topics...) })
	return tx.Pipeline(appended.statements()...)
}
