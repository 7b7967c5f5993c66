package openintent

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
)

// logged collects what an agent says, one line for each event.
type logged struct{ told chan string }

func newLogged() *logged { return &logged{told: make(chan string, 1000)} }

func (l *logged) Write(line []byte) (int, error) {
	l.told <- string(line)
	return len(line), nil
}

func (l *logged) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// next waits for the next event, which must have the level and the text.
func (l *logged) next(t *testing.T, level slog.Level, text string) string {
	t.Helper()
	select {
	case line := <-l.told:
		require.Contains(t, line, "level="+level.String())
		require.Contains(t, strings.ReplaceAll(line, `\"`, `"`), text)
		require.NotContains(t, line, " error=", "the text says it")
		return line
	case <-time.After(time.Minute):
		require.FailNow(t, "the agent said nothing", "expected: %s", text)
	}
	return ""
}

// reached waits until the agent says that it is connected again. On a busy machine it may say before, once more, that it is not.
func (l *logged) reached(t *testing.T, text string) {
	t.Helper()
	for {
		select {
		case line := <-l.told:
			if strings.Contains(line, "level=WARN") && strings.Contains(line, "has not reached the server") {
				continue
			}
			require.Contains(t, line, "level=INFO")
			require.Contains(t, line, text)
			return
		case <-time.After(time.Minute):
			require.FailNow(t, "the agent said nothing", "expected: %s", text)
		}
	}
}

func (l *logged) nothing(t *testing.T) {
	t.Helper()
	select {
	case line := <-l.told:
		require.FailNow(t, "the agent said more", "%s", line)
	default:
	}
}

// post is a server of one agent: a test writes its deliveries.
type post struct {
	openintentv1.UnimplementedAgentServiceServer
	openintentv1.UnimplementedSubscriptionServiceServer
	openintentv1.UnimplementedMessageServiceServer
	deliveries chan *openintentv1.SubscriptionDelivery // nil ends the stream
	refuse     func() error                            // a reply, or nothing when it is nil
	register   func() error
}

func (p *post) UpsertAgent(context.Context, *openintentv1.RegisterAgentRequest) (*openintentv1.Agent, error) {
	return &openintentv1.Agent{}, p.register()
}

func (p *post) Heartbeat(context.Context, *openintentv1.HeartbeatRequest) (*openintentv1.HeartbeatResponse, error) {
	return &openintentv1.HeartbeatResponse{}, nil
}

func (p *post) CreateSubscription(context.Context, *openintentv1.CreateSubscriptionRequest) (*openintentv1.Subscription, error) {
	return &openintentv1.Subscription{Id: "s"}, nil
}

func (p *post) GetInbox(context.Context, *openintentv1.GetInboxRequest) (*openintentv1.Inbox, error) {
	return &openintentv1.Inbox{}, nil
}

func (p *post) AcknowledgeDeliveries(
	context.Context, *openintentv1.AcknowledgeDeliveriesRequest,
) (*openintentv1.Subscription, error) {
	return &openintentv1.Subscription{}, nil
}

func (p *post) ReplyMessage(context.Context, *openintentv1.ReplyMessageRequest) (*openintentv1.Message, error) {
	return &openintentv1.Message{}, p.refuse()
}

