package conversation

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/channels/channelstest"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/messaging"
)

// studio consists of the rooms up to this one on a fresh database, with intents and channels of the test's own.
type studio struct {
	*channelstest.Place
	messaging    *messaging.Service
	conversation *Service
}

func eachStudio(t *testing.T, run func(t *testing.T, h *studio)) {
	channelstest.Each(t, func(t *testing.T, p *channelstest.Place) {
		h := &studio{Place: p, messaging: messaging.New(messaging.Config{
			DB: p.DB, Intents: p.Intents, Agents: p.Agents, Channels: p.Channels, LookAgain: time.Hour, RecordEvery: time.Hour,
		})}
		h.conversation = New(Config{DB: p.DB, Intents: p.Intents, Agents: p.Agents, Channels: p.Channels, Messaging: h.messaging})
		h.messaging.Start()
		t.Cleanup(h.messaging.Stop)
		run(t, h)
	})
}

func ptr[T any](v T) *T { return &v }

func (h *studio) send(t require.TestingT, sender, channelID string, to *string) *openintentv1.Message {
	sent, err := h.messaging.SendMessage(as(sender), &openintentv1.SendMessageRequest{
		ChannelId: channelID, To: to, Payload: &structpb.Struct{},
	})
	require.NoError(t, err)
	return sent
}

// rows counts the rows of a table.
func (h *studio) rows(t require.TestingT, table string) (count int) {
	require.NoError(t, h.DB.Read(context.Background(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL: "SELECT COUNT(*) FROM " + table, Scan: func(row database.Row) error { return row.Scan(&count) },
		})
	}))
	return count
}
