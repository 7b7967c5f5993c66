package messaging

import "openintent/database"

const (
	// maxPage bounds a list's messages, maxPageBytes its payloads.
	maxPage      = 1000
	maxPageBytes = 3 << 20
	// firstChunk and maxChunk bound the rows that one statement reads: it begins small, because messages may be large.
	firstChunk = 64
	maxChunk   = 512
	// maxSpan bounds the positions of a log that one reading looks at. A reader who sees little of it reads many small pages
	// instead of a long one.
	maxSpan = 16_384
)

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

// ordinalBy finds the last ordinal whose column, which rises with ordinals, is at most a value; it halves the range.
func ordinalBy(tx *database.Tx, l look, column string, most int64) (int64, error) {
	low, high := l.count.Floor, l.count.Messages
	for low < high {
		middle := (low + high + 1) / 2
		var value int64
		err := tx.Pipeline(database.Statement{
			SQL:  "SELECT " + column + " FROM messages WHERE intent_no = ? AND channel_no = ? AND ordinal = ?",
			Args: []any{l.channel.IntentNo, l.channel.ChannelNo, middle},
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
