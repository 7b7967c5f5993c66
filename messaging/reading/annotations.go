package reading

import (
	"openintent/internal/database"
	"openintent/messaging/message"
)

// AnnotationQuery says which annotations of an intent's log are wanted. The fields mean what those of LogQuery mean.
type AnnotationQuery struct {
	IntentNo, ChannelNo int64
	After, Through      int64
	At                  []int64
	Agent               string
	Everyone            bool
	// Types narrow the page further; empty means all types.
	Types []string
	Limit int
}

// AnnotationPage holds the annotations that a statement found, each with its message's facts, up to MaxPageBytes.
type AnnotationPage struct {
	Annotations []*message.Annotation
	bytes       int
	// Full is true when there was more than fits.
	Full bool
}

// Prepare returns the statement that reads a page, in the order of the positions, and the page that it fills. The statement
// narrows the rows to annotations of messages that the agent may possibly see; Viewer.Sees decides. An annotation whose
// message is gone is gone with it.
func (q AnnotationQuery) Prepare(tx *database.Tx) (found *AnnotationPage, statement database.Statement) {
	query := "SELECT " + message.FactColumns + ", a.position, a.id, a.annotation_type, a.agent_id, a.details, a.created_at" +
		" FROM annotations a JOIN messages m ON m.intent_no = a.intent_no AND m.position = a.message_position" +
		" WHERE a.intent_no = ?"
	arguments := message.ViewedBy(q.Agent, q.IntentNo)
	if q.ChannelNo != 0 {
		query, arguments = query+" AND a.channel_no = ?", append(arguments, q.ChannelNo)
	}
	if q.At != nil {
		in, argument := tx.In("a.position", q.At)
		query, arguments = query+" AND "+in, append(arguments, argument)
	} else {
		query, arguments = query+" AND a.position > ? AND a.position <= ?", append(arguments, q.After, q.Through)
	}
	if !q.Everyone {
		query += " AND (m.sender = ? OR m.target IS NULL OR m.target = '*' OR m.target = ? OR m.target LIKE 'role:%')"
		arguments = append(arguments, q.Agent, q.Agent)
	}
	if len(q.Types) > 0 {
		in, argument := tx.In("a.annotation_type", q.Types)
		query, arguments = query+" AND "+in, append(arguments, argument)
	}
	found = &AnnotationPage{}
	return found, database.Statement{
		SQL: query + " ORDER BY a.position LIMIT ?", Args: append(arguments, q.Limit), Scan: found.scan,
	}
}

// scan takes one row, unless the page is full.
func (p *AnnotationPage) scan(row database.Row) error {
	if p.Full {
		return nil
	}
	var a message.Annotation
	var details []byte
	var createdAt int64
	m, err := message.ScanFacts(row, &a.Position, &a.ID, &a.Type, &a.AgentID, &details, &createdAt)
	if err != nil {
		return err
	}
	if a.Details, err = message.DecodeDetails(details); err != nil {
		return err
	}
	size := a.Size() + m.Conversation.Size()
	if p.Full = len(p.Annotations) > 0 && p.bytes+size > MaxPageBytes; p.Full {
		return nil
	}
	a.IntentNo, a.ChannelNo, a.MessagePosition, a.MessageID = m.IntentNo, m.ChannelNo, m.Position, m.ID
	a.CreatedAt, a.Message = database.Time(createdAt), m
	p.Annotations = append(p.Annotations, &a)
	p.bytes += size
	return nil
}
