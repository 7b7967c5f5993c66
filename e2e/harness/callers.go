package harness

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	openintentv1 "openintent/gen/openintent/v1"
)

// Every server of the harness knows these keys, unless Options.APIKeys replaces them.
const (
	// Key is unbound: its calls act as any agent, which may take any role. A call that names no agent acts as the
	// operator.
	Key = "test-key"
	// CompatibilityKey is unbound and has the profile for existing clients.
	CompatibilityKey = "test-key-sdk"
	// BoundKey acts only as BoundAgent, which may take no role.
	BoundKey = "test-key-bound"
	// BoundAgent is the agent of BoundKey.
	BoundAgent = "bound-agent"

	defaultKeys = Key + ";roles=*," + CompatibilityKey + ";roles=*;sdk," + BoundKey + "=" + BoundAgent
)

// Caller is one identity with a client of every service. It adds the identity to its calls.
type Caller struct {
	// Key and Agent are sent with the calls; either may be empty.
	Key, Agent string

	Intents       openintentv1.IntentServiceClient
	Access        openintentv1.AccessServiceClient
	Events        openintentv1.EventServiceClient
	Coordinators  openintentv1.CoordinatorServiceClient
	Agents        openintentv1.AgentServiceClient
	Tasks         openintentv1.TaskServiceClient
	Channels      openintentv1.ChannelServiceClient
	Messages      openintentv1.MessageServiceClient
	Subscriptions openintentv1.SubscriptionServiceClient
	Experimental  openintentv1.ExperimentalServiceClient
	Exchange      openintentv1.ExchangeServiceClient
	Attention     openintentv1.AttentionServiceClient
	Claims        openintentv1.ClaimServiceClient
	Obligations   openintentv1.ObligationServiceClient
	Leases        openintentv1.LeaseServiceClient
	Search        openintentv1.SearchServiceClient
	Contacts      openintentv1.ContactServiceClient
	Reach         openintentv1.ReachServiceClient
	Concerns      openintentv1.ConcernServiceClient
	Reactions     openintentv1.ReactionServiceClient
	Keys          openintentv1.KeyServiceClient
	Invites       openintentv1.InviteServiceClient
	Server        openintentv1.ServerServiceClient

	clients *Clients
}

// As returns a caller that acts as an agent, with an unbound key.
func (c *Clients) As(agent string) *Caller { return c.With(Key, agent) }

// Operator returns a caller that acts as the operator.
func (c *Clients) Operator() *Caller { return c.With(Key, "") }

// With returns a caller that acts with a key and, unless agent is empty, as an agent.
func (c *Clients) With(key, agent string) *Caller {
	var pairs []string
	if key != "" {
		pairs = append(pairs, "x-api-key", key)
	}
	if agent != "" {
		pairs = append(pairs, "x-agent-id", agent)
	}
	connection := identified{c.calls, pairs}
	return &Caller{
		Key: key, Agent: agent,
		Intents:       openintentv1.NewIntentServiceClient(connection),
		Access:        openintentv1.NewAccessServiceClient(connection),
		Events:        openintentv1.NewEventServiceClient(connection),
		Coordinators:  openintentv1.NewCoordinatorServiceClient(connection),
		Agents:        openintentv1.NewAgentServiceClient(connection),
		Tasks:         openintentv1.NewTaskServiceClient(connection),
		Channels:      openintentv1.NewChannelServiceClient(connection),
		Messages:      openintentv1.NewMessageServiceClient(connection),
		Subscriptions: openintentv1.NewSubscriptionServiceClient(connection),
		Experimental:  openintentv1.NewExperimentalServiceClient(connection),
		Exchange:      openintentv1.NewExchangeServiceClient(connection),
		Attention:     openintentv1.NewAttentionServiceClient(connection),
		Claims:        openintentv1.NewClaimServiceClient(connection),
		Obligations:   openintentv1.NewObligationServiceClient(connection),
		Leases:        openintentv1.NewLeaseServiceClient(connection),
		Search:        openintentv1.NewSearchServiceClient(connection),
		Contacts:      openintentv1.NewContactServiceClient(connection),
		Reach:         openintentv1.NewReachServiceClient(connection),
		Concerns:      openintentv1.NewConcernServiceClient(connection),
		Reactions:     openintentv1.NewReactionServiceClient(connection),
		Keys:          openintentv1.NewKeyServiceClient(connection),
		Invites:       openintentv1.NewInviteServiceClient(connection),
		Server:        openintentv1.NewServerServiceClient(connection),

		clients: c,
	}
}

// identified adds a caller's metadata to each call.
type identified struct {
	grpc.ClientConnInterface
	pairs []string
}

func (c identified) Invoke(ctx context.Context, method string, args, reply any, options ...grpc.CallOption) error {
	return c.ClientConnInterface.Invoke(metadata.AppendToOutgoingContext(ctx, c.pairs...), method, args, reply, options...)
}

func (c identified) NewStream(
	ctx context.Context, description *grpc.StreamDesc, method string, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return c.ClientConnInterface.NewStream(metadata.AppendToOutgoingContext(ctx, c.pairs...), description, method, options...)
}
