package reading

import (
	"openintent/internal/database"
	"openintent/messaging/message"
)

// These bound what one reading holds and looks at.
const (
	// MaxPage bounds how many messages a list has, MaxPageBytes their payloads.
	MaxPage      = 1000
	MaxPageBytes = 3 << 20
	// FirstChunk and MaxChunk bound the rows that one statement reads. Reading begins with small chunks, because messages
	// may be large.
	FirstChunk = 64
	MaxChunk   = 512
	// MaxSpan bounds how many positions of a log one reading looks at. A reader that may see little of it reads many small
	// pages instead of a long one.
	MaxSpan = 16_384
)

// MessageQuery says which messages of a channel are wanted, by their ordinals, or which messages of an intent, by their
// positions. A page of them is in rising order unless NewestFirst is set.
type MessageQuery struct {
	IntentNo int64
	// ChannelNo and ChannelID leave one channel's messages. Messages of several channels come without their channel's id.
	ChannelNo int64
	ChannelID string
	// byPosition is true when positions, and not ordinals, bound and order the messages.
	byPosition bool
	// After and Through bound the places: After < place <= Through. at, when it is not nil, names the places instead.
	After, Through int64
	at             []int64
	// Agent is the agent whose receipts and messages are wanted. Everyone is true for the operator, who sees all.
	Agent    string
	Everyone bool
	// MessageType and CorrelationID narrow the page further, when they are set.
	MessageType   message.Type
	CorrelationID string
	// Kind, when it is set, leaves out what cannot be of this kind. The conversation decides.
	Kind        string
	NewestFirst bool
	// facts leaves out the contents of the messages.
	facts bool
	Limit int
}

// MessagePage holds the messages that a statement found, up to MaxPageBytes of content. So no reading holds more than that,
// however large messages are.
type MessagePage struct {
	channelID string
	facts     bool
	Messages  []*message.Message
	bytes     int
	// Full is true when there was more than fits.
	Full bool
}

// Load reads a page in a snapshot's transaction, and marks its abandoned requests.
func (p MessageQuery) Load(tx *database.Tx, l Snapshot) (*MessagePage, error) {
	rows, statement := p.Prepare(tx)
	if err := tx.Pipeline(statement); err != nil {
		return nil, err
	}
	return rows, l.MarkAbandoned(tx, rows.Messages)
}

// Prepare returns the statement that reads a page, in the query's order, and the page that it fills. The statement narrows
// the rows to those that the agent may possibly see; Viewer.Sees decides.
func (p MessageQuery) Prepare(tx *database.Tx) (rows *MessagePage, statement database.Statement) {
	place := "m.ordinal"
	if p.byPosition {
		place = "m.position"
	}
	columns := message.Columns
	if p.facts {
		columns = message.FactColumns
	}
	query := "SELECT " + columns + " FROM messages m WHERE m.intent_no = ?"
	arguments := message.ViewedBy(p.Agent, p.IntentNo)
	if p.ChannelNo != 0 {
		query += p.channelCondition()
		arguments = append(arguments, p.ChannelNo)
	}
	if p.at != nil {
		in, argument := tx.In(place, p.at)
		query += " AND " + in
		arguments = append(arguments, argument)
	} else {
		query += " AND " + place + " > ? AND " + place + " <= ?"
		arguments = append(arguments, p.After, p.Through)
	}
	narrowing, narrowedBy := p.narrowing()
	query, arguments = query+narrowing, append(arguments, narrowedBy...)
	if p.MessageType != "" {
		query += " AND m.message_type = ?"
		arguments = append(arguments, string(p.MessageType))
	}
	if p.CorrelationID != "" {
		query += " AND m.correlation_id = ?"
		arguments = append(arguments, p.CorrelationID)
	}
	if p.Kind != "" {
		ofKind, text := tx.Contains("m.conversation", message.KindText(p.Kind))
		query += " AND " + ofKind
		arguments = append(arguments, text)
	}
	query += " ORDER BY " + place
	if p.NewestFirst {
		query += " DESC"
	}
	query += " LIMIT ?"
	rows, statement = PrepareMessages(p.ChannelID, query, append(arguments, p.Limit)...)
	rows.facts = p.facts
	return rows, statement
}

