package messaging

import (
	"context"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/messaging/message"
)

type updateRequest = openintentv1.UpdateMessageRequest

func (h *house) tryEdit(ctx context.Context, m *wireMessage, change *updateRequest) (*wireMessage, error) {
	change.ChannelId, change.MessageId = m.GetChannelId(), m.GetId()
	return h.messaging.UpdateMessage(ctx, change)
}

// edit gives a message of the agent a new text.
func (h *house) edit(t require.TestingT, agent string, m *wireMessage, text string) *wireMessage {
	edited, err := h.tryEdit(as(agent), m, &updateRequest{Payload: content(text)})
	require.NoError(t, err)
	return edited
}

func (h *house) tryDelete(ctx context.Context, m *wireMessage) (*wireMessage, error) {
	return h.messaging.DeleteMessage(ctx, &openintentv1.DeleteMessageRequest{ChannelId: m.GetChannelId(), MessageId: m.GetId()})
}

// erase deletes a message's content as the agent.
func (h *house) erase(t require.TestingT, agent string, m *wireMessage) *wireMessage {
	deleted, err := h.tryDelete(as(agent), m)
	require.NoError(t, err)
	return deleted
}

func (h *house) tryRevisions(ctx context.Context, m *wireMessage) ([]*openintentv1.MessageRevision, error) {
	list, err := h.messaging.ListRevisions(ctx, &openintentv1.ListRevisionsRequest{ChannelId: m.GetChannelId(), MessageId: m.GetId()})
	return list.GetRevisions(), err
}

// said gives the texts of a message's revisions.
func (h *house) said(t require.TestingT, agent string, m *wireMessage) []string {
	revisions, err := h.tryRevisions(as(agent), m)
	require.NoError(t, err)
	texts := make([]string, len(revisions))
	for i, one := range revisions {
		require.EqualValues(t, i+1, one.GetRevision())
		texts[i] = one.GetPayload().GetFields()["text"].GetStringValue()
	}
	return texts
}

// annotations gives what is stored of a message's annotations, oldest first.
func (h *house) annotations(t require.TestingT, m *wireMessage) (found []message.Annotation) {
	key := h.key(t, m.GetChannelId())
	err := h.db.ReadStatement(context.Background(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL: "SELECT a.position, a.annotation_type, a.agent_id, a.details FROM annotations a JOIN messages m" +
				" ON m.intent_no = a.intent_no AND m.position = a.message_position WHERE a.intent_no = ? AND m.id = ? ORDER BY a.position",
			Args: []any{key.IntentNo, m.GetId()},
			Scan: func(row database.Row) error {
				var a message.Annotation
				var details []byte
				if err := row.Scan(&a.Position, &a.Type, &a.AgentID, &details); err != nil {
					return err
				}
				var err error
				a.Details, err = message.DecodeDetails(details)
				found = append(found, a)
				return err
			},
		})
	})
	require.NoError(t, err)
	return found
}

// texts makes a list of texts.
func texts(texts ...string) *structpb.ListValue {
	list := &structpb.ListValue{}
	for _, text := range texts {
		list.Values = append(list.Values, structpb.NewStringValue(text))
	}
	return list
}

func (h *house) allRevisionRows(t require.TestingT) int {
	return h.rows(t, "message_revisions", "revision > ?", 0)
}
