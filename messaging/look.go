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
func (s *Service) look(tx *database.Tx, key channels.Key, agentIDs []string, further ...database.Statement) (look, error) {
	headStatement, head := intents.PrepareHead(tx, key.IntentNo)
	l, err := s.lookWith(tx, key, agentIDs, append(further, headStatement), func() (*intents.Head, error) {
		h, err := head()
		return &h, err
	})
	return l, err
}

// lookLocked is look under the lock of the intent's head, which is taken in the same round trip.
func (s *Service) lookLocked(tx *database.Tx, key channels.Key, agentIDs []string, further ...database.Statement) (look, *intents.Head, error) {
	lock, heads := intents.PrepareLock(tx, []int64{key.IntentNo}, false)
	var locked *intents.Head
	statements := append([]database.Statement{lock, intents.PrepareClock(tx)}, further...)
	l, err := s.lookWith(tx, key, agentIDs, statements, func() (*intents.Head, error) {
		held, err := heads()
		locked = held.Get(key.IntentNo)
		return locked, err
	})
	return l, locked, err
}

func (s *Service) lookWith(
	tx *database.Tx, key channels.Key, agentIDs []string, statements []database.Statement, head func() (*intents.Head, error),
) (look, error) {
	countStatement, counts := channels.PrepareCounts(tx, []channels.Key{key})
	l, err := s.lookAtIntent(tx, agentIDs, append(statements, countStatement), head)
	if err != nil {
		return look{}, err
	}
	if l.channel, err = s.channels.Rules(tx, key, l.head.Epoch); err != nil {
		return look{}, err
	}
	if count := counts[key]; count != nil {
		l.count = *count
	}
	return l, nil
}

// lookAtIntent runs the statements, of which some lead to the head, and gives what a look has before its channel.
func (s *Service) lookAtIntent(
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
	l.access, err = s.intents.Rules(tx, h.IntentNo, h.Epoch)
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

// viewerIn gives the viewer of a channel for an agent's record, by the rules as of a time.
func viewerIn(
	channel *channels.Rules, presence agents.Presence, operator bool, access *intents.Rules, now time.Time,
) Viewer {
	agent, departedAt := presence.AgentID, presence.DepartedAt
	viewer := Viewer{
		Agent: agent, Operator: operator, Presence: presence, Now: now,
		Participates: channel.Participates(agent, operator, access, departedAt, now),
	}
	if !operator {
		viewer.HistoryFloor = channel.HistoryFloor(agent, departedAt)
	}
	return viewer
}

// admitViewer gives the viewer for the acting agent, or refuses one that may not see the channel's messages at all: without
// access to the intent or, on an explicit channel, without membership.
func (l look) admitViewer(by caller.Caller, acting string) (Viewer, error) {
	viewer := l.viewer(acting, actsAsOperator(by, acting))
	return viewer, l.mayParticipate(by, viewer)
}

func (l look) mayParticipate(by caller.Caller, viewer Viewer) error {
	if viewer.Participates {
		return nil
	}
	if err := l.access.Require(by, viewer.Agent, intents.PermissionRead, l.now); err != nil {
		return err
	}
	return errNotMember
}

// closed tells whether the channel is closed at the time of the look.
func (l look) closed() bool {
	_, closed := l.channel.ClosedBy(l.count, &l.head, l.now)
	return closed
}

// actsAsOperator tells whether the operator acts under its own name. When it names an agent, that agent's rules apply.
func actsAsOperator(by caller.Caller, acting string) bool { return by.IsOperator && acting == by.Agent }

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
	further, err := agents.LoadPresences(tx, distinct(unknown))
	if err != nil {
		return err
	}
	for _, m := range messages {
		presence, known := l.presences[m.Target]
		if !known {
			presence = further[m.Target]
		}
		m.Abandoned = m.Open && (closed(m) || isAgent(m.Target) && !m.CreatedAt.After(presence.DepartedAt))
	}
	return nil
}

