package conversation

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/caller"
	"openintent/channels/channelstest"
	"openintent/database"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging"
)

// house is the rooms up to this one on a fresh database.
type house struct {
	*channelstest.Place
	messaging    *messaging.Service
	conversation *Service
}

func eachHouse(t *testing.T, run func(t *testing.T, h *house)) {
	channelstest.Each(t, func(t *testing.T, p *channelstest.Place) {
		h := &house{Place: p, messaging: messaging.New(messaging.Config{
			DB: p.DB, Intents: p.Intents, Agents: p.Agents, Channels: p.Channels, LookAgain: time.Hour, RecordEvery: time.Hour,
		})}
		h.conversation = New(Config{DB: p.DB, Intents: p.Intents, Agents: p.Agents, Messaging: h.messaging})
		h.messaging.Start()
		t.Cleanup(h.messaging.Stop)
		run(t, h)
	})
}

func as(agent string) context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: agent, KeyID: "key", KeyRoles: []string{caller.AnyRole}})
}

func asOperator() context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: caller.Operator, IsOperator: true, KeyID: "key"})
}

func ptr[T any](v T) *T { return &v }

func (h *house) send(t require.TestingT, sender, channelID string, to *string) *openintentv1.Message {
	sent, err := h.messaging.SendMessage(as(sender), &openintentv1.SendMessageRequest{
		ChannelId: channelID, To: to, Payload: &structpb.Struct{},
	})
	require.NoError(t, err)
	return sent
}

// rows counts the rows of a table.
func (h *house) rows(t require.TestingT, table string) (count int) {
	require.NoError(t, h.DB.Read(context.Background(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL: "SELECT COUNT(*) FROM " + table, Scan: func(row database.Row) error { return row.Scan(&count) },
		})
	}))
	return count
}
