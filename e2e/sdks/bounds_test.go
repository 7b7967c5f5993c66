package sdks_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
	openintent "openintent/sdk/go"
)

// What the SDKs refuse before they send it, a server refuses too, and what just fits both take.
func TestTheSDKsRefuseTheNamesThatAServerRefuses(t *testing.T) {
	engine := databasetest.Engines()[0]
	h := harness.Start(t, harness.Options{URL: databasetest.URL(t, engine)})
	client, err := openintent.Dial(openintent.Options{Server: h.GRPCAddress(), APIKey: harness.Key})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	intent, err := client.CreateIntent(t.Context(), openintent.IntentOptions{Title: strings.Repeat("t", 1024)})
	require.NoError(t, err)
	bare, err := grpc.NewClient(h.GRPCAddress(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer func() { require.NoError(t, bare.Close()) }()
	channels := openintentv1.NewChannelServiceClient(bare)
	asOperator := metadata.AppendToOutgoingContext(t.Context(), "x-api-key", harness.Key)
	for _, name := range []string{"", " ", "a/b", "a\nb", "_system", "fits", strings.Repeat("ä", 128)} {
		_, there := channels.CreateChannel(asOperator, &openintentv1.CreateChannelRequest{IntentId: intent.ID, Name: name})
		_, here := client.Open(t.Context(), intent.ID, name, openintent.ChannelOptions{})
		require.Equal(t, there == nil, here == nil, "%q: %v, %v", name, there, here)
	}
	for _, id := range []string{"a/b", "operator", "system", "*", "role:data", strings.Repeat("a", 257), "fits", strings.Repeat("a", 256)} {
		acting := metadata.AppendToOutgoingContext(asOperator, "x-agent-id", id)
		_, there := openintentv1.NewIntentServiceClient(bare).GetIntent(acting, &openintentv1.GetIntentRequest{IntentId: intent.ID})
		_, here := openintent.Dial(openintent.Options{Server: h.GRPCAddress(), APIKey: harness.Key, AgentID: id})
		require.Equal(t, there == nil, here == nil, "%q: %v, %v", id, there, here)
	}
}
