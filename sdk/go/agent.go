package openintent

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Handler handles a message that an agent received. The value that it returns for a request is sent as the response; nil sends
// none. encoding/json must write the value as an object. An error, or a panic, becomes a response that Ask returns as a
// *RemoteError. The context ends when the agent leaves and has waited long enough.
type Handler func(ctx context.Context, message *Message) (any, error)

// AgentOptions describe an agent.
type AgentOptions struct {
	// ID is the agent's id; the client's own agent when it is empty.
	ID string
	// Role is the role that the agent holds; empty for none.
	Role string
	// Capabilities are part of its registration.
	Capabilities []string
	// WithoutRegistering leaves the agent's record alone: it then has no role, heartbeat or presence.
	WithoutRegistering bool
	// Concurrency is how many handlers run simultaneously at most; 16 when it is 0.
	Concurrency int
	// Drain is how long leaving waits for running handlers; 10 seconds when it is 0.
	Drain time.Duration
	// Attention makes the server say what each message asks of the agent: Message.Attention. The agent then tells the server
	// which messages its handlers saw, and what became of them. OnMention, OnObligation and SkipUnaddressed turn it on as well.
	Attention bool
	// SkipUnaddressed leaves out messages whose policy is MustNotRespond: no handler is called for them.
	SkipUnaddressed bool
	// Compose lets messages wait until their sender pauses: for 3 seconds of silence, and at most for 30. What the sender wrote meanwhile is
	// then handled in one go, one message after the other. Requests that are urgent do not wait.
	Compose bool
	// Digest is for how long messages that are not for the agent are gathered into one digest for OnDigest, from a second to a day in whole
	// seconds, rounded up; 0 for no digests. No handler of messages is called for them.
	Digest time.Duration
	// MaxChars is how many characters a digest has at most, from 500 to 20,000; 2,000 when it is 0. It goes only together with Digest.
	MaxChars int
	// ConnectTimeout is how long Run waits for the first connection to its server; 0 for ever, which it says in its log.
	// Address.LocalConnectTimeout is what fits a program that a person waits for. Run then returns ErrUnavailable.
	ConnectTimeout time.Duration
	// Ready is called once Run receives: messages that are sent after that reach the agent.
	Ready func()
	// Log receives what the agent has to say: that it is connected, stands by, takes over or leaves, that the server
	// is away, which channels have no handler, and which handlers failed. When it is nil, slog.Default() is used.
	Log *slog.Logger
}

// Agent is a program that receives messages and answers requests.
type Agent struct {
	client    *Client
	options   AgentOptions
	handlers  []boundHandler
	onMention []Handler
	// onObligation take the requests with open obligations and the reminders of them.
	onObligation []Handler
	onDigest     []DigestHandler
	note         statusNote

	mutex   sync.Mutex
	running *run // nil while it does not run
}

// run is one Run of an agent.
type run struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

type boundHandler struct {
	channel string // "" for all other channels
	handle  Handler
}

// Agent makes an agent that receives and answers through the client's connection.
func (c *Client) Agent(options AgentOptions) *Agent {
	if options.ID == "" {
		options.ID = c.AgentID()
	}
	if options.Concurrency <= 0 {
		options.Concurrency = 16
	}
	if options.Drain == 0 {
		options.Drain = 10 * time.Second
	}
	if options.Log == nil {
		options.Log = slog.Default()
	}
	client := c.As(options.ID)
	if client.options.OnRetry == nil {
		client.options.OnRetry = func(error) {} // its log says it
	}
	client.options.ConnectTimeout = -1 // that is for the start
	return &Agent{client: client, options: options, note: statusNote{changed: make(chan struct{}, 1)}}
}

// Client acts as the agent.
func (a *Agent) Client() *Client { return a.client }

// OnMessage binds a handler to the messages on channels of this name; "" binds it to those that no other handler is
// bound to. All handlers of a message are called, in the order they were bound. The first handler that returns
// something other than nil, or fails, answers. Bind handlers before Run.
func (a *Agent) OnMessage(channel string, handle Handler) {
	a.handlers = append(a.handlers, boundHandler{channel, handle})
}

// OnMention binds a handler to the messages that mention the agent by its name. For such a message no handler of OnMessage is called. It
// turns AgentOptions.Attention on. Bind handlers before Run.
func (a *Agent) OnMention(handle Handler) { a.onMention = append(a.onMention, handle) }

// OnObligation binds a handler to the requests whose obligation is open and to the server's reminders of them; for such a message no other
// handler is called. Attention.Reason tells which it is, and Attention.Knock of a reminder where the request is. It turns
// AgentOptions.Attention on. Bind handlers before Run.
func (a *Agent) OnObligation(handle Handler) { a.onObligation = append(a.onObligation, handle) }

func (a *Agent) usesAttention() bool {
	return a.options.Attention || a.options.SkipUnaddressed || len(a.onMention) > 0 || len(a.onObligation) > 0
}

// channels returns the names of the channels that have a handler, in the order in which they were bound.
func (a *Agent) channels() (names []string) {
	for _, bound := range a.handlers {
		if bound.channel != "" && !slices.Contains(names, bound.channel) {
			names = append(names, bound.channel)
		}
	}
	return names
}

// matching returns the handlers for a message.
func (a *Agent) matching(message *Message) (matching []Handler) {
	if len(a.onObligation) > 0 && speaksOfObligation(message) {
		return a.onObligation
	}
	if len(a.onMention) > 0 && message.Attention != nil && message.Attention.Reason == ReasonMention {
		return a.onMention
	}
	channel := message.ChannelName
	for _, wanted := range []string{channel, ""} {
		for _, bound := range a.handlers {
			if bound.channel == wanted {
				matching = append(matching, bound.handle)
			}
		}
		if len(matching) > 0 {
			return matching
		}
	}
	return nil
}

// Run registers the agent, receives and answers until the context ends, and then leaves: it accepts nothing new,
// waits up to Drain for running handlers, sends their answers and returns nil. It waits for its server for ever, unless
// ConnectTimeout bounds that, and reconnects as often as necessary; only a failure that a retry cannot fix
// (ErrUnauthenticated, ErrPermissionDenied, ErrInvalidArgument, and at the start a failure of TLS) ends it.
// Several processes may run one agent: one receives, and the others take over when it ends.
func (a *Agent) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	this := &run{cancel: cancel, ended: make(chan struct{})}
	if err := checkAgentID("AgentOptions.ID", a.options.ID); err != nil {
		return err
	}
	a.mutex.Lock()
	if a.options.ID == "" || a.running != nil {
		a.mutex.Unlock()
		return errors.New("an agent needs an id, and cannot run twice simultaneously")
	}
	a.running = this
	a.mutex.Unlock()
	defer func() {
		a.mutex.Lock()
		a.running = nil
		a.mutex.Unlock()
		close(this.ended)
	}()
	return newReceiver(a).run(ctx)
}

// Leave ends Run, as the end of its context does, and waits for it. Deregistering then removes the agent from all channels, and
// expires the requests that wait for it.
func (a *Agent) Leave(ctx context.Context, deregister bool) error {
	a.mutex.Lock()
	this := a.running
	a.mutex.Unlock()
	if this != nil {
		this.cancel()
		select {
		case <-this.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if !deregister {
		return nil
	}
	return a.deregister(ctx)
}
