package writing

import (
	"github.com/google/uuid"

	"openintent/channels"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/wake"
)

// Annotate stores annotations of messages, each in the next place of its intent's log, and wakes whoever follows their channels
// after the commit. It is the only code that stores annotations. The caller holds the lock of the intent's head, and has found the
// messages. Annotate fills in the positions and times.
func Annotate(tx *database.Tx, hub *wake.Hub, head *intents.Head, annotations ...*message.Annotation) error {
	if len(annotations) == 0 {
		return nil
	}
	var rows annotationBatch
	topics := make(map[any]struct{})
	for _, a := range annotations {
		a.IntentNo, a.ID = head.IntentNo, uuid.Must(uuid.NewV7()).String()
		a.Position, a.CreatedAt = head.Next()
		if err := rows.add(a); err != nil {
			return err
		}
		topics[channels.Key{IntentNo: a.IntentNo, ChannelNo: a.ChannelNo}] = struct{}{}
	}
	tx.AfterCommit(func() {
		for topic := range topics {
			hub.WakeUp(topic)
		}
	})
	tx.SendWithCommit(rows.statements(tx)...)
	return nil
}

type annotationBatch struct {
	intentNo, position, channelNo, messagePosition, createdAt []int64
	id, annotationType, agentID                               []string
	details                                                   [][]byte
}

func (b *annotationBatch) add(a *message.Annotation) error {
	details, err := a.Details.Encode()
	b.intentNo = append(b.intentNo, a.IntentNo)
	b.position = append(b.position, a.Position)
	b.channelNo = append(b.channelNo, a.ChannelNo)
	b.messagePosition = append(b.messagePosition, a.MessagePosition)
	b.id = append(b.id, a.ID)
	b.annotationType = append(b.annotationType, string(a.Type))
	b.agentID = append(b.agentID, a.AgentID)
	b.details = append(b.details, details)
	b.createdAt = append(b.createdAt, database.Micros(a.CreatedAt))
	return err
}

func (b *annotationBatch) statements(tx *database.Tx) []database.Statement {
	return tx.Insert("annotations",
		database.Column{Name: "intent_no", Values: b.intentNo},
		database.Column{Name: "position", Values: b.position},
		database.Column{Name: "channel_no", Values: b.channelNo},
		database.Column{Name: "message_position", Values: b.messagePosition},
		database.Column{Name: "id", Values: b.id},
		database.Column{Name: "annotation_type", Values: b.annotationType},
		database.Column{Name: "agent_id", Values: b.agentID},
		database.Column{Name: "details", Values: b.details},
		database.Column{Name: "created_at", Values: b.createdAt},
	)
}
