package writing

import (
	"openintent/channels"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/jsonvalue"
	"openintent/messaging/message"
	"openintent/messaging/wake"
)

// AnnounceDeparture sends the server's notification that an agent left to those of the channels that are open (RFC-0021
// section 7.2). The caller holds the lock of the intent's head. It is the departure's work that calls this
// (messaging/departure.go); readers need not wait for it, because message.Message.AbandonedBy and channels.Rules compare
// with the time of the departure.
func (w *Writer) AnnounceDeparture(tx *database.Tx, head *intents.Head, agent string, keys []channels.Key) error {
	if len(keys) == 0 {
		return nil
	}
	counts, err := channels.LoadCounts(tx, keys)
	if err != nil {
		return err
	}
	appended := newAppender(tx, counts, w.audiences)
	for _, key := range keys {
		channel, err := w.channels.Rules(tx, key, head.Epoch)
		if err != nil {
			return err
		}
		if _, closed := channel.ClosedBy(*counts[key], head, head.Now()); closed {
			continue
		}
		if _, err := appended.add(head, channel, nil, departureDraft(agent)); err != nil {
			return err
		}
	}
	tx.AfterCommit(func() {
		for _, key := range keys {
			w.hub.WakeUp(key, wake.ClosingTopic(key))
		}
	})
	tx.SendWithCommit(appended.statements()...)
	return nil
}

// departureDraft is the message by which the server tells a channel that an agent left.
func departureDraft(agent string) *Draft {
	var payload jsonvalue.Builder
	return &Draft{
		ID: message.NewID(), Sender: caller.System, MessageType: message.TypeNotify, Target: caller.Broadcast,
		payload: payload.String("event", "agent_departed").String("agent_id", agent).Object(),
	}
}
