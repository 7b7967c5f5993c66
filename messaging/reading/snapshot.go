package reading

import (
	"time"

	"openintent/agents"
	"openintent/channels"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/claim"
	"openintent/messaging/message"
)

// Snapshot is the state of a channel and of its intent at one moment. Every reading of a channel begins with one.
type Snapshot struct {
	Head    intents.Head
	Access  *intents.Rules
	Channel *channels.Rules
	Count   channels.Count
	// Presences hold the records of the agents that were asked for. The record of an agent that is not registered is empty
	// but for its id.
	Presences map[string]agents.Presence
	Now       time.Time
}

// Snapshot reads the state, the agents' records and whatever the further statements read, in one round trip. For a channel
// that is deleted or absent it fails with CHANNEL_NOT_FOUND.
func (r Reader) Snapshot(tx *database.Tx, key channels.Key, agentIDs []string, further ...database.Statement) (Snapshot, error) {
	headStatement, head := intents.PrepareHead(tx, key.IntentNo)
	l, err := r.snapshotWith(tx, key, agentIDs, append(further, headStatement), func() (*intents.Head, error) {
		h, err := head()
		return &h, err
	})
	return l, err
}

// LockedSnapshot is Snapshot under the lock of the intent's head, which it takes in the same round trip.
func (r Reader) LockedSnapshot(tx *database.Tx, key channels.Key, agentIDs []string, further ...database.Statement) (Snapshot, *intents.Head, error) {
	lock, heads := intents.PrepareLock(tx, []int64{key.IntentNo}, false)
	var locked *intents.Head
	statements := append([]database.Statement{lock, intents.PrepareClock(tx)}, further...)
	l, err := r.snapshotWith(tx, key, agentIDs, statements, func() (*intents.Head, error) {
		held, err := heads()
		locked = held.Get(key.IntentNo)
		return locked, err
	})
	return l, locked, err
}

func (r Reader) snapshotWith(
	tx *database.Tx, key channels.Key, agentIDs []string, statements []database.Statement, head func() (*intents.Head, error),
) (Snapshot, error) {
	countStatement, counts := channels.PrepareCounts(tx, []channels.Key{key})
	l, err := r.IntentSnapshot(tx, agentIDs, append(statements, countStatement), head)
	if err != nil {
		return Snapshot{}, err
	}
	if l.Channel, err = r.Channels.Rules(tx, key, l.Head.Epoch); err != nil {
		return Snapshot{}, err
	}
	if count := counts[key]; count != nil {
		l.Count = *count
	}
	return l, nil
}

// IntentSnapshot runs the statements, some of which lead to the head, and returns a snapshot that has no channel yet.
func (r Reader) IntentSnapshot(
	tx *database.Tx, agentIDs []string, statements []database.Statement, head func() (*intents.Head, error),
) (Snapshot, error) {
	presenceStatement, presences := agents.PreparePresences(tx, agentIDs)
	if err := tx.Pipeline(append(statements, presenceStatement)...); err != nil {
		return Snapshot{}, err
	}
	h, err := head()
	if err != nil {
		return Snapshot{}, err
	}
	for _, agent := range agentIDs {
		if _, found := presences[agent]; !found {
			presences[agent] = agents.Presence{AgentID: agent}
		}
	}
	l := Snapshot{Head: *h, Presences: presences, Now: h.Now()}
	l.Access, err = r.Intents.Rules(tx, h.IntentNo, h.Epoch)
	return l, err
}

// Viewer returns the viewer for an agent whose record the snapshot has.
func (l Snapshot) Viewer(agent string, operator bool) message.Viewer {
	return l.ViewerOf(l.Channel, agent, operator)
}

// ViewerOf is Viewer for any channel of the snapshot's intent.
func (l Snapshot) ViewerOf(channel *channels.Rules, agent string, operator bool) message.Viewer {
	presence := l.Presences[agent]
	presence.AgentID = agent
	return message.NewViewer(channel, presence, operator, l.Access, l.Now)
}

