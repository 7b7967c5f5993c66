package concerns

import (
	"openintent/agents"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/reading"
)

// at is where a message is.
type at struct{ intentNo, position int64 }

func (c candidate) at() at { return at{c.major, c.minor} }

// seen is a message as a look finds it, without its content.
type seen struct {
	*message.Message
	in     *reading.Snapshot
	viewer message.Viewer
	// visible is true if the caller may get the message.
	visible bool
	// own is true if the caller sent it, and administered if the caller has admin access to its intent, or is the operator.
	own, administered bool
}

// read reads the messages of candidates. l.seen has no entry for one that is gone, or lies outside of the scope of the caller's key.
func (l *look) read(some []candidate) error {
	var places []at
	for _, c := range some {
		if _, known := l.seen[c.at()]; !known {
			places = append(places, c.at())
			l.seen[c.at()] = nil
		}
	}
	messages, err := l.messagesAt(places)
	if err != nil || len(messages) == 0 {
		return err
	}
	var intentNos []int64
	for _, m := range messages {
		intentNos = append(intentNos, m.IntentNo)
	}
	statement, heads := intents.PrepareHeads(l.tx, database.Distinct(intentNos))
	if err := l.tx.Pipeline(statement); err != nil {
		return err
	}
	snapshots, err := l.reader.Snapshots(l.tx, heads(), map[string]agents.Presence{l.by.Agent: l.presence})
	if err != nil {
		return err
	}
	if err := snapshots.Include(messages); err != nil {
		return err
	}
	for _, m := range messages {
		if of := snapshots.Of(m); of != nil && l.by.Scope.CoversChannel(of.Channel.IntentID, of.Channel.ID) {
			l.seen[at{m.IntentNo, m.Position}] = l.as(m, of)
		}
	}
	return nil
}

// as returns a message as the caller sees it.
func (l *look) as(m *message.Message, of *reading.Snapshot) *seen {
	viewer := of.Viewer(l.by.Agent, l.operator())
	return &seen{
		Message: m, in: of, viewer: viewer,
		visible: viewer.Sees(m, message.ByID, of.Count.Floor, of.Now) || viewer.Sees(m, message.Answerable, of.Count.Floor, of.Now),
		own:     m.Sender == l.by.Agent && viewer.Participates,
		administered: l.operator() || !caller.IsGuest(l.by.Agent) && l.by.Scope.CoversIntent(of.Channel.IntentID) &&
			of.Access.Given(l.by.Agent, false, of.Now) >= intents.PermissionAdmin,
	}
}

func (l *look) messagesAt(places []at) (messages []*message.Message, err error) {
	if len(places) == 0 {
		return nil, nil
	}
	in, rows := l.rowsAt(places, "m.intent_no", "m.position")
	return messages, l.tx.Pipeline(database.Statement{
		SQL: "SELECT " + message.FactColumns + " FROM messages m WHERE " + in, Args: message.ViewedBy(l.by.Agent, rows...),
		Scan: func(row database.Row) error {
			m, err := message.ScanFacts(row)
			messages = append(messages, m)
			return err
		},
	})
}

// placesOf returns where some messages are.
func placesOf(some []*seen) []at {
	places := make([]at, len(some))
	for i, m := range some {
		places[i] = at{m.IntentNo, m.Position}
	}
	return places
}

// rowsAt returns a condition that the rows at some places meet, with its arguments. The columns have the intent and the position.
func (l *look) rowsAt(places []at, intent, position string) (in string, args []any) {
	intentNos, positions := make([]int64, len(places)), make([]int64, len(places))
	for i, p := range places {
		intentNos[i], positions[i] = p.intentNo, p.position
	}
	return l.tx.InRows(database.Column{Name: intent, Values: intentNos}, database.Column{Name: position, Values: positions})
}

// about begins the concern that a message is.
func (s *seen) about(c candidate) *concern {
	return &concern{kind: c.kindOf(), since: s.CreatedAt, of: s.ID, intentID: s.in.Channel.IntentID, channelID: s.in.Channel.ID, messageID: s.ID}
}
