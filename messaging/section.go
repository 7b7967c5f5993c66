package messaging

import (
	"slices"

	"openintent/channels"
	"openintent/database"
	"openintent/intents"
)

// MessageEventType names messages among an intent's events, in filters and wherever an event's type is told. Logged events
// of this type are the log's copies of audited messages: they are given with their message or not at all.
const MessageEventType = "channel_message"

// item is a message, or a logged event, in its place: the position in the intent's log or, among the messages of one
// channel, the ordinal.
type item struct {
	place   int64
	message *Message
	event   *intents.Event
	// audit is the log's copy of the message.
	audit *intents.Event
	// encodings are set when followers share the item.
	encodings *encodings
}

// position is the item's place in the intent's log.
func (it item) position() int64 {
	if it.event != nil {
		return it.event.Position
	}
	return it.message.Position
}

// size is how much of a page the item takes up, in bytes.
func (it item) size() int {
	if it.event != nil {
		return it.event.Size()
	}
	size := it.message.size()
	if it.audit != nil {
		size += it.audit.Size()
	}
	return size
}

// logQuery is what is asked of an intent's log.
type logQuery struct {
	intentNo int64
	// after and through bound the positions: after < position <= through. At, when it is not nil, names them instead.
	after, through int64
	at             []int64
	// channelNo, when it is set, leaves only this channel's messages, and no events.
	channelNo int64
	// agent is whose receipts and messages are wanted; everyone is true when everybody's messages are.
	agent    string
	everyone bool
	filter   Filter
	// limit is how many rows the page may have at most, of messages and of events each; 0: none are read.
	limit int
}

// section is a part of an intent's log as one snapshot had it.
type section struct {
	// look is the intent's; its channel is set when the section is of that channel alone.
	look
	// items are in order of their places, without the messages of deleted channels.
	items []item
	// through is the place up to which there are no others.
	through int64
	// talks are the channels of the items' messages.
	talks map[int64]talk
	// cut is true when there was more than the page may hold. The next one may then have the following number of rows.
	cut       bool
	following int
}

// talk is a channel and how far it has come.
type talk struct {
	channel *channels.Rules
	count   channels.Count
}

// talkOf gives the state of a channel, if the section has it.
func (s *section) talkOf(channelNo int64) (talk, bool) {
	if s.channel != nil {
		return talk{s.channel, s.count}, true
	}
	found, ok := s.talks[channelNo]
	return found, ok
}

// readSection reads a part of an intent's log, the agents' records and whatever the further statements read, in two round
// trips: the rows, and what deciding on them needs.
func (r Reader) readSection(
	tx *database.Tx, q logQuery, agentIDs []string, further ...database.Statement,
) (*section, error) {
	headStatement, head := intents.PrepareHead(tx, q.intentNo)
	messages, events, statements := q.prepare(tx)
	l, err := r.lookAtIntent(tx, agentIDs, append(append(further, headStatement), statements...),
		func() (*intents.Head, error) {
			h, err := head()
			return &h, err
		})
	if err != nil {
		return nil, err
	}
	found := &section{look: l}
	found.merge(q, messages, events)
	return found, found.resolve(tx, r)
}

// prepare gives the statements that read the rows. The queries narrow to what may be wanted; it is decided later.
func (q logQuery) prepare(tx *database.Tx) (messages *selection, events *intents.SectionEvents, statements []database.Statement) {
	messages, events = &selection{}, &intents.SectionEvents{}
	if q.limit > 0 && q.filter.wantsMessages() {
		var statement database.Statement
		messages, statement = page{
			intentNo: q.intentNo, channelNo: q.channelNo, byPosition: true, after: q.after, through: q.through, at: q.at,
			agent: q.agent, everyone: q.everyone,
			messageType: q.filter.MessageType, correlationID: q.filter.CorrelationID, limit: q.limit,
		}.prepare(tx)
		statements = append(statements, statement)
	}
	if q.limit > 0 && q.channelNo == 0 {
		var statement database.Statement
		events, statement = intents.Section{
			IntentNo: q.intentNo, After: q.after, Through: q.through, At: q.at,
			Types: q.filter.loggedTypes(), Limit: q.limit,
		}.Prepare(tx)
		statements = append(statements, statement)
	}
	return messages, events, statements
}

// merge interleaves messages and events by their positions, as far as both are known, and puts each copy with its message.
func (s *section) merge(q logQuery, messages *selection, events *intents.SectionEvents) {
	s.through = min(q.through, s.head.LastPosition)
	if q.at != nil {
		s.through = s.head.LastPosition
	}
	s.following = messages.following(q.limit)
	if q.limit > 0 && !messages.complete(q.limit) {
		s.through, s.cut = min(s.through, messages.messages[len(messages.messages)-1].Position), true
	}
	if q.limit > 0 && (events.Cut || len(events.Events) == q.limit) {
		s.through, s.cut = min(s.through, events.Events[len(events.Events)-1].Position), true
	}
	if events.Cut {
		s.following = min(s.following, len(events.Events)+1)
	}
	logged := events.Events
	for _, m := range messages.messages {
		for len(logged) > 0 && logged[0].Position < m.Position {
			s.add(item{place: logged[0].Position, event: logged[0]})
			logged = logged[1:]
		}
		it := item{place: m.Position, message: m}
		if len(logged) > 0 && logged[0].Position == m.Position {
			it.audit, logged = logged[0], logged[1:]
		}
		s.add(it)
	}
	for _, event := range logged {
		s.add(item{place: event.Position, event: event})
	}
}

// add adds an item, unless what precedes it is unknown or it is the copy of a message that is not there.
func (s *section) add(it item) {
	if it.place > s.through || it.event != nil && it.event.Type == MessageEventType {
		return
	}
	s.items = append(s.items, it)
}

// resolve reads the channels of the messages, drops those of deleted ones, and finds out which requests are abandoned.
func (s *section) resolve(tx *database.Tx, r Reader) error {
	var messages []*Message
	for _, it := range s.items {
		if it.message != nil {
			messages = append(messages, it.message)
		}
	}
	if len(messages) == 0 {
		return nil
	}
	all := &survey{
		reader: r, tx: tx, heads: intents.Heads{&s.head}, presences: s.presences,
		access: map[int64]*intents.Rules{s.head.IntentNo: s.access}, looks: make(map[channels.Key]*look),
	}
	if err := all.include(messages); err != nil {
		return err
	}
	s.talks = make(map[int64]talk, len(all.looks))
	for key, l := range all.looks {
		if l != nil {
			s.talks[key.ChannelNo] = talk{l.channel, l.count}
		}
	}
	s.items = slices.DeleteFunc(s.items, func(it item) bool { return it.message != nil && all.look(it.message) == nil })
	return nil
}
