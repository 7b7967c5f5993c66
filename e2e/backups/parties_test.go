package backups

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// awaiting lets a call wait until its server is back.
var awaiting = grpc.WaitForReady(true)

// party is a client that receives all the time, until the test ends. It takes each message once, by its id.
type party struct {
	name string

	mutex sync.Mutex
	ids   map[string]bool
	texts []string
	// told are the reasons of the refusals that it got.
	told []string
}

// take takes a message.
func (p *party) take(m *openintentv1.Message) {
	p.note(m.GetId(), m.GetPayload().GetFields()["text"].GetStringValue())
}

func (p *party) note(id, text string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if !p.ids[id] {
		p.ids[id] = true
		p.texts = append(p.texts, text)
	}
}

func (p *party) hear(reason string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.told = append(p.told, reason)
}

// has reports whether the party has these texts.
func (p *party) has(texts ...string) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return !slices.ContainsFunc(texts, func(text string) bool { return !slices.Contains(p.texts, text) })
}

// wasTold reports whether the party was told a reason.
func (p *party) wasTold(reason string) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return slices.Contains(p.told, reason)
}

// parties are clients that receive in different ways.
type parties struct {
	t       *testing.T
	channel string
	ctx     context.Context
	running sync.WaitGroup
	all     []*party
}

// begin lets a party receive again and again until the test ends. receive returns when a call or a stream has ended. A server that is away,
// or whose connection broke, comes back.
func (ps *parties) begin(name string, receive func(ctx context.Context, p *party) error) *party {
	p := &party{name: name, ids: make(map[string]bool)}
	ps.all = append(ps.all, p)
	ps.running.Go(func() {
		for ps.ctx.Err() == nil {
			err := receive(ps.ctx, p)
			switch reason := harness.Reason(err); {
			case ps.ctx.Err() != nil || err == nil || errors.Is(err, io.EOF) || harness.Code(err) == codes.Unavailable:
			case reason == "CURSOR_BEYOND_LOG":
				p.hear(reason)
			default:
				ps.t.Errorf("%s: %v", name, err)
				return
			}
		}
	})
	return p
}

// await waits until all parties have the texts.
func (ps *parties) await(texts ...string) {
	ps.t.Helper()
	for _, p := range ps.all {
		if !assert.Eventually(ps.t, func() bool { return p.has(texts...) }, harness.Patience, checkEvery) {
			p.mutex.Lock()
			ps.t.Errorf("%s has only %q of %q, and was told %q", p.name, p.texts, texts, p.told)
			p.mutex.Unlock()
		}
	}
}

// waits lets an agent wait for its inbox.
func (ps *parties) waits(caller *harness.Caller) {
	ps.begin("a wait for an inbox", func(ctx context.Context, p *party) error {
		inbox, err := caller.Messages.GetInbox(ctx, &openintentv1.GetInboxRequest{AgentId: caller.Agent, WaitSeconds: proto.Float64(60)}, awaiting)
		if err != nil || len(inbox.GetItems()) == 0 {
			return err
		}
		read := &openintentv1.MarkInboxReadRequest{AgentId: caller.Agent}
		for _, item := range inbox.GetItems() {
			read.MessageIds = append(read.MessageIds, item.GetMessage().GetId())
		}
		_, err = caller.Messages.MarkInboxRead(ctx, read)
		for _, item := range inbox.GetItems() {
			p.take(item.GetMessage())
		}
		return err
	})
}

// fetches lets an agent fetch the deliveries of a subscription.
func (ps *parties) fetches(caller *harness.Caller, subscription string) {
	ps.begin("a wait for deliveries", func(ctx context.Context, p *party) error {
		fetched, err := caller.Subscriptions.FetchDeliveries(ctx, &openintentv1.FetchDeliveriesRequest{
			SubscriptionId: subscription, WaitSeconds: proto.Float64(60),
		}, awaiting)
		if err != nil || len(fetched.GetDeliveries()) == 0 {
			return err
		}
		done := &openintentv1.AcknowledgeDeliveriesRequest{SubscriptionId: subscription}
		for _, d := range fetched.GetDeliveries() {
			done.Numbers = append(done.Numbers, d.GetNumber())
		}
		_, err = caller.Subscriptions.AcknowledgeDeliveries(ctx, done)
		for _, d := range fetched.GetDeliveries() {
			p.take(d.GetMessage())
		}
		return err
	})
}

// streams lets an agent stream the deliveries of a subscription.
func (ps *parties) streams(caller *harness.Caller, subscription string) {
	ps.begin("a stream of deliveries", func(ctx context.Context, p *party) error {
		stream, err := caller.Subscriptions.StreamDeliveries(ctx, &openintentv1.StreamDeliveriesRequest{SubscriptionId: subscription}, awaiting)
		for err == nil {
			var d *openintentv1.SubscriptionDelivery
			if d, err = stream.Recv(); err == nil {
				_, err = caller.Subscriptions.AcknowledgeDeliveries(ctx, &openintentv1.AcknowledgeDeliveriesRequest{
					SubscriptionId: subscription, Numbers: []int64{d.GetNumber()},
				})
				p.take(d.GetMessage())
			}
		}
		return err
	})
}

// follows lets a client follow a log. It comes back with its position until it is told that this is void, and begins again then.
func (ps *parties) follows(name string, caller *harness.Caller, scope *openintentv1.SubscribeRequest) *party {
	position := int64(0)
	return ps.begin(name, func(ctx context.Context, p *party) error {
		req := proto.CloneOf(scope)
		req.AfterPosition = &position
		stream, err := caller.Messages.Subscribe(ctx, req, awaiting)
		for err == nil {
			var d *openintentv1.SubscribeResponse
			if d, err = stream.Recv(); err == nil {
				position = d.GetPosition()
				if d.GetMessage() != nil {
					p.take(d.GetMessage())
				}
			}
		}
		if harness.Reason(err) == "CURSOR_BEYOND_LOG" {
			position = 0
		}
		return err
	})
}

// messageID finds the id of the message that a webhook posts.
var messageID = regexp.MustCompile(`"(msg_[0-9A-Z]+)"`)

// endpoint is where a webhook leads. It takes each message once.
func (ps *parties) endpoint() string {
	p := &party{name: "a webhook", ids: make(map[string]bool)}
	ps.all = append(ps.all, p)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, rest, _ := strings.Cut(string(body), `"text":"`)
		text, _, _ := strings.Cut(rest, `"`)
		p.note(messageID.FindString(string(body)), text)
	}))
	ps.t.Cleanup(server.Close)
	return server.URL
}

// ask asks in the background, and asks again under the same key when the server is away.
func (ps *parties) ask(caller *harness.Caller, to, question string) (answer func() (*openintentv1.Message, error)) {
	var m *openintentv1.Message
	var err error
	ended := make(chan struct{})
	ps.running.Go(func() {
		defer close(ended)
		for ps.ctx.Err() == nil {
			m, err = caller.Messages.Ask(ps.ctx, &openintentv1.AskRequest{
				ChannelId: ps.channel, To: to, Payload: said(question), TimeoutSeconds: proto.Float64(120), IdempotencyKey: proto.String(question),
			}, awaiting)
			if harness.Code(err) != codes.Unavailable {
				return
			}
		}
	})
	return func() (*openintentv1.Message, error) {
		select {
		case <-ended:
			return m, err
		case <-time.After(harness.Patience):
			require.FailNow(ps.t, "an ask does not end: "+question)
			return nil, nil
		}
	}
}
