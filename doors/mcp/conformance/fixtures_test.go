package conformance

import (
	"context"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// Whether a client can subscribe to resources is what the door says, with the fixtures as without.
func TestSubscriptionsAreDeclaredAsTheDoorDeclaresThem(t *testing.T) {
	implementation := &sdk.Implementation{Name: "test", Version: "1"}
	for _, follows := range []bool{false, true} {
		options := func() *sdk.ServerOptions {
			o := &sdk.ServerOptions{Capabilities: &sdk.ServerCapabilities{Resources: &sdk.ResourceCapabilities{Subscribe: follows}}}
			if follows {
				o.SubscribeHandler = func(context.Context, *sdk.SubscribeRequest) error { return nil }
				o.UnsubscribeHandler = func(context.Context, *sdk.UnsubscribeRequest) error { return nil }
			}
			return o
		}
		shipped := sdk.NewServer(implementation, options())
		shipped.AddResourceTemplate(&sdk.ResourceTemplate{Name: "x", URITemplate: "openintent://x/{id}"}, nil)
		require.Equal(t, follows, declared(t, shipped).Subscribe)
		require.Equal(t, declared(t, shipped), declared(t, NewServer(t.Context(), implementation, options(), nil)))
	}
}

// declared returns what a server declares about resources.
func declared(t *testing.T, server *sdk.Server) *sdk.ResourceCapabilities {
	t.Helper()
	inside, outside := sdk.NewInMemoryTransports()
	served, err := server.Connect(t.Context(), inside, nil)
	require.NoError(t, err)
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), outside, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = client.Close()
		_ = served.Wait()
	})
	return client.InitializeResult().Capabilities.Resources
}
