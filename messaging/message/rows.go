package message

import (
	"database/sql"

	"openintent/internal/database"
)

// The columns of a message as ScanFacts and Scan read them. The query takes the viewer twice as an argument, for its
// receipt and for its answer: begin the arguments with ViewedBy.
const (
	FactColumns = `m.intent_no, m.position, m.channel_no, m.ordinal, m.id, m.sender, m.target, m.message_type,
		m.correlation_position, m.correlation_id, m.created_at, m.expires_at, m.read_at, m.ended_at,
		m.thread_position, m.conversation,
		m.message_type = 'request' AND EXISTS (SELECT 1 FROM open_requests o
			WHERE o.intent_no = m.intent_no AND o.position = m.position` + OneByOne + `),
		EXISTS (SELECT 1 FROM receipts r
			WHERE r.intent_no = m.intent_no AND r.position = m.position AND r.agent_id = ?` + OneByOne + `),
		m.message_type = 'request' AND m.target LIKE 'role:%' AND EXISTS (SELECT 1 FROM messages a
			WHERE a.intent_no = m.intent_no AND a.correlation_position = m.position AND a.sender = ?` + OneByOne + `),
		CASE WHEN m.message_type = 'request' AND m.target LIKE 'role:%' THEN (SELECT a.created_at FROM messages a
			WHERE a.intent_no = m.intent_no AND a.correlation_position = m.position ORDER BY a.position LIMIT 1) END,
		CASE WHEN m.conversation IS NOT NULL AND m.message_type = 'request' AND m.target LIKE 'role:%' THEN (SELECT a.created_at
			FROM messages a WHERE a.intent_no = m.intent_no AND a.correlation_position = m.position
			ORDER BY a.position DESC LIMIT 1) END`
	Columns = FactColumns + `, m.payload, m.metadata`
	// ByIDInIntent is met by the message with an id, if it is of an intent, and ByIDInChannel if it is also of a channel. The sums keep
	// PostgreSQL from looking for it among all messages of the intent or the channel, which it does while it has not counted the table.
	ByIDInIntent  = "m.id = ? AND m.intent_no + 0 = ?"
	ByIDInChannel = ByIDInIntent + " AND m.channel_no + 0 = ?"
	// OneByOne ends a query inside EXISTS that the database should run for each row by its key. Without it PostgreSQL reads
	// the whole table once instead when it expects many rows.
	OneByOne = " LIMIT 1 OFFSET 0"
)

// ViewedBy returns the arguments of a query for the columns: the agent for whom it reads, or "" for nobody, and then the
// further ones.
func ViewedBy(agent string, further ...any) []any {
	return append([]any{agent, agent}, further...)
}

// messageRow receives one row of FactColumns or Columns.
type messageRow struct {
	message             Message
	target, correlation sql.NullString
	correlationPosition sql.NullInt64
	createdAt           int64
	expires, read       sql.NullInt64
	ended, answered     sql.NullInt64
	lastAnswered        sql.NullInt64
	threadPosition      sql.NullInt64
	conversation        []byte
	payload, metadata   []byte
}

func (r *messageRow) facts() []any {
	m := &r.message
	return []any{&m.IntentNo, &m.Position, &m.ChannelNo, &m.Ordinal, &m.ID, &m.Sender, &r.target, &m.Type,
		&r.correlationPosition, &r.correlation, &r.createdAt, &r.expires, &r.read, &r.ended, &r.threadPosition, &r.conversation,
		&m.Open, &m.ReadByViewer, &m.AnsweredByViewer, &r.answered, &r.lastAnswered}
}

// ScanFacts reads a message without its payload and metadata. It reads the columns that follow into further.
func ScanFacts(row database.Row, further ...any) (*Message, error) {
	var r messageRow
	if err := row.Scan(append(r.facts(), further...)...); err != nil {
		return nil, err
	}
	return r.finish()
}

// Scan reads a whole message. The caller fills in the ChannelID.
func Scan(row database.Row) (*Message, error) {
	var r messageRow
	if err := row.Scan(append(r.facts(), &r.payload, &r.metadata)...); err != nil {
		return nil, err
	}
	return r.finish()
}

func (r *messageRow) finish() (m *Message, err error) {
	m = &r.message
	m.Target, m.CorrelationID = r.target.String, r.correlation.String
	m.CorrelationPosition = r.correlationPosition.Int64
	m.CreatedAt = database.Time(r.createdAt)
	if r.expires.Valid {
		m.ExpiresAt = database.Time(r.expires.Int64)
	}
	if r.read.Valid {
		m.ReadAt = database.Time(r.read.Int64)
	}
	if r.ended.Valid {
		m.EndedAt = database.Time(r.ended.Int64)
	}
	if r.answered.Valid {
		m.AnsweredAt = database.Time(r.answered.Int64)
	}
	m.Payload, m.Metadata = r.payload, r.metadata
	m.Conversation, err = ConversationFrom(r.threadPosition.Int64, r.conversation)
	if m.ExactAnswers() > 0 && r.lastAnswered.Valid {
		m.AnsweredAt = database.Time(r.lastAnswered.Int64)
	}
	return m, err
}
