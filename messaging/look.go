package messaging

import (
	"time"

	"openintent/agents"
	"openintent/caller"
	"openintent/channels"
	"openintent/database"
	"openintent/intents"
)

// look is what every reading of a channel begins with: its state and its intent's in one snapshot.
type look struct {
	head    intents.Head
	access  *intents.Rules
	channel *channels.Rules
	count   channels.Count
	// presences hold the records of the agents that were asked for; an unregistered one's is empty but for its id.
	presences map[string]agents.Presence
	now       time.Time
}

// look reads the snapshot, with the agents' records and whatever the further statements read, in one round trip. A channel
// that is deleted or absent is CHANNEL_NOT_FOUND.
func (r Reader) look(tx *database.Tx, key channels.Key, agentIDs []string, further ...database.Statement) (look, error) {
	headStatement, head := intents.PrepareHead(tx, key.IntentNo)
	l, err := r.lookWith(tx, key, agentIDs, append(further, headStatement), func() (*intents.Head, error) {
		h, err := head()
		return &h, err
	})
	return l, err
}

// lookLocked is look under the lock of the intent's head, which is taken in the same round trip.
func (r Reader) lookLocked(tx *database.Tx, key channels.Key, agentIDs []string, further ...database.Statement) (look, *intents.Head, error) {
	lock, heads := intents.PrepareLock(tx, []int64{key.IntentNo}, false)
	var locked *intents.Head
	statements := append([]database.Statement{lock, intents.PrepareClock(tx)}, further...)
	l, err := r.lookWith(tx, key, agentIDs, statements, func() (*intents.Head, error) {
		held, err := heads()
		locked = held.Get(key.IntentNo)
		return locked, err
	})
	return l, locked, err
}

func (r Reader) lookWith(
	tx *database.Tx, key channels.Key, agentIDs []string, statements []database.Statement, head func() (*intents.Head, error),
) (look, error) {
	countStatement, counts := channels.PrepareCounts(tx, []channels.Key{key})
	l, err := r.lookAtIntent(tx, agentIDs, append(statements, countStatement), head)
	if err != nil {
		return look{}, err
	}
	if l.channel, err = r.Channels.Rules(tx, key, l.head.Epoch); err != nil {
		return look{}, err
	}
	if count := counts[key]; count != nil {
		l.count = *count
	}
	return l, nil
}

// lookAtIntent runs the statements, of which some lead to the head, and gives what a look has before its channel.
func (r Reader) lookAtIntent(
	tx *database.Tx, agentIDs []string, statements []database.Statement, head func() (*intents.Head, error),
) (look, error) {
	presenceStatement, presences := agents.PreparePresences(tx, agentIDs)
	if err := tx.Pipeline(append(statements, presenceStatement)...); err != nil {
		return look{}, err
	}
	h, err := head()
	if err != nil {
		return look{}, err
	}
	for _, agent := range agentIDs {
		if _, found := presences[agent]; !found {
			presences[agent] = agents.Presence{AgentID: agent}
		}
	}
	l := look{head: *h, presences: presences, now: h.Now()}
	l.access, err = r.Intents.Rules(tx, h.IntentNo, h.Epoch)
	return l, err
}

// viewer gives the viewer for an agent whose record the look has.
func (l look) viewer(agent string, operator bool) Viewer {
	return l.viewerOf(l.channel, agent, operator)
}

// viewerOf is viewer for some channel of the look's intent.
func (l look) viewerOf(channel *channels.Rules, agent string, operator bool) Viewer {
	presence := l.presences[agent]
	presence.AgentID = agent
	return viewerIn(channel, presence, operator, l.access, l.now)
}

// admitViewer gives the viewer for the acting agent, or refuses one that may not see the channel's messages at all: without
// access to the intent or, on an explicit channel, without membership.
func (l look) admitViewer(by caller.Caller, acting string) (Viewer, error) {
	viewer := l.viewer(acting, actsAsOperator(by, acting))
	return viewer, viewer.mayParticipate(by, l.access)
}

// closed tells whether the channel is closed at the time of the look.
func (l look) closed() bool {
	_, closed := l.channel.ClosedBy(l.count, &l.head, l.now)
	return closed
}

// markAbandoned marks the open requests that nobody can answer any more: those whose addressee left after they were sent,
// and all of a closed channel.
func (l look) markAbandoned(tx *database.Tx, messages []*Message) error {
	closed := l.closed()
	return l.markAbandonedIn(tx, messages, func(*Message) bool { return closed })
}

// markAbandonedIn is markAbandoned for messages of several channels; closed tells whether a message's channel is.
func (l look) markAbandonedIn(tx *database.Tx, messages []*Message, closed func(m *Message) bool) error {
	var unknown []string
	for _, m := range messages {
		if _, known := l.presences[m.Target]; m.Open && !known && isAgent(m.Target) && !closed(m) {
			unknown = append(unknown, m.Target)
		}
	}
	further, err := agents.LoadPresences(tx, database.Distinct(unknown))
	if err != nil {
		return err
	}
	for _, m := range messages {
		presence, known := l.presences[m.Target]
		if !known {
			presence = further[m.Target]
		}
		m.Abandoned = m.Open && closed(m) || m.abandonedBy(presence)
	}
	return nil
}

// load runs a query for whole messages of the look's channel.
func (l look) load(tx *database.Tx, query string, arguments ...any) (*selection, error) {
	rows, statement := prepareMessages(l.channel.ID, query, arguments...)
	if err := tx.Pipeline(statement); err != nil {
		return nil, err
	}
	return rows, l.markAbandoned(tx, rows.messages)
}

// find reads one message of the look's channel by id, evicted or not; nil when there is none.
func (l look) find(tx *database.Tx, agent, id string) (*Message, error) {
	if !isMessageID(id) {
		return nil, nil
	}
	found, err := l.load(tx,
		"SELECT "+messageColumns+" FROM messages m WHERE m.id = ? AND m.intent_no = ? AND m.channel_no = ?",
		viewedBy(agent, id, l.channel.IntentNo, l.channel.ChannelNo)...)
	if err != nil || len(found.messages) == 0 {
		return nil, err
	}
	return found.messages[0], nil
}

// isFor tells of a message that a viewer sees whether an agent receives it. What another than the viewer has read or answered
// itself is not known.
func (l look) isFor(m *Message, viewer Viewer, recipient string) bool {
	if recipient != viewer.Agent {
		m = m.forAnother()
	}
	return l.viewer(recipient, false).receives(m)
}
