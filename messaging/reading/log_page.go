package reading

import (
	"cmp"
	"slices"

	"openintent/channels"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/messaging/message"
)

// MessageEventType is the event type that stands for messages, in filters and wherever an entry's type is named. Logged
// events of this type are the log's copies of audited messages; a copy comes with its message or not at all.
const MessageEventType = "channel_message"

// Item is a message, a logged event or an annotation in its place. The place is the position in the intent's log or, among the
// messages of one channel, the ordinal.
type Item struct {
	Place      int64
	Message    *message.Message
	Event      *intents.Event
	Annotation *message.Annotation
	// Audit is the log's copy of the message.
	Audit *intents.Event
	// Encodings are set when followers share the item.
	Encodings *Encodings
}

// Position is the item's place in the intent's log.
func (it Item) Position() int64 {
	switch {
	case it.Event != nil:
		return it.Event.Position
	case it.Annotation != nil:
		return it.Annotation.Position
	}
	return it.Message.Position
}

// Judged returns the message by which is decided who sees the item: the message itself, or the annotation's. It is nil for a
// logged event.
func (it Item) Judged() *message.Message { return judged(it.Message, it.Annotation) }

func judged(m *message.Message, a *message.Annotation) *message.Message {
	if a != nil {
		return a.Message
	}
	return m
}

// Size is how much of a page the item takes up, in bytes.
func (it Item) Size() int {
	switch {
	case it.Event != nil:
		return it.Event.Size()
	case it.Annotation != nil:
		return it.Annotation.Size()
	}
	size := it.Message.Size()
	if it.Audit != nil {
		size += it.Audit.Size()
	}
	return size
}

// LogQuery says which part of an intent's log is wanted.
type LogQuery struct {
	IntentNo int64
	// After and Through bound the positions: After < position <= Through. At, when it is not nil, names the positions
	// instead.
	After, Through int64
	At             []int64
	// ChannelNo, when it is set, leaves only this channel's messages and annotations, and no events.
	ChannelNo int64
	// Agent is the agent whose receipts and messages are wanted. Everyone is true when everybody's messages are.
	Agent    string
	Everyone bool
	Filter   Filter
	// Facts leaves only messages, without their contents.
	Facts bool
	// Limit is how many messages, how many events and how many annotations the page may have at most. With 0 none are read.
	Limit int
}

// LogPage is a part of an intent's log, as one snapshot had it.
type LogPage struct {
	// Snapshot is the intent's. Its channel is set when the page is of that channel alone.
	Snapshot
	// Items are in the order of their places, without what belongs to deleted channels.
	Items []Item
	// Through is the place up to which there are no other items.
	Through int64
	// States are the states of the items' channels, by the channels' numbers.
	States map[int64]ChannelState
	// Cut is true when there was more than the page may hold. Then the next page may have NextLimit rows.
	Cut       bool
	NextLimit int
}

// ChannelState is a channel and how far it has come.
type ChannelState struct {
	Channel *channels.Rules
	Count   channels.Count
}

// StateOf returns the state of a channel, if the page has it.
func (s *LogPage) StateOf(channelNo int64) (ChannelState, bool) {
	if s.Channel != nil {
		return ChannelState{s.Channel, s.Count}, true
	}
	found, ok := s.States[channelNo]
	return found, ok
}

// ReadLog reads a part of an intent's log, the agents' records and whatever the further statements read. It takes two round
// trips: one for the rows, one for what decides who sees them.
func (r Reader) ReadLog(
	tx *database.Tx, q LogQuery, agentIDs []string, further ...database.Statement,
) (*LogPage, error) {
	headStatement, head := intents.PrepareHead(tx, q.IntentNo)
	rows, statements := q.prepare(tx)
	l, err := r.IntentSnapshot(tx, agentIDs, append(append(further, headStatement), statements...),
		func() (*intents.Head, error) {
			h, err := head()
			return &h, err
		})
	if err != nil {
		return nil, err
	}
	found := &LogPage{Snapshot: l}
	found.Merge(q, rows)
	return found, found.Resolve(tx, r)
}

// Rows are what was read of a part of a log, kind by kind. Annotations are nil when none were asked for.
type Rows struct {
	Messages    *MessagePage
	Events      *intents.SectionEvents
	Annotations *AnnotationPage
}

