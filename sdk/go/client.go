package openintent

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/sdk/go/exchange"
)

// maxReceived bounds the size of one answer from the server: a page ends at 3 MiB, but ask_all can return a thousand
// responses of the largest size.
const maxReceived = 512 << 20

// Client calls a server as one identity. Several goroutines may use it.
type Client struct {
	connection *grpc.ClientConn
	// exchanges carry the calls while the client is busy, for all clients on the connection.
	exchanges *exchange.Connection
	options   Options
	outage    *outage // of all clients on the connection
	calls     identified
	// The calls of raw are single attempts, and those of patient are made again while the server is away.
	raw, patient Raw
}

// Raw holds the generated clients, for calls that this package does not offer itself. Their calls carry the client's
// identity. While the server is away they are made again as this package's own are, except that the context alone
// bounds a single attempt, and that a call that changes something is not made again once it may have taken effect.
// Streams are single attempts. FromError turns errors into this package's.
type Raw struct {
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
}

// Dial makes a client. It connects when it is first used, and reconnects whenever the connection is lost.
func Dial(options Options) (*Client, error) {
	options, err := options.completed()
	if err != nil {
		return nil, err
	}
	warnOfVariables(options.log())
	transport := insecure.NewCredentials()
	if options.TLS != nil {
		transport = credentials.NewTLS(options.TLS)
	}
	connection, err := grpc.NewClient(options.Server,
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReceived)),
		// The calls have their own patience, so the client must notice soon that a server is back.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: firstWait, Multiplier: 1.6, Jitter: 0.2, MaxDelay: options.longestBackoff()},
			MinConnectTimeout: 5 * time.Second,
		}),
		// A ping detects a connection that died silently while something waits on it. The server allows one ping
		// every ten seconds.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
	)
	if err != nil {
		return nil, err
	}
	return newClient(connection, options), nil
}

func newClient(connection *grpc.ClientConn, options Options) *Client {
	return sharing(connection, exchange.Over(connection), options)
}

// sharing makes a client on a connection, and on the exchanges of it, that others may use too.
func sharing(connection *grpc.ClientConn, exchanges *exchange.Connection, options Options) *Client {
	var pairs []string
	if options.APIKey != "" {
		pairs = append(pairs, "x-api-key", options.APIKey)
	}
	if options.AgentID != "" {
		pairs = append(pairs, "x-agent-id", options.AgentID)
	}
	calls := identified{exchanges, pairs, options}
	client := &Client{
		connection: connection, exchanges: exchanges, options: options, outage: &outage{}, calls: calls, raw: rawOf(calls),
	}
	client.patient = rawOf(patientCalls{calls, client})
	return client
}

func rawOf(calls grpc.ClientConnInterface) Raw {
	return Raw{
		Intents:       openintentv1.NewIntentServiceClient(calls),
		Access:        openintentv1.NewAccessServiceClient(calls),
		Events:        openintentv1.NewEventServiceClient(calls),
		Coordinators:  openintentv1.NewCoordinatorServiceClient(calls),
		Agents:        openintentv1.NewAgentServiceClient(calls),
		Tasks:         openintentv1.NewTaskServiceClient(calls),
		Channels:      openintentv1.NewChannelServiceClient(calls),
		Messages:      openintentv1.NewMessageServiceClient(calls),
		Subscriptions: openintentv1.NewSubscriptionServiceClient(calls),
		Experimental:  openintentv1.NewExperimentalServiceClient(calls),
		Attention:     openintentv1.NewAttentionServiceClient(calls),
		Claims:        openintentv1.NewClaimServiceClient(calls),
		Obligations:   openintentv1.NewObligationServiceClient(calls),
		Leases:        openintentv1.NewLeaseServiceClient(calls),
		Search:        openintentv1.NewSearchServiceClient(calls),
		Contacts:      openintentv1.NewContactServiceClient(calls),
		Reach:         openintentv1.NewReachServiceClient(calls),
		Concerns:      openintentv1.NewConcernServiceClient(calls),
		Reactions:     openintentv1.NewReactionServiceClient(calls),
		Keys:          openintentv1.NewKeyServiceClient(calls),
		Invites:       openintentv1.NewInviteServiceClient(calls),
	}
}

// As returns a client on the same connection that acts as another agent, or with "" as the key's own agent or the operator.
func (c *Client) As(agent string) *Client {
	options := c.options
	options.AgentID = agent
	other := sharing(c.connection, c.exchanges, options)
	other.outage = c.outage
	return other
}

// Server returns the server's address, as host:port.
func (c *Client) Server() string { return c.options.Server }

// Connection returns the connection for generated clients of the caller's own. Their calls carry the client's identity; each is a
// single attempt, and fails with UNAVAILABLE while the server is away.
func (c *Client) Connection() grpc.ClientConnInterface { return c.calls }

// AgentID returns the agent that the client acts as; "" when the key decides.
func (c *Client) AgentID() string { return c.options.AgentID }

// IntentID returns the intent of calls that name none; "" when there is none.
func (c *Client) IntentID() string { return c.options.IntentID }

// Raw returns the generated clients.
func (c *Client) Raw() Raw { return c.patient }

// Close ends the connection, for this client and all clients that As made from it. Running and later calls fail with
// context.Canceled; agents end.
func (c *Client) Close() error {
	c.exchanges.Close()
	return c.connection.Close()
}

func (c *Client) closed() bool { return c.connection.GetState() == connectivity.Shutdown }

// identified adds a caller's metadata to each call.
type identified struct {
	grpc.ClientConnInterface
	pairs   []string
	options Options
}

func (c identified) Invoke(ctx context.Context, method string, args, reply any, options ...grpc.CallOption) error {
	if err := checkBounds(args); err != nil {
		return err
	}
	err := c.ClientConnInterface.Invoke(metadata.AppendToOutgoingContext(ctx, c.pairs...), method, args, reply, options...)
	return c.options.advised(err)
}

func (c identified) NewStream(
	ctx context.Context, description *grpc.StreamDesc, method string, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	stream, err := c.ClientConnInterface.NewStream(metadata.AppendToOutgoingContext(ctx, c.pairs...), description, method, options...)
	return stream, c.options.advised(err)
}
