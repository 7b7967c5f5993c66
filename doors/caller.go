package doors

import (
	"context"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// credentials are the headers that prove who calls. They travel with each call of a door.
var credentials = []string{"X-Api-Key", "Authorization", "X-Agent-Id", "Traceparent"}

// ErrOperator refuses a caller without a name.
var ErrOperator = fault.New(fault.Denied, "AGENT_NEEDED",
	"This door serves agents only, and the API key names none; name the agent in X-Agent-ID.")

// Caller is one caller of a door: the contract's services, called with that caller's credentials.
type Caller struct {
	// Agent is the caller's name.
	Agent string
	// Operator says that the key is bound to no agent and the call names none. Only IdentifyAny returns such a caller.
	Operator bool
	// Roles are the roles that its key lets it take; "*" among them stands for every role.
	Roles []string
	// ReadOnly says that the key may change nothing.
	ReadOnly bool
	// OnlyChannels are channels to which its key is kept: those of a guest, for one. The lists of the contract do not show them.
	OnlyChannels []string
	// OnlyIntents are the intents to which its key is kept, with everything in them.
	OnlyIntents []string

	Agents        openintentv1.AgentServiceClient
	Intents       openintentv1.IntentServiceClient
	Invites       openintentv1.InviteServiceClient
	Channels      openintentv1.ChannelServiceClient
	Messages      openintentv1.MessageServiceClient
	Reactions     openintentv1.ReactionServiceClient
	Claims        openintentv1.ClaimServiceClient
	Obligations   openintentv1.ObligationServiceClient
	Concerns      openintentv1.ConcernServiceClient
	Attention     openintentv1.AttentionServiceClient
	Leases        openintentv1.LeaseServiceClient
	Search        openintentv1.SearchServiceClient
	Subscriptions openintentv1.SubscriptionServiceClient
	Tasks         openintentv1.TaskServiceClient
	Events        openintentv1.EventServiceClient
}

// Identify asks the server who calls, by the credentials in a request's headers, and returns the services as that caller sees them.
// It returns the server's refusal of an unknown key or of a name that is not the key's, and refuses the nameless operator.
func Identify(ctx context.Context, connection grpc.ClientConnInterface, headers http.Header) (*Caller, error) {
	return named(IdentifyAny(ctx, connection, headers))
}

// IdentifyAny does what Identify does, and lets the nameless operator in.
func IdentifyAny(ctx context.Context, connection grpc.ClientConnInterface, headers http.Header) (*Caller, error) {
	return identify(ctx, &credentialed{connection, shown(headers)})
}

// named refuses the nameless operator.
func named(c *Caller, err error) (*Caller, error) {
	if err == nil && c.Operator {
		return nil, ErrOperator
	}
	return c, err
}

// IdentifyDialled does what Identify does on a connection that carries the caller's credentials itself.
func IdentifyDialled(ctx context.Context, connection grpc.ClientConnInterface) (*Caller, error) {
	return named(identify(ctx, connection))
}

func identify(ctx context.Context, connection grpc.ClientConnInterface) (*Caller, error) {
	c := &Caller{
		Agents:        openintentv1.NewAgentServiceClient(connection),
		Intents:       openintentv1.NewIntentServiceClient(connection),
		Invites:       openintentv1.NewInviteServiceClient(connection),
		Channels:      openintentv1.NewChannelServiceClient(connection),
		Messages:      openintentv1.NewMessageServiceClient(connection),
		Reactions:     openintentv1.NewReactionServiceClient(connection),
		Claims:        openintentv1.NewClaimServiceClient(connection),
		Obligations:   openintentv1.NewObligationServiceClient(connection),
		Concerns:      openintentv1.NewConcernServiceClient(connection),
		Attention:     openintentv1.NewAttentionServiceClient(connection),
		Leases:        openintentv1.NewLeaseServiceClient(connection),
		Search:        openintentv1.NewSearchServiceClient(connection),
		Subscriptions: openintentv1.NewSubscriptionServiceClient(connection),
		Tasks:         openintentv1.NewTaskServiceClient(connection),
		Events:        openintentv1.NewEventServiceClient(connection),
	}
	who, err := c.Agents.WhoAmI(ctx, &openintentv1.WhoAmIRequest{})
	if err != nil {
		return nil, err
	}
	c.Operator = who.GetOperator()
	c.Agent, c.Roles, c.ReadOnly = who.GetAgentId(), who.GetRoles(), who.GetReadOnly()
	c.OnlyChannels, c.OnlyIntents = who.GetChannels(), who.GetIntents()
	return c, nil
}

// shown returns the credentials in a request's headers as a call's metadata.
func shown(headers http.Header) metadata.MD {
	md := make(metadata.MD, len(credentials))
	for _, name := range credentials {
		if values := headers.Values(name); len(values) > 0 {
			md[strings.ToLower(name)] = values
		}
	}
	return md
}

// credentialed is a connection whose calls carry one caller's credentials, whatever the context of a call says.
type credentialed struct {
	grpc.ClientConnInterface
	shown metadata.MD
}

// Invoke makes a call with one answer.
func (c *credentialed) Invoke(ctx context.Context, method string, request, response any, options ...grpc.CallOption) error {
	return c.ClientConnInterface.Invoke(metadata.NewOutgoingContext(ctx, c.shown), method, request, response, options...)
}

// NewStream begins a call with many answers.
func (c *credentialed) NewStream(
	ctx context.Context, description *grpc.StreamDesc, method string, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return c.ClientConnInterface.NewStream(metadata.NewOutgoingContext(ctx, c.shown), description, method, options...)
}