// prepare returns the statements that read the rows. They leave out what is certainly not wanted; the rest is decided
// later.
func (q LogQuery) prepare(tx *database.Tx) (rows Rows, statements []database.Statement) {
	rows = Rows{Messages: &MessagePage{}, Events: &intents.SectionEvents{}}
	if q.Limit > 0 && q.Filter.wantsMessages() {
		var statement database.Statement
		rows.Messages, statement = MessageQuery{
			IntentNo: q.IntentNo, ChannelNo: q.ChannelNo, byPosition: true, After: q.After, Through: q.Through, at: q.At,
			Agent: q.Agent, Everyone: q.Everyone,
			MessageType: q.Filter.MessageType, CorrelationID: q.Filter.CorrelationID, facts: q.Facts, Limit: q.Limit,
		}.Prepare(tx)
		statements = append(statements, statement)
	}
	if q.Limit > 0 && q.ChannelNo == 0 && !q.Facts {
		var statement database.Statement
		rows.Events, statement = intents.Section{
			IntentNo: q.IntentNo, After: q.After, Through: q.Through, At: q.At,
			Types: q.Filter.loggedTypes(), Limit: q.Limit,
		}.Prepare(tx)
		statements = append(statements, statement)
	}
	if types, wanted := q.Filter.annotationTypes(); wanted && q.Limit > 0 && !q.Facts {
		var statement database.Statement
		rows.Annotations, statement = AnnotationQuery{
			IntentNo: q.IntentNo, ChannelNo: q.ChannelNo, After: q.After, Through: q.Through, At: q.At,
			Agent: q.Agent, Everyone: q.Everyone, Types: types, Limit: q.Limit,
		}.Prepare(tx)
		statements = append(statements, statement)
	}
	return rows, statements
}

// Merge puts all rows in the order of their positions, as far as all kinds are known, and puts each copy with its message.
func (s *LogPage) Merge(q LogQuery, rows Rows) {
	messages, events := rows.Messages, rows.Events
	s.Through = min(q.Through, s.Head.LastPosition)
	if q.At != nil {
		s.Through = s.Head.LastPosition
	}
	s.NextLimit = messages.NextLimit(q.Limit)
	if q.Limit > 0 && !messages.Complete(q.Limit) {
		s.Through, s.Cut = min(s.Through, messages.Messages[len(messages.Messages)-1].Position), true
	}
	if q.Limit > 0 && (events.Cut || len(events.Events) == q.Limit) {
		s.Through, s.Cut = min(s.Through, events.Events[len(events.Events)-1].Position), true
	}
	if events.Cut {
		s.NextLimit = min(s.NextLimit, len(events.Events)+1)
	}
	s.bound(q, rows.Annotations)
	logged := events.Events
	for _, m := range messages.Messages {
		for len(logged) > 0 && logged[0].Position < m.Position {
			s.add(Item{Place: logged[0].Position, Event: logged[0]})
			logged = logged[1:]
		}
		it := Item{Place: m.Position, Message: m}
		if len(logged) > 0 && logged[0].Position == m.Position {
			it.Audit, logged = logged[0], logged[1:]
		}
		s.add(it)
	}
	for _, event := range logged {
		s.add(Item{Place: event.Position, Event: event})
	}
	s.interleave(rows.Annotations)
}

// bound ends the page where the annotations are no longer known.
func (s *LogPage) bound(q LogQuery, annotations *AnnotationPage) {
	if annotations == nil {
		return
	}
	found := annotations.Annotations
	if annotations.Full || len(found) == q.Limit {
		s.Through, s.Cut = min(s.Through, found[len(found)-1].Position), true
	}
	if annotations.Full {
		s.NextLimit = min(s.NextLimit, len(found)+1)
	}
}

// interleave puts the annotations into their places among the other items.
func (s *LogPage) interleave(annotations *AnnotationPage) {
	if annotations == nil || len(annotations.Annotations) == 0 {
		return
	}
	for _, a := range annotations.Annotations {
		s.add(Item{Place: a.Position, Annotation: a})
	}
	slices.SortFunc(s.Items, func(a, b Item) int { return cmp.Compare(a.Place, b.Place) })
}

// add adds an item. It leaves out items beyond the place up to which everything is known, and copies whose message is not
// there.
func (s *LogPage) add(it Item) {
	if it.Place > s.Through || it.Event != nil && it.Event.Type == MessageEventType {
		return
	}
	s.Items = append(s.Items, it)
}

// Resolve reads the channels of the messages and of the annotations' messages, drops what belongs to deleted channels, and
// finds out which requests are abandoned.
func (s *LogPage) Resolve(tx *database.Tx, r Reader) error {
	var messages []*message.Message
	for _, it := range s.Items {
		if m := it.Judged(); m != nil {
			messages = append(messages, m)
		}
	}
	if len(messages) == 0 {
		return nil
	}
	all := &Snapshots{
		reader: r, Tx: tx, heads: intents.Heads{&s.Head}, Presences: s.Presences,
		Access: map[int64]*intents.Rules{s.Head.IntentNo: s.Access}, byChannel: make(map[channels.Key]*Snapshot),
	}
	if err := all.Include(messages); err != nil {
		return err
	}
	s.States = make(map[int64]ChannelState, len(all.byChannel))
	for key, l := range all.byChannel {
		if l != nil {
			s.States[key.ChannelNo] = ChannelState{l.Channel, l.Count}
		}
	}
	s.Items = slices.DeleteFunc(s.Items, func(it Item) bool { return it.Judged() != nil && all.Of(it.Judged()) == nil })
	for _, it := range s.Items {
		if it.Annotation != nil {
			it.Annotation.ChannelID = it.Annotation.Message.ChannelID
		}
	}
	return nil
}
