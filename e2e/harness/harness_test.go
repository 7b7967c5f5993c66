package harness_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

func TestMain(m *testing.M) { harness.Main(m) }

func TestCallersAreWhoTheySayOnBothFaces(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		intent, err := h.As("alice").Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "Report"})
		require.NoError(t, err)
		require.Equal(t, "alice", intent.GetCreatedBy())

		var got struct{ Title string }
		answer := h.As("alice").REST(t, "GET", "/v1/intents/"+intent.GetId(), "")
		require.Equal(t, 200, answer.Status)
		answer.Decode(t, &got)
		require.Equal(t, "Report", got.Title)

		_, err = h.With("no such key", "alice").Intents.GetIntent(t.Context(), &openintentv1.GetIntentRequest{IntentId: intent.GetId()})
		require.Equal(t, codes.Unauthenticated, harness.Code(err))
		require.Equal(t, "API_KEY_UNKNOWN", harness.Reason(err))
	})
}

func TestAServerKeepsItsDataAndItsCallersWhenItIsKilledOrStopped(t *testing.T) {
	harness.EachProcess(t, func(t *testing.T, h *harness.Server) {
		alice := h.As("alice")
		intent, err := alice.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "Report"})
		require.NoError(t, err)
		look := func() {
			_, err := alice.Intents.GetIntent(t.Context(), &openintentv1.GetIntentRequest{IntentId: intent.GetId()}, grpc.WaitForReady(true))
			require.NoError(t, err)
			require.Equal(t, 200, alice.REST(t, "GET", "/v1/intents/"+intent.GetId(), "").Status)
		}
		h.Kill()
		h.Start(t)
		look()
		require.NoError(t, h.Stop())
		h.Start(t)
		look()
		require.Contains(t, h.Log(), `"msg":"stopping"`)
	})
}

func TestALineIsCutAndGoesOn(t *testing.T) {
	h := harness.Start(t, harness.Options{})
	line, other := h.Line(t), h.Line(t)
	intent, err := line.As("alice").Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "Report"})
	require.NoError(t, err)
	begin := func(line *harness.Line) grpc.ServerStreamingClient[openintentv1.SubscribeResponse] {
		channel, err := line.As("alice").Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{
			IntentId: intent.GetId(), Name: line.GRPCAddress(),
		})
		require.NoError(t, err)
		stream, err := line.As("alice").Messages.Subscribe(t.Context(), &openintentv1.SubscribeRequest{
			Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: channel.GetId()},
		})
		require.NoError(t, err)
		_, err = stream.Header()
		require.NoError(t, err)
		return stream
	}
	cut, whole := begin(line), begin(other)
	require.Positive(t, line.Cut())
	for err = nil; err == nil; _, err = cut.Recv() { // what arrived before the cut
	}
	require.Equal(t, codes.Unavailable, harness.Code(err))
	require.NoError(t, whole.Context().Err())
	require.Equal(t, 200, line.As("alice").REST(t, "GET", "/v1/intents/"+intent.GetId(), "").Status)
	_, err = line.As("alice").Intents.GetIntent(t.Context(), &openintentv1.GetIntentRequest{IntentId: intent.GetId()}, grpc.WaitForReady(true))
	require.NoError(t, err)
}

func TestAFrozenServerGoesOn(t *testing.T) {
	h := harness.StartProcess(t, harness.Options{})
	h.Freeze(t)
	answered := make(chan error, 1)
	go func() {
		_, err := h.As("alice").Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "Report"}, grpc.WaitForReady(true))
		answered <- err
	}()
	h.Thaw(t)
	require.NoError(t, <-answered)
}
