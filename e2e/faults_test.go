package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

// TestAcknowledgedMessagesSurviveKills kills the program repeatedly in the middle of a load.
func TestAcknowledgedMessagesSurviveKills(t *testing.T) {
	harness.EachProcess(t, func(t *testing.T, h *harness.Server) {
		load := startLoad(t, newPlace(t, h), 16, h)
		for range 3 {
			load.goOn(t, 150)
			h.Kill()
			h.Start(t)
		}
		load.goOn(t, 100)
		load.stop(t)
		load.holds(t, h)
		require.NoError(t, h.Stop())
		storage(t, h.DatabaseURL).holds(t)
	})
}

// TestAcknowledgedMessagesSurviveCutConnections ends all of the server's connections to PostgreSQL in the middle of a
// load.
func TestAcknowledgedMessagesSurviveCutConnections(t *testing.T) {
	h := harness.Start(t, harness.Options{URL: databasetest.URL(t, database.PostgreSQL)})
	load := startLoad(t, newPlace(t, h), 16, h)
	for range 4 {
		load.goOn(t, 100)
		require.Positive(t, databasetest.KillConnections(t, h.DatabaseURL))
	}
	load.goOn(t, 100)
	load.stop(t)
	load.holds(t, h)
	require.NoError(t, h.Stop())
	storage(t, h.DatabaseURL).holds(t)
}

// TestLostAcknowledgementsOfCommits makes commits fail in the middle of a load. Either nothing was stored, or
// everything was stored and only the acknowledgement was lost.
func TestLostAcknowledgementsOfCommits(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		var faults databasetest.CommitFaults
		h := harness.Start(t, harness.Options{URL: url, Configure: func(cfg *server.Config) {
			cfg.Hooks, cfg.Search = faults.Hooks(), false // so that the faults hit the load, and not the search index
		}})
		load := startLoad(t, newPlace(t, h), 16, h)
		for range 4 {
			load.goOn(t, 30)
			faults.FailAfter(2)
			load.goOn(t, 30)
			faults.FailBefore(1)
		}
		load.goOn(t, 30)
		load.stop(t)
		require.Zero(t, load.holds(t, h), "the server itself finds out whether its messages were stored")
		require.NoError(t, h.Stop())
		storage(t, h.DatabaseURL).holds(t)
	})
}

// TestStoppingDrains stops the program with SIGTERM in the middle of a load and of waits. Waits and streams end
// immediately with UNAVAILABLE, every acknowledged message is there afterwards, and the program exits with 0 in time.
func TestStoppingDrains(t *testing.T) {
	harness.EachProcess(t, func(t *testing.T, h *harness.Server) {
		p := newPlace(t, h)
		load := startLoad(t, p, 8, h)
		ends := startWaits(t, h, p)
		load.goOn(t, 100)

		require.NoError(t, h.Stop(), "the program exits with 0")
		require.NotContains(t, h.Log(), "are cut off", "all calls ended in time")
		for what, end := range ends {
			select {
			case err := <-end:
				require.Equal(t, codes.Unavailable, harness.Code(err), "%s ended: %v", what, err)
				require.Equal(t, "SERVER_STOPPING", harness.Reason(err), what)
			case <-time.After(harness.Patience):
				t.Fatalf("%s does not end", what)
			}
		}

		h.Start(t)
		load.goOn(t, 50)
		load.stop(t)
		load.holds(t, h)
		require.NoError(t, h.Stop())
		storage(t, h.DatabaseURL).holds(t)
	})
}

// startWaits begins one wait of each kind, none of which would end by itself. It returns when the server knows about
// all of them.
func startWaits(t *testing.T, h *harness.Server, p place) map[string]<-chan error {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	asker, channel := h.As("asker"), p.channels[0]
	begin := func(call func() error) <-chan error {
		end := make(chan error, 1)
		go func() { end <- call() }()
		return end
	}
	question := &openintentv1.SendMessageRequest{
		ChannelId: channel, To: proto.String("nobody"), Payload: payload(""),
		MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum(),
	}
	earlier, err := asker.Messages.SendMessage(ctx, question)
	require.NoError(t, err)
	stream, err := asker.Messages.Subscribe(ctx, &openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: p.channels[1]},
	})
	require.NoError(t, err)
	_, err = stream.Header() // admitted
	require.NoError(t, err)

	watched, err := h.Operator().Messages.Subscribe(ctx, &openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: channel},
	})
	require.NoError(t, err)
	_, err = watched.Header()
	require.NoError(t, err)
	ends := map[string]<-chan error{
		"an ask": begin(func() error {
			_, err := asker.Messages.Ask(ctx, &openintentv1.AskRequest{
				ChannelId: channel, To: "nobody", Payload: payload(""), TimeoutSeconds: proto.Float64(600),
			})
			return err
		}),
		"an ask of all": begin(func() error {
			_, err := asker.Messages.AskAll(ctx, &openintentv1.AskAllRequest{
				ChannelId: channel, To: "role:nobody", Payload: payload(""), TimeoutSeconds: proto.Float64(600),
			})
			return err
		}),
		"a wait for responses": begin(func() error {
			_, err := asker.Messages.AwaitResponses(ctx, &openintentv1.AwaitResponsesRequest{
				ChannelId: channel, MessageId: earlier.GetId(), WaitSeconds: proto.Float64(600),
			})
			return err
		}),
		"a stream": begin(func() error {
			for {
				if _, err := stream.Recv(); err != nil {
					return err
				}
			}
		}),
	}
	for asked := 0; asked < 2; { // both asks have sent their requests
		delivery, err := watched.Recv()
		require.NoError(t, err)
		if delivery.GetMessage().GetSender() == "asker" {
			asked++
		}
	}
	return ends
}