// page is a part of the messages of a channel, by their ordinals, or of an intent, by their positions: those the query
// asked for, in rising order.
type page struct {
	intentNo int64
	// channelNo and channelID leave one channel's; the messages of several lack their channel's id.
	channelNo int64
	channelID string
	// byPosition makes positions what bounds and orders, and not ordinals.
	byPosition bool
	// after and through bound the page: after < place <= through. At, when it is not nil, names the places instead.
	after, through int64
	at             []int64
	// agent is whose receipts and messages are wanted; everyone is true for the operator, who sees all.
	agent    string
	everyone bool
	// messageType and correlationID narrow the page further when they are set.
	messageType   Type
	correlationID string
	newestFirst   bool
	limit         int
}

// load reads a page in the snapshot of a look.
func (p page) load(tx *database.Tx, l look) (*selection, error) {
	rows, statement := p.prepare(tx)
	if err := tx.Pipeline(statement); err != nil {
		return nil, err
	}
	return rows, l.markAbandoned(tx, rows.messages)
}

// prepare gives the statement that reads a page, as the query orders it, and where it puts the rows. The query narrows to
// what the agent may possibly see; visible decides.
func (p page) prepare(tx *database.Tx) (rows *selection, statement database.Statement) {
	place := "m.ordinal"
	if p.byPosition {
		place = "m.position"
	}
	query := "SELECT " + messageColumns + " FROM messages m WHERE m.intent_no = ?"
	arguments := viewedBy(p.agent, p.intentNo)
	if p.channelNo != 0 {
		query += " AND m.channel_no = ?"
		arguments = append(arguments, p.channelNo)
	}
	if p.at != nil {
		in, argument := tx.In(place, p.at)
		query += " AND " + in
		arguments = append(arguments, argument)
	} else {
		query += " AND " + place + " > ? AND " + place + " <= ?"
		arguments = append(arguments, p.after, p.through)
	}
	if !p.everyone {
		query += " AND (m.sender = ? OR m.target IS NULL OR m.target = '*' OR m.target = ? OR m.target LIKE 'role:%')"
		arguments = append(arguments, p.agent, p.agent)
	}
	if p.messageType != "" {
		query += " AND m.message_type = ?"
		arguments = append(arguments, string(p.messageType))
	}
	if p.correlationID != "" {
		query += " AND m.correlation_id = ?"
		arguments = append(arguments, p.correlationID)
	}
	query += " ORDER BY " + place
	if p.newestFirst {
		query += " DESC"
	}
	query += " LIMIT ?"
	return prepareMessages(p.channelID, query, append(arguments, p.limit)...)
}

// selection is what a statement found, up to maxPageBytes of content: however large messages are, no reading holds more.
type selection struct {
	channelID string
	messages  []*Message
	bytes     int
	// full is true when there was more than fits.
	full bool
}

// prepareMessages gives a statement for whole messages of one channel and where it puts them.
func prepareMessages(channelID, query string, arguments ...any) (rows *selection, statement database.Statement) {
	rows = &selection{channelID: channelID}
	return rows, database.Statement{SQL: query, Args: arguments, Scan: rows.scan}
}

func (f *selection) scan(row database.Row) error {
	if f.full {
		return nil
	}
	m, err := scanMessage(row)
	if err != nil {
		return err
	}
	size := m.size()
	if f.full = len(f.messages) > 0 && f.bytes+size > maxPageBytes; f.full {
		return nil
	}
	m.ChannelID = f.channelID
	f.messages = append(f.messages, m)
	f.bytes += size
	return nil
}

// following gives the limit for the next page: a page that ended by its bytes tells how many rows are worth asking for,
// and one that did not doubles them.
func (f *selection) following(limit int) int {
	if f.full {
		return len(f.messages) + 1
	}
	return min(2*limit, maxChunk)
}

// complete tells whether the statement found all there was.
func (f *selection) complete(limit int) bool { return !f.full && len(f.messages) < limit }

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
	if !messageIDForm.MatchString(id) {
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