func (p *post) StreamDeliveries(
	_ *openintentv1.StreamDeliveriesRequest, stream grpc.ServerStreamingServer[openintentv1.SubscriptionDelivery],
) error {
	if err := stream.SendHeader(metadata.Pairs(positionHeader, "0")); err != nil {
		return err
	}
	for {
		select {
		case delivery := <-p.deliveries:
			if delivery == nil {
				return nil
			}
			if err := stream.Send(delivery); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

func well() error { return nil }

// open serves the post, at an address or, with "", at a new one.
func (p *post) open(t *testing.T, address string) (at string, stop func()) {
	t.Helper()
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	server := grpc.NewServer()
	openintentv1.RegisterAgentServiceServer(server, p)
	openintentv1.RegisterSubscriptionServiceServer(server, p)
	openintentv1.RegisterMessageServiceServer(server, p)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String(), server.Stop
}

// start runs an agent "data" whose handlers the test binds.
func start(t *testing.T, address string, log *logged, options AgentOptions, bind func(*Agent)) (leave func() error) {
	t.Helper()
	client, err := Dial(Options{Server: address, APIKey: "key"})
	require.NoError(t, err)
	options.ID, options.Log = "data", log.logger()
	agent := client.Agent(options)
	if bind != nil {
		bind(agent)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- agent.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, client.Close())
	})
	return func() error {
		cancel()
		return <-ended
	}
}

func newPost() *post {
	return &post{deliveries: make(chan *openintentv1.SubscriptionDelivery), refuse: well, register: well}
}

func announcement(standsBy bool) *openintentv1.SubscriptionDelivery {
	return &openintentv1.SubscriptionDelivery{StandingBy: standsBy}
}

func onChannel(number int64, id, channel string) *openintentv1.SubscriptionDelivery {
	return &openintentv1.SubscriptionDelivery{Number: number, ChannelName: channel, Message: &openintentv1.Message{
		Id: id, Sender: "asker", ChannelId: "chan_1", MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST,
	}}
}

func TestAnAgentSaysThatItIsConnectedAndReceives(t *testing.T) {
	log, server := newLogged(), newPost()
	address, _ := server.open(t, "")
	leave := start(t, address, log, AgentOptions{}, nil)
	server.deliveries <- announcement(false)
	line := log.next(t, slog.LevelInfo, "agent data is connected to "+address+" and receives")
	require.Contains(t, line, "agent=data address="+address)
	require.NoError(t, leave())
	log.next(t, slog.LevelInfo, "agent data is leaving and waits for 0 running handlers")
	log.next(t, slog.LevelInfo, "agent data has left")
	log.nothing(t)
}

func TestAnAgentSaysThatItStandsByAndTakesOver(t *testing.T) {
	log, server := newLogged(), newPost()
	address, _ := server.open(t, "")
	start(t, address, log, AgentOptions{}, nil)
	server.deliveries <- announcement(true)
	log.next(t, slog.LevelInfo, "agent data is connected to "+address+" and stands by: another process receives for it")
	server.deliveries <- announcement(false)
	log.next(t, slog.LevelInfo, "agent data takes over: it receives from now on")
	server.deliveries <- announcement(true)
	log.next(t, slog.LevelInfo, "agent data is connected to "+address+" and stands by")
}

func TestAnAgentSaysThatItsConnectionWasLostAndIsBack(t *testing.T) {
	log, server := newLogged(), newPost()
	address, stop := server.open(t, "")
	start(t, address, log, AgentOptions{}, nil)
	server.deliveries <- announcement(false)
	log.next(t, slog.LevelInfo, "is connected to "+address+" and receives")
	stop()
	log.next(t, slog.LevelInfo, "agent data lost its connection to "+address+" and connects again: ")
	log.next(t, slog.LevelWarn, "agent data cannot reach the server at "+address+" and keeps trying: UNAVAILABLE: ")
	server.open(t, address)
	server.deliveries <- announcement(false)
	log.reached(t, "agent data is connected to "+address+" again and receives")
	server.deliveries <- nil
	log.next(t, slog.LevelInfo, "agent data lost its connection to "+address)
	server.deliveries <- announcement(true)
	log.next(t, slog.LevelInfo, "agent data is connected to "+address+" again and stands by: another process receives for it")
}

func TestAnAgentWarnsOfAServerThatIsAwayAtGrowingIntervals(t *testing.T) {
	log := newLogged()
	client := newClient(nil, Options{Server: "desk:1"})
	said := newAgentLog(client.Agent(AgentOptions{ID: "data", Log: log.logger()}))
	now := time.Now()
	said.now = func() time.Time { return now }
	away := FromError(refusal(t, codes.Unavailable, ""))
	said.failed(away)
	log.next(t, slog.LevelWarn, "agent data cannot reach the server at desk:1 and keeps trying: UNAVAILABLE: what was wrong")
	for range (2*3600 + 25*60 + 15) / 5 {
		now = now.Add(5 * time.Second)
		said.failed(away)
	}
	for _, after := range []string{"10s", "30s", "1m10s", "2m30s", "5m10s", "10m30s", "21m10s", "42m30s", "1h25m10s", "2h25m10s"} {
		log.next(t, slog.LevelWarn, "agent data has not reached the server at desk:1 for "+after+" and keeps trying: UNAVAILABLE")
	}
	said.announced(false)
	log.next(t, slog.LevelInfo, "agent data is connected to desk:1 and receives")
	said.failed(away)
	log.nothing(t)
	said.failed(FromError(refusal(t, codes.Internal, "")))
	log.nothing(t)
	now = now.Add(time.Minute)
	said.failed(FromError(refusal(t, codes.Internal, "")))
	log.next(t, slog.LevelWarn, "agent data was refused by the server at desk:1 and keeps trying: INTERNAL")
	said.lost(away)
	log.next(t, slog.LevelInfo, "lost its connection")
	said.failed(away)
	log.next(t, slog.LevelWarn, "cannot reach the server")
}

func TestAnAgentSaysWhyItGivesUp(t *testing.T) {
	log, server := newLogged(), newPost()
	server.register = func() error { return refusal(t, codes.PermissionDenied, "") }
	address, _ := server.open(t, "")
	leave := start(t, address, log, AgentOptions{}, nil)
	log.next(t, slog.LevelError, "agent data gives up: PERMISSION_DENIED: what was wrong")
	require.ErrorIs(t, leave(), ErrPermissionDenied)
	log.nothing(t)
}

func TestAnAgentWarnsOnceOfAChannelWithoutAHandler(t *testing.T) {
	nobody := func(context.Context, *Message) (any, error) { return nil, nil }
	for _, test := range []struct {
		bound []string
		has   string
	}{
		{nil, "it has no handlers at all"},
		{[]string{"data"}, `it has handlers for "data"`},
		{[]string{"data", "votes", "data"}, `it has handlers for "data", "votes"`},
	} {
		log, server := newLogged(), newPost()
		address, _ := server.open(t, "")
		start(t, address, log, AgentOptions{Concurrency: 1}, func(agent *Agent) {
			for _, channel := range test.bound {
				agent.OnMessage(channel, nobody)
			}
		})
		server.deliveries <- announcement(false)
		log.next(t, slog.LevelInfo, "receives")
		server.deliveries <- onChannel(1, "m1", "dat")
		server.deliveries <- onChannel(2, "m2", "dat")
		server.deliveries <- onChannel(3, "m3", "vote")
		log.next(t, slog.LevelWarn, `agent data has no handler for channel "dat"; `+test.has)
		log.next(t, slog.LevelWarn, `agent data has no handler for channel "vote"; `+test.has)
	}
}

func TestAnAgentSaysThatAHandlerFailed(t *testing.T) {
	log, server := newLogged(), newPost()
	address, _ := server.open(t, "")
	start(t, address, log, AgentOptions{}, func(agent *Agent) {
		agent.OnMessage("panics", func(context.Context, *Message) (any, error) { panic("out of paper") })
		agent.OnMessage("fails", func(context.Context, *Message) (any, error) { return nil, errors.New("no ink") })
	})
	server.deliveries <- announcement(false)
	log.next(t, slog.LevelInfo, "receives")
	for _, kind := range []openintentv1.MessageType{
		openintentv1.MessageType_MESSAGE_TYPE_REQUEST, openintentv1.MessageType_MESSAGE_TYPE_NOTIFY,
	} {
		panicking, failing := onChannel(1, "m1"+kind.String(), "panics"), onChannel(2, "m2"+kind.String(), "fails")
		panicking.Message.MessageType, failing.Message.MessageType = kind, kind
		server.deliveries <- panicking
		line := log.next(t, slog.LevelError, `agent data: the handler for channel "panics" failed on message m1`+kind.String()+`: out of paper`)
		require.Contains(t, line, "agentlog_test.go", "the stack says where")
		require.Contains(t, line, "channel=panics message=m1")
		server.deliveries <- failing
		line = log.next(t, slog.LevelError, `agent data: the handler for channel "fails" failed on message m2`+kind.String()+`: no ink`)
		require.Equal(t, 1, strings.Count(line, "\n"))
	}
}

func TestAnAgentSaysInOneLineThatAPayloadDoesNotFit(t *testing.T) {
	log, server := newLogged(), newPost()
	address, _ := server.open(t, "")
	type question struct{ Table int }
	start(t, address, log, AgentOptions{}, func(agent *Agent) {
		agent.OnMessage("typed", HandleAs(func(context.Context, question, *Message) (any, error) { return nil, nil }))
		agent.OnMessage("text", func(context.Context, *Message) (any, error) { return "no object", nil })
	})
	server.deliveries <- announcement(false)
	log.next(t, slog.LevelInfo, "receives")
	typed := onChannel(1, "m1", "typed")
	typed.Message.Sender, typed.Message.Payload = "ann", &structpb.Struct{Fields: map[string]*structpb.Value{"Table": structpb.NewStringValue("x")}}
	server.deliveries <- typed
	line := log.next(t, slog.LevelError, `agent data: the payload of message m1 on channel "typed" does not fit: the payload is not a openintent.question: `)
	require.Contains(t, line, "(message m1 from ann)")
	require.NotContains(t, line, "stack")
	server.deliveries <- onChannel(2, "m2", "text")
	log.next(t, slog.LevelError, `agent data: what the handler returned for message m2 on channel "text" does not fit: `)
}

func TestAnAgentSaysInOneLineThatAnAnswerCameTooLate(t *testing.T) {
	for reason, test := range map[string]struct {
		code codes.Code
		what string
	}{
		"MESSAGE_EXPIRED":   {codes.FailedPrecondition, "came too late"},
		"CHANNEL_CLOSED":    {codes.FailedPrecondition, "came too late"},
		"INTENT_ENDED":      {codes.FailedPrecondition, "came too late"},
		"MESSAGE_NOT_FOUND": {codes.NotFound, "came too late"},
		"NOT_A_MEMBER":      {codes.PermissionDenied, "was refused"},
	} {
		log, server := newLogged(), newPost()
		server.refuse = func() error { return refusal(t, test.code, reason) }
		address, _ := server.open(t, "")
		start(t, address, log, AgentOptions{}, func(agent *Agent) {
			agent.OnMessage("votes", func(context.Context, *Message) (any, error) { return map[string]any{"vote": 1}, nil })
		})
		server.deliveries <- announcement(false)
		log.next(t, slog.LevelInfo, "receives")
		server.deliveries <- onChannel(1, "m1", "votes")
		line := log.next(t, slog.LevelWarn,
			`agent data: the answer to message m1 on channel "votes" `+test.what+`: `+reason+`: what was wrong`)
		require.Equal(t, 1, strings.Count(line, "\n"))
		require.NotContains(t, line, "stack")
	}
}

func TestAnAgentSaysHowManyHandlersItLeaves(t *testing.T) {
	log, server := newLogged(), newPost()
	address, _ := server.open(t, "")
	began, held := make(chan struct{}), make(chan struct{})
	defer close(held)
	leave := start(t, address, log, AgentOptions{Drain: time.Millisecond}, func(agent *Agent) {
		agent.OnMessage("", func(context.Context, *Message) (any, error) {
			close(began)
			<-held
			return nil, nil
		})
	})
	server.deliveries <- announcement(false)
	log.next(t, slog.LevelInfo, "receives")
	server.deliveries <- onChannel(1, "m1", "votes")
	<-began
	require.NoError(t, leave())
	log.next(t, slog.LevelInfo, "agent data is leaving and waits for 1 running handlers")
	log.next(t, slog.LevelWarn, "agent data left before 1 of its handlers ended")
	log.nothing(t)
}
