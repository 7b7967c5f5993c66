package reading

import (
	"slices"

	"openintent/channels"
	"openintent/database"
	"openintent/intents"
	"openintent/messaging/message"
)

// MessageEventType names messages among an intent's events, in filters and wherever an event's type is told. Logged events
// of this type are the log's copies of audited messages: they are given with their message or not at all.
const MessageEventType = "channel_message"

// Item is a message, or a logged event, in its place: the position in the intent's log or, among the messages of one
// channel, the ordinal.
type Item struct {
	Place   int64
	Message *message.Message
	Event   *intents.Event
	// Audit is the log's copy of the message.
	Audit *intents.Event
	// Encodings are set when followers share the item.
	Encodings *Encodings
}

// Position is the item's place in the intent's log.
func (it Item) Position() int64 {
	if it.Event != nil {
		return it.Event.Position
	}
	return it.Message.Position
}

// Size is how much of a page the item takes up, in bytes.
func (it Item) Size() int {
	if it.Event != nil {
		return it.Event.Size()
	}
	size := it.Message.Size()
	if it.Audit != nil {
		size += it.Audit.Size()
	}
	return size
}

// LogQuery is what is asked of an intent's log.
type LogQuery struct {
	IntentNo int64
	// After and through bound the positions: after < position <= through. At, when it is not nil, names them instead.
	After, Through int64
	At             []int64
	// ChannelNo, when it is set, leaves only this channel's messages, and no events.
	ChannelNo int64
	// Agent is whose receipts and messages are wanted; everyone is true when everybody's messages are.
	Agent    string
	Everyone bool
	Filter   Filter
	// Limit is how many rows the page may have at most, of messages and of events each; 0: none are read.
	Limit int
}

// LogPage is a part of an intent's log as one snapshot had it.
type LogPage struct {
	// look is the intent's; its channel is set when the section is of that channel alone.
	Snapshot
	// Items are in order of their places, without the messages of deleted channels.
	Items []Item
	// Through is the place up to which there are no others.
	Through int64
	// States are the channels of the items' messages.
	States map[int64]ChannelState
	// Cut is true when there was more than the page may hold. The next one may then have the following number of rows.
	Cut       bool
	NextLimit int
}

// ChannelState is a channel and how far it has come.
type ChannelState struct {
	Channel *channels.Rules
	Count   channels.Count
}

// StateOf gives the state of a channel, if the section has it.
func (s *LogPage) StateOf(channelNo int64) (ChannelState, bool) {
	if s.Channel != nil {
		return ChannelState{s.Channel, s.Count}, true
	}
	found, ok := s.States[channelNo]
	return found, ok
}

// ReadLog reads a part of an intent's log, the agents' records and whatever the further statements read, in two round
// trips: the rows, and what deciding on them needs.
func (r Reader) ReadLog(
	tx *database.Tx, q LogQuery, agentIDs []string, further ...database.Statement,
) (*LogPage, error) {
	headStatement, head := intents.PrepareHead(tx, q.IntentNo)
	messages, events, statements := q.prepare(tx)
	l, err := r.IntentSnapshot(tx, agentIDs, append(append(further, headStatement), statements...),
		func() (*intents.Head, error) {
			h, err := head()
			return &h, err
		})
	if err != nil {
		return nil, err
	}
	found := &LogPage{Snapshot: l}
	found.Merge(q, messages, events)
	return found, found.Resolve(tx, r)
}

// prepare gives the statements that read the rows. The queries narrow to what may be wanted; it is decided later.
func (q LogQuery) prepare(tx *database.Tx) (messages *MessagePage, events *intents.SectionEvents, statements []database.Statement) {
	messages, events = &MessagePage{}, &intents.SectionEvents{}
	if q.Limit > 0 && q.Filter.wantsMessages() {
		var statement database.Statement
		messages, statement = MessageQuery{
			IntentNo: q.IntentNo, ChannelNo: q.ChannelNo, byPosition: true, After: q.After, Through: q.Through, at: q.At,
			Agent: q.Agent, Everyone: q.Everyone,
			MessageType: q.Filter.MessageType, CorrelationID: q.Filter.CorrelationID, Limit: q.Limit,
		}.Prepare(tx)
		statements = append(statements, statement)
	}
	if q.Limit > 0 && q.ChannelNo == 0 {
		var statement database.Statement
		events, statement = intents.Section{
			IntentNo: q.IntentNo, After: q.After, Through: q.Through, At: q.At,
			Types: q.Filter.loggedTypes(), Limit: q.Limit,
		}.Prepare(tx)
		statements = append(statements, statement)
	}
	return messages, events, statements
}

// Merge interleaves messages and events by their positions, as far as both are known, and puts each copy with its message.
func (s *LogPage) Merge(q LogQuery, messages *MessagePage, events *intents.SectionEvents) {
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
}

// add adds an item, unless what precedes it is unknown or it is the copy of a message that is not there.
func (s *LogPage) add(it Item) {
	if it.Place > s.Through || it.Event != nil && it.Event.Type == MessageEventType {
		return
	}
	s.Items = append(s.Items, it)
}

// Resolve reads the channels of the messages, drops those of deleted ones, and finds out which requests are abandoned.
func (s *LogPage) Resolve(tx *database.Tx, r Reader) error {
	var messages []*message.Message
	for _, it := range s.Items {
		if it.Message != nil {
			messages = append(messages, it.Message)
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
	s.Items = slices.DeleteFunc(s.Items, func(it Item) bool { return it.Message != nil && all.Of(it.Message) == nil })
	return nil
}