// AdmitViewer returns the viewer for the acting agent. It refuses an agent that may not see the channel's messages at all,
// because it has no access to the intent or, on an explicit channel, no membership.
func (l Snapshot) AdmitViewer(by caller.Caller, acting string) (message.Viewer, error) {
	viewer := l.Viewer(acting, message.ActsAsOperator(by, acting))
	return viewer, viewer.RequireParticipation(by, l.Access)
}

// Closed reports whether the channel is closed at the time of the snapshot.
func (l Snapshot) Closed() bool {
	_, closed := l.Channel.ClosedBy(l.Count, &l.Head, l.Now)
	return closed
}

// SituationOf returns what the claims of a message of the snapshot's channel are judged by.
func (l Snapshot) SituationOf(m *message.Message) claim.Situation {
	return claim.Situation{
		Message: m, Channel: l.Channel, Access: l.Access, Closed: l.Closed(), IntentEnded: l.Head.Ended(), Now: l.Now,
	}
}

// MarkAbandoned marks the open requests that nobody can answer any more: those whose addressee left after they were sent,
// and all those of a closed channel.
func (l Snapshot) MarkAbandoned(tx *database.Tx, messages []*message.Message) error {
	closed := l.Closed()
	return l.markAbandonedIn(tx, messages, func(*message.Message) bool { return closed })
}

// markAbandonedIn is MarkAbandoned for messages of several channels. closed tells whether a message's channel is closed.
func (l Snapshot) markAbandonedIn(tx *database.Tx, messages []*message.Message, closed func(m *message.Message) bool) error {
	var unknown []string
	for _, m := range messages {
		if _, known := l.Presences[m.Target]; m.Open && !known && message.IsAgent(m.Target) && !closed(m) {
			unknown = append(unknown, m.Target)
		}
	}
	further, err := agents.LoadPresences(tx, database.Distinct(unknown))
	if err != nil {
		return err
	}
	for _, m := range messages {
		presence, known := l.Presences[m.Target]
		if !known {
			presence = further[m.Target]
		}
		m.Abandoned = m.Open && closed(m) || m.AbandonedBy(presence)
	}
	return nil
}

// load runs a query for whole messages of the snapshot's channel.
func (l Snapshot) load(tx *database.Tx, query string, arguments ...any) (*MessagePage, error) {
	rows, statement := PrepareMessages(l.Channel.ID, query, arguments...)
	if err := tx.Pipeline(statement); err != nil {
		return nil, err
	}
	return rows, l.MarkAbandoned(tx, rows.Messages)
}

// Find reads one message of the snapshot's channel by its id, whether or not it was evicted. It returns nil when there is
// none.
func (l Snapshot) Find(tx *database.Tx, agent, id string) (*message.Message, error) {
	if !message.IsID(id) {
		return nil, nil
	}
	found, err := l.load(tx,
		"SELECT "+message.Columns+" FROM messages m WHERE "+message.ByIDInChannel,
		message.ViewedBy(agent, id, l.Channel.IntentNo, l.Channel.ChannelNo)...)
	if err != nil || len(found.Messages) == 0 {
		return nil, err
	}
	return found.Messages[0], nil
}

// FindAt is Find by the message's position.
func (l Snapshot) FindAt(tx *database.Tx, agent string, position int64) (*message.Message, error) {
	found, err := l.load(tx,
		"SELECT "+message.Columns+" FROM messages m WHERE m.intent_no = ? AND m.channel_no + 0 = ? AND m.position = ?",
		message.ViewedBy(agent, l.Channel.IntentNo, l.Channel.ChannelNo, position)...)
	if err != nil || len(found.Messages) == 0 {
		return nil, err
	}
	return found.Messages[0], nil
}

// IsFor reports whether an agent receives a message that the viewer sees. For an agent other than the viewer it is not known
// what that agent has read or answered itself.
func (l Snapshot) IsFor(m *message.Message, viewer message.Viewer, recipient string) bool {
	if recipient != viewer.Agent {
		m = m.ForAnother()
	}
	return l.Viewer(recipient, false).Receives(m)
}
