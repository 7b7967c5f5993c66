package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

// TestTwoReplicasAreOneServer puts a load on the same channels through two servers on one PostgreSQL database.
// Meanwhile questions that are asked on one server are answered on the other.
func TestTwoReplicasAreOneServer(t *testing.T) {
	url := databasetest.URL(t, database.PostgreSQL)
	// A replica learns about the other's messages when it looks again.
	options := harness.Options{URL: url, Configure: func(cfg *server.Config) {
		cfg.Notifications, cfg.LookAgain = false, 20*time.Millisecond
	}}
	one, other := harness.Start(t, options), harness.Start(t, options)
	p := newPlace(t, one)
	load := startLoad(t, p, 8, one, other)
	endAnswering := startAnswering(t, other, p)

	var asking sync.WaitGroup
	asker := one.As("asker")
	for i, channel := range p.channels {
		for j := range 2 {
			asking.Go(func() {
				for k := range 10 {
					askOnce(t, asker, channel, fmt.Sprintf("%d-%d-%d", i, j, k))
				}
			})
		}
	}
	asking.Wait()
	load.goOn(t, 200)
	load.stop(t)
	endAnswering()
	load.holds(t, one)
	load.holds(t, other)
	require.NoError(t, one.Stop())
	require.NoError(t, other.Stop())
	storage(t, url).holds(t)
}

// TestReplicasWakeEachOther asks on each replica a question that is answered on the other; no replica looks unless it
// is woken.
func TestReplicasWakeEachOther(t *testing.T) {
	options := harness.Options{URL: databasetest.URL(t, database.PostgreSQL), Configure: func(cfg *server.Config) {
		cfg.LookAgain = time.Hour
	}}
	one, other := harness.Start(t, options), harness.Start(t, options)
	for name, replicas := range map[string][2]*harness.Server{"there": {one, other}, "and back": {other, one}} {
		t.Run(name, func(t *testing.T) {
			asks, answers := replicas[0], replicas[1]
			p := newPlace(t, asks)
			endAnswering := startAnswering(t, answers, p)
			for i, channel := range p.channels {
				for j := range 5 {
					askOnce(t, asks.As("asker"), channel, fmt.Sprintf("%d-%d", i, j))
				}
			}
			endAnswering()
			counted := string(asks.As("asker").REST(t, "GET", "/metrics", "").Body)
			for _, direction := range []string{"sent", "received"} {
				require.NotContains(t, counted, `openintent_notifications_total{direction="`+direction+`"} 0`)
				require.Contains(t, counted, `openintent_notifications_total{direction="`+direction+`"}`)
			}
		})
	}
}

// TestSweepsGoOnWhenAReplicaStops checks that one replica sweeps for both and that the other takes over when that one
// stops.
func TestSweepsGoOnWhenAReplicaStops(t *testing.T) {
	url := databasetest.URL(t, database.PostgreSQL)
	clock := databasetest.NewClock()
	options := harness.Options{URL: url, Configure: func(cfg *server.Config) { cfg.Clock = clock.Now }}
	one, other := harness.Start(t, options), harness.Start(t, options)
	db := databasetest.Open(t, database.Config{URL: url})
	requireSweeps := func(h *harness.Server) {
		creator := h.As("creator")
		intent, err := creator.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "Report"})
		require.NoError(t, err)
		channel, err := creator.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{
			IntentId: intent.GetId(), Name: "short", Options: &openintentv1.ChannelOptions{TtlSeconds: proto.Int64(60)},
		})
		require.NoError(t, err)
		clock.Advance(time.Hour)
		require.Eventually(t, func() bool {
			closed := 0
			require.NoError(t, db.ReadStatement(t.Context(), func(tx *database.Tx) error {
				return tx.Pipeline(database.Statement{
					SQL:  "SELECT count(*) FROM channels WHERE id = ? AND closed_at IS NOT NULL",
					Args: []any{channel.GetId()},
					Scan: func(row database.Row) error { return row.Scan(&closed) },
				})
			}))
			return closed == 1
		}, harness.Patience, 20*time.Millisecond, "nobody sweeps")
	}
	requireSweeps(one)
	require.NoError(t, one.Stop())
	requireSweeps(other)
	one.Start(t)
	require.NoError(t, other.Stop())
	requireSweeps(one)
}

// askOnce asks a question and checks that the answer belongs to it. Questions and answers carry a number and no text,
// so that the load does not count them.
func askOnce(t *testing.T, asker *harness.Caller, channel, number string) {
	content := &structpb.Struct{Fields: map[string]*structpb.Value{"number": structpb.NewStringValue(number)}}
	answer, err := asker.Messages.Ask(t.Context(), &openintentv1.AskRequest{
		ChannelId: channel, To: "answerer", Payload: content, TimeoutSeconds: proto.Float64(30),
	})
	if err != nil {
		t.Errorf("question %s: %v", number, err)
		return
	}
	if got := answer.GetPayload().GetFields()["number"].GetStringValue(); got != number {
		t.Errorf("question %s got the answer to %s", number, got)
	}
}

// startAnswering answers every question on the channels, through one server, with the question's number.
func startAnswering(t *testing.T, h *harness.Server, p place) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	answerer := h.As("answerer")
	var answering sync.WaitGroup
	for _, channel := range p.channels {
		stream, err := answerer.Messages.Subscribe(ctx, &openintentv1.SubscribeRequest{
			Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: channel},
		})
		require.NoError(t, err)
		_, err = stream.Header()
		require.NoError(t, err)
		answering.Go(func() {
			for {
				delivery, err := stream.Recv()
				if err != nil {
					if ctx.Err() == nil {
						t.Errorf("the answerer's stream ended: %v", err)
					}
					return
				}
				question := delivery.GetMessage()
				if question.GetMessageType() != openintentv1.MessageType_MESSAGE_TYPE_REQUEST {
					continue
				}
				// The asker may have the answer, and end the answering, before the answerer hears that it is stored.
				_, err = answerer.Messages.ReplyMessage(context.WithoutCancel(ctx), &openintentv1.ReplyMessageRequest{
					ChannelId: channel, MessageId: question.GetId(), Payload: question.GetPayload(),
				})
				if err != nil {
					t.Errorf("answering: %v", err)
				}
			}
		})
	}
	return func() {
		cancel()
		answering.Wait()
	}
}
