package writing

import (
	"slices"
	"time"

	"openintent/channels"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/jsonvalue"
	"openintent/messaging/message"
)

// Notice is something that the server tells one agent.
type Notice struct {
	To      string
	Payload jsonvalue.Object
	// HourlyAtMost keeps the notice from a recipient that got so many in the last hour; 0 is no bound. A notice that an agent can bring
	// about itself has a bound, because all agents' notices share the listed messages of one channel.
	HourlyAtMost int
	// Conversation is what the notice carries beyond RFC-0021; nil for nothing.
	Conversation *message.Conversation
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
	told, err := lastHour(tx, head, channel, counts[channel.Key], notices)
	if err != nil {
		return err
	}
	appended := newAppender(tx, counts, w.audiences)
	for _, notice := range notices {
		if notice.HourlyAtMost != 0 && told[notice.To] >= notice.HourlyAtMost {
			continue
		}
		told[notice.To]++
		_, err := appended.add(head, channel, nil, &Draft{
			ID: message.NewID(), Sender: caller.System, MessageType: message.TypeNotify, Target: notice.To, payload: notice.Payload,
			conversation: notice.Conversation,
		})
		if err != nil {
			return err
		}
	}
	topics := append(appended.reached.topics(), channel.Key)
	tx.AfterCommit(func() { w.hub.WakeUp(topics...) })
	return tx.Pipeline(appended.statements()...)
}

// lastHour counts the listed notices of the last hour for each agent, if one of the new notices has a bound.
func lastHour(
	tx *database.Tx, head *intents.Head, channel *channels.Rules, count *channels.Count, notices []Notice,
) (told map[string]int, err error) {
	told = make(map[string]int)
	if !slices.ContainsFunc(notices, func(n Notice) bool { return n.HourlyAtMost != 0 }) {
		return told, nil
	}
	err = tx.Pipeline(database.Statement{
		SQL: "SELECT target, count(*) FROM messages WHERE intent_no = ? AND channel_no = ? AND ordinal > ? AND created_at > ? GROUP BY target",
		Args: []any{
			channel.IntentNo, channel.ChannelNo, count.Floor, database.Micros(head.Now().Add(-time.Hour)),
		},
		Scan: func(row database.Row) error {
			var agent string
			var times int
			err := row.Scan(&agent, &times)
			told[agent] = times
			return err
		},
	})
	return told, err
}