// channelCondition returns the condition that leaves the messages of the channel. Where positions name the messages, it keeps PostgreSQL
// from looking for them among all messages of the channel.
func (p MessageQuery) channelCondition() string {
	if p.at != nil && p.byPosition {
		return " AND m.channel_no + 0 = ?"
	}
	return " AND m.channel_no = ?"
}

// narrowing returns the condition that leaves the rows that the agent may possibly see.
func (p MessageQuery) narrowing() (sql string, arguments []any) {
	if p.Everyone {
		return "", nil
	}
	return " AND (m.sender = ? OR m.target IS NULL OR m.target = '*' OR m.target = ? OR m.target LIKE 'role:%')", []any{p.Agent, p.Agent}
}

// Next reads the query's next page, and turns the query to the one after it. It also tells whether there is none after it.
func (p *MessageQuery) Next(tx *database.Tx, l Snapshot) (messages []*message.Message, last bool, err error) {
	rows, err := p.Load(tx, l)
	if err != nil {
		return nil, true, err
	}
	if rows.Complete(p.Limit) {
		return rows.Messages, true, nil
	}
	if end := rows.Messages[len(rows.Messages)-1].Ordinal; p.NewestFirst {
		p.Through = end - 1
	} else {
		p.After = end
	}
	p.Limit = rows.NextLimit(p.Limit)
	return rows.Messages, false, nil
}

// PrepareMessages returns a statement for whole messages of one channel, and the page that it fills.
func PrepareMessages(channelID, query string, arguments ...any) (rows *MessagePage, statement database.Statement) {
	rows = &MessagePage{channelID: channelID}
	return rows, database.Statement{SQL: query, Args: arguments, Scan: rows.Scan}
}

// Scan takes one row of message.Columns, or of message.FactColumns for a page of facts, unless the page is full.
func (f *MessagePage) Scan(row database.Row) error {
	if f.Full {
		return nil
	}
	m, err := f.read(row)
	if err != nil {
		return err
	}
	size := m.Size()
	if f.Full = len(f.Messages) > 0 && f.bytes+size > MaxPageBytes; f.Full {
		return nil
	}
	m.ChannelID = f.channelID
	f.Messages = append(f.Messages, m)
	f.bytes += size
	return nil
}

func (f *MessagePage) read(row database.Row) (*message.Message, error) {
	if f.facts {
		return message.ScanFacts(row)
	}
	return message.Scan(row)
}

// Complete reports whether the statement found everything there was.
func (f *MessagePage) Complete(limit int) bool { return !f.Full && len(f.Messages) < limit }

// NextLimit returns the limit for the next page. After a page that ended because of its bytes, that is the number of rows
// worth asking for. Otherwise the limit doubles.
func (f *MessagePage) NextLimit(limit int) int {
	if f.Full {
		return len(f.Messages) + 1
	}
	return min(2*limit, MaxChunk)
}

// OrdinalBy finds the last ordinal whose column is at most a value. The column must rise with the ordinals, so that the
// search can halve the range.
func OrdinalBy(tx *database.Tx, l Snapshot, column string, most int64) (int64, error) {
	low, high := l.Count.Floor, l.Count.Messages
	for low < high {
		middle := (low + high + 1) / 2
		var value int64
		err := tx.Pipeline(database.Statement{
			SQL:  "SELECT " + column + " FROM messages WHERE intent_no = ? AND channel_no = ? AND ordinal = ?",
			Args: []any{l.Channel.IntentNo, l.Channel.ChannelNo, middle},
			Scan: func(row database.Row) error { return row.Scan(&value) },
		})
		if err != nil {
			return 0, err
		}
		if value <= most {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low, nil
}
