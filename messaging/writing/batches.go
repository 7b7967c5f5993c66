package writing

import (
	"openintent/channels"
	"openintent/internal/database"
	"openintent/internal/optional"
	"openintent/messaging/message"
)

// The batches hold rows column by column. In that form one statement writes them all.

type messageBatch struct {
	intentNo, position, channelNo, ordinal []int64
	id, sender, messageType                []string
	target, correlationID                  []*string
	correlationPosition                    []*int64
	payload, metadata                      [][]byte
	createdAt                              []int64
	expiresAt                              []*int64
	conversations                          conversationBatch
	// turns are nil until a message does something to the conversation of its place.
	turns []*int64
}

func (b *messageBatch) add(m *message.Message, does turn) {
	b.intentNo = append(b.intentNo, m.IntentNo)
	b.position = append(b.position, m.Position)
	b.channelNo = append(b.channelNo, m.ChannelNo)
	b.ordinal = append(b.ordinal, m.Ordinal)
	b.id = append(b.id, m.ID)
	b.sender = append(b.sender, m.Sender)
	b.target = append(b.target, database.NullText(m.Target))
	b.messageType = append(b.messageType, string(m.Type))
	b.correlationPosition = append(b.correlationPosition, database.NullInt(m.CorrelationPosition))
	b.correlationID = append(b.correlationID, database.NullText(m.CorrelationID))
	b.payload = append(b.payload, m.Payload)
	b.metadata = append(b.metadata, m.Metadata)
	b.createdAt = append(b.createdAt, database.Micros(m.CreatedAt))
	b.expiresAt = append(b.expiresAt, database.NullMicros(m.ExpiresAt))
	b.conversations.add(len(b.id)-1, m.Conversation)
	if does != noTurn {
		b.turns = append(b.turns, make([]*int64, len(b.id)-len(b.turns))...)
		b.turns[len(b.id)-1] = new(int64(does))
	}
}

func (b *messageBatch) statements(tx *database.Tx) []database.Statement {
	columns := []database.Column{
		{Name: "intent_no", Values: b.intentNo},
		{Name: "position", Values: b.position},
		{Name: "channel_no", Values: b.channelNo},
		{Name: "ordinal", Values: b.ordinal},
		{Name: "id", Values: b.id},
		{Name: "sender", Values: b.sender},
		{Name: "target", Values: b.target},
		{Name: "message_type", Values: b.messageType},
		{Name: "correlation_position", Values: b.correlationPosition},
		{Name: "correlation_id", Values: b.correlationID},
		{Name: "payload", Values: b.payload},
		{Name: "metadata", Values: b.metadata},
		{Name: "created_at", Values: b.createdAt},
		{Name: "expires_at", Values: b.expiresAt},
	}
	if b.conversations.fillUpTo(len(b.id)) {
		columns = append(columns,
			database.Column{Name: "thread_position", Values: b.conversations.threadPosition},
			database.Column{Name: "thread_id", Values: b.conversations.threadID},
			database.Column{Name: "conversation", Values: b.conversations.conversation},
		)
	}
	if b.turns != nil {
		turns := append(b.turns, make([]*int64, len(b.id)-len(b.turns))...)
		columns = append(columns, database.Column{Name: "turn", Values: turns})
	}
	return tx.Insert("messages", columns...)
}

// conversationBatch holds what messages carry beyond RFC-0021. It holds nothing until a message carries something, and then a row for
// each message. So plain messages cost nothing, and their columns are not written at all.
type conversationBatch struct {
	threadPosition []*int64
	threadID       []*string
	conversation   [][]byte
}

// add notes what a message carries that comes after so many others.
func (b *conversationBatch) add(before int, c *message.Conversation) {
	if c == nil {
		return
	}
	b.fill(before)
	threadPosition, conversation := c.Columns()
	b.threadPosition, b.conversation = append(b.threadPosition, threadPosition), append(b.conversation, conversation)
	b.threadID = append(b.threadID, optional.Text(c.ThreadID))
}

// fillUpTo adds the rows of the messages after the last one that carries something. It reports whether any does.
func (b *conversationBatch) fillUpTo(messages int) bool {
	if len(b.conversation) == 0 {
		return false
	}
	b.fill(messages)
	return true
}

func (b *conversationBatch) fill(messages int) {
	missing := messages - len(b.conversation)
	b.threadPosition = append(b.threadPosition, make([]*int64, missing)...)
	b.threadID = append(b.threadID, make([]*string, missing)...)
	b.conversation = append(b.conversation, make([][]byte, missing)...)
}

type openRequestBatch struct {
	intentNo, position, channelNo, createdAt []int64
	target                                   []string
	expiresAt                                []*int64
}

func (b *openRequestBatch) add(m *message.Message) {
	b.intentNo = append(b.intentNo, m.IntentNo)
	b.position = append(b.position, m.Position)
	b.channelNo = append(b.channelNo, m.ChannelNo)
	b.target = append(b.target, m.Target)
	b.createdAt = append(b.createdAt, database.Micros(m.CreatedAt))
	b.expiresAt = append(b.expiresAt, database.NullMicros(m.ExpiresAt))
}

func (b *openRequestBatch) statements(tx *database.Tx) []database.Statement {
	return tx.Insert("open_requests",
		database.Column{Name: "intent_no", Values: b.intentNo},
		database.Column{Name: "position", Values: b.position},
		database.Column{Name: "channel_no", Values: b.channelNo},
		database.Column{Name: "target", Values: b.target},
		database.Column{Name: "created_at", Values: b.createdAt},
		database.Column{Name: "expires_at", Values: b.expiresAt},
	)
}

// statements returns all statements that write what was added, except for those of the heads.
func (a *appender) statements() []database.Statement {
	statements := a.forgetStatements()
	statements = append(statements, a.rows.statements(a.tx)...)
	statements = append(statements, a.open.statements(a.tx)...)
	statements = append(statements, a.obligations.statements(a.tx)...)
	statements = append(statements, a.published.statements(a.tx)...)
	statements = append(statements, a.keys.statements(a.tx)...)
	statements = append(statements, a.reached.statements(a.tx)...)
	statements = append(statements, a.answeredStatements()...)
	statements = append(statements, a.evicting.statements(a.tx)...)
	return append(statements, channels.CountStatements(a.tx, a.changed)...)
}

// answeredStatements returns the statements that close the requests that have their answers. A request that is closed already
// stays so.
func (a *appender) answeredStatements() []database.Statement {
	if len(a.answered) == 0 {
		return nil
	}
	byIntent := make(map[int64][]int64)
	for _, request := range a.answered {
		byIntent[request.intentNo] = append(byIntent[request.intentNo], request.position)
	}
	statements := make([]database.Statement, 0, len(byIntent))
	for intentNo, positions := range byIntent {
		in, argument := a.tx.In("position", positions)
		statements = append(statements, database.Statement{
			SQL:  "DELETE FROM open_requests WHERE intent_no = ? AND " + in,
			Args: []any{intentNo, argument},
		})
	}
	return statements
}
