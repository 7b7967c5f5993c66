package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// livesAtOnce is how many lives run simultaneously.
	livesAtOnce = 4
	// agents is how many agents there are; each life is led by one of them, who talks to the next two.
	agents = 12
	// helpers is the role that all agents hold.
	helpers = "helper"
)

// load runs lives on a server, several simultaneously and one after the other.
type load struct {
	h     *harness.Server
	posts *httptest.Server
	lives atomic.Int64
	// Each life holds resting; whoever locks it waits until no life is running.
	resting sync.RWMutex
}

func newLoad(t *testing.T, h *harness.Server) *load {
	l := &load{h: h, posts: httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))}
	t.Cleanup(l.posts.Close)
	for i := range agents {
		l.register(t.Context(), t, agent(i))
	}
	return l
}

func agent(n int) string { return fmt.Sprintf("agent-%d", n%agents) }

func (l *load) register(ctx context.Context, t require.TestingT, name string) {
	_, err := l.h.As(name).Agents.UpsertAgent(ctx, &openintentv1.RegisterAgentRequest{
		AgentId: &name, RoleId: proto.String(helpers),
		HeartbeatConfig: &openintentv1.HeartbeatConfig{
			IntervalSeconds: proto.Int32(10_000), UnhealthyAfterSeconds: proto.Int32(100_000), DeadAfterSeconds: proto.Int32(1_000_000),
		},
	})
	require.NoError(t, err)
}

// lead runs lives until the context ends; then the running lives finish.
func (l *load) lead(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var leading sync.WaitGroup
	for range livesAtOnce {
		leading.Go(func() {
			for ctx.Err() == nil {
				l.resting.RLock()
				err := l.live(context.WithoutCancel(ctx), int(l.lives.Add(1)))
				l.resting.RUnlock()
				if err != nil {
					cancel(err)
				}
			}
		})
	}
	leading.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// life is one intent with everything that happens in it.
type life struct {
	*load
	number                  int
	leader, friend          *harness.Caller
	third                   string
	intent                  *openintentv1.Intent
	talk, audited, explicit string
}

// live runs one life. It fails at the first thing that goes wrong.
func (l *load) live(ctx context.Context, number int) (err error) {
	ctx, cancel := context.WithTimeout(ctx, harness.Patience)
	defer cancel()
	f := &life{load: l, number: number, leader: l.h.As(agent(number)), friend: l.h.As(agent(number + 1)), third: agent(number + 2)}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"beginning", f.begin},
		{"talking", f.talkOnStreams},
		{"asking", f.ask},
		{"conversing", f.converse},
		{"annotating", f.annotate},
		{"reading", f.read},
		{"subscribing", f.subscribe},
		{"being posted to", f.bePostedTo},
		{"leaving", f.leave},
		{"ending", f.end},
	} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("life %d, %s: %w", number, step.name, err)
		}
	}
	return nil
}

func (f *life) begin(ctx context.Context) (err error) {
	f.intent, err = f.leader.Intents.CreateIntent(ctx, &openintentv1.CreateIntentRequest{
		Title: "soak", Status: openintentv1.IntentStatus_INTENT_STATUS_ACTIVE.Enum(),
	})
	if err != nil {
		return err
	}
	open := func(into *string, request *openintentv1.CreateChannelRequest) {
		request.IntentId = f.intent.GetId()
		channel, failed := f.leader.Channels.CreateChannel(ctx, request)
		*into, err = channel.GetId(), errors.Join(err, failed)
	}
	open(&f.talk, &openintentv1.CreateChannelRequest{
		Name: "talk", Options: &openintentv1.ChannelOptions{MaxMessages: proto.Int64(20), TtlSeconds: proto.Int64(600)},
	})
	open(&f.audited, &openintentv1.CreateChannelRequest{
		Name: "audited", Options: &openintentv1.ChannelOptions{Audit: proto.Bool(true)},
	})
	open(&f.explicit, &openintentv1.CreateChannelRequest{
		Name: "explicit", MemberPolicy: openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT.Enum(),
		Members: []string{f.leader.Agent, f.friend.Agent},
	})
	if err != nil {
		return err
	}
	_, err = f.leader.Intents.AssignAgent(ctx, &openintentv1.AssignAgentRequest{IntentId: f.intent.GetId(), AgentId: f.friend.Agent})
	return err
}

func content(text string) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{"text": structpb.NewStringValue(text)}}
}

func (f *life) send(ctx context.Context) error {
	for n := range 30 {
		request := &openintentv1.SendMessageRequest{
			ChannelId: []string{f.talk, f.audited, f.explicit}[n%3], Payload: content(fmt.Sprint("message ", n)),
		}
		switch n % 5 {
		case 0:
			request.MessageType = openintentv1.MessageType_MESSAGE_TYPE_BROADCAST.Enum()
		case 1:
			request.To = &f.friend.Agent
		case 2:
			request.To = proto.String("role:" + helpers)
		case 3:
			request.IdempotencyKey = proto.String(fmt.Sprint("key ", n))
		}
		message, err := f.leader.Messages.SendMessage(ctx, request)
		if err != nil {
			return err
		}
		if n%5 == 1 && n%3 == 1 {
			_, err := f.friend.Messages.UpdateMessage(ctx, &openintentv1.UpdateMessageRequest{
				ChannelId: request.GetChannelId(), MessageId: message.GetId(), Status: openintentv1.MessageStatus_MESSAGE_STATUS_READ,
			})
			if err != nil {
				return err
			}
		}
	}
	_, err := f.leader.Messages.SendMessageByName(ctx, &openintentv1.SendMessageByNameRequest{
		IntentId: f.intent.GetId(), Name: "by name", Payload: content("by name"),
	})
	if err != nil {
		return err
	}
	_, err = f.leader.Events.AppendEvent(ctx, &openintentv1.AppendEventRequest{
		IntentId: f.intent.GetId(), EventType: "comment", Payload: content("an event"),
	})
	return err
}

func (f *life) sendPipelined(ctx context.Context) error {
	stream, err := f.leader.Messages.SendMessages(ctx)
	if err != nil {
		return err
	}
	const count = 20
	for n := range count {
		err := stream.Send(&openintentv1.SendMessageRequest{ChannelId: f.talk, Payload: content(fmt.Sprint("pipelined ", n))})
		if err != nil {
			return err
		}
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	for range count {
		response, err := stream.Recv()
		if err == nil && response.GetAcknowledgement() == nil {
			err = fmt.Errorf("refused: %v", response.GetRefusal())
		}
		if err != nil {
			return err
		}
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// ask asks three times: with an answer, without one, and of all agents that hold the role.
func (f *life) ask(ctx context.Context) error {
	following, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := f.friend.Messages.Subscribe(following, &openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: f.talk},
	})
	if err != nil {
		return err
	}
	if _, err := stream.Recv(); err != nil {
		return err
	}
	var answering sync.WaitGroup
	defer answering.Wait()
	defer cancel()
	answering.Go(func() {
		for {
			response, err := stream.Recv()
			if err != nil {
				return
			}
			message := response.GetMessage()
			if message.GetMessageType() == openintentv1.MessageType_MESSAGE_TYPE_REQUEST && message.GetSender() == f.leader.Agent &&
				message.GetPayload().GetFields()["text"].GetStringValue() == "answer me" {
				_, _ = f.friend.Messages.ReplyMessage(following, &openintentv1.ReplyMessageRequest{
					ChannelId: f.talk, MessageId: message.GetId(), Payload: content("an answer"),
				})
			}
		}
	})
	for range 5 {
		_, err := f.leader.Messages.Ask(ctx, &openintentv1.AskRequest{ChannelId: f.talk, To: f.friend.Agent, Payload: content("answer me")})
		if err != nil {
			return err
		}
	}
	all, err := f.leader.Messages.AskAll(ctx, &openintentv1.AskAllRequest{
		ChannelId: f.talk, To: "role:" + helpers, Payload: content("answer me"), MinResponses: proto.Int32(1),
	})
	if err == nil && len(all.GetResponses()) == 0 {
		err = errors.New("nobody answered all")
	}
	if err != nil {
		return err
	}
	_, err = f.leader.Messages.Ask(ctx, &openintentv1.AskRequest{
		ChannelId: f.talk, To: f.friend.Agent, Payload: content("nobody answers this"), TimeoutSeconds: proto.Float64(0.02),
	})
	if harness.Reason(err) != "MESSAGE_TIMEOUT" {
		return fmt.Errorf("a question that nobody answers ended with %w", err)
	}
	// This request is left open for the intent's end.
	_, err = f.leader.Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{
		ChannelId: f.explicit, To: &f.friend.Agent, Payload: content("later"),
		MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum(),
	})
	return err
}

// leave makes a visitor come, get a question and depart.
func (f *life) leave(ctx context.Context) error {
	if f.number%8 != 0 {
		return nil
	}
	visitor := fmt.Sprintf("visitor-%d", f.number%agents)
	as := f.h.As(visitor)
	if _, err := as.Agents.UpsertAgent(ctx, &openintentv1.RegisterAgentRequest{AgentId: &visitor}); err != nil {
		return err
	}
	_, err := f.leader.Channels.AddChannelMembers(ctx, &openintentv1.AddChannelMembersRequest{ChannelId: f.explicit, Members: []string{visitor}})
	if err != nil {
		return err
	}
	_, err = f.leader.Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{
		ChannelId: f.explicit, To: &visitor, Payload: content("are you there"),
		MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum(),
	})
	if err != nil {
		return err
	}
	_, err = as.Agents.DeregisterAgent(ctx, &openintentv1.DeregisterAgentRequest{AgentId: visitor})
	return err
}

func (f *life) end(ctx context.Context) error {
	if _, err := f.leader.Channels.DeleteChannel(ctx, &openintentv1.DeleteChannelRequest{ChannelId: f.audited}); err != nil {
		return err
	}
	intent, err := f.leader.Intents.GetIntent(ctx, &openintentv1.GetIntentRequest{IntentId: f.intent.GetId()})
	if err != nil {
		return err
	}
	_, err = f.leader.Intents.SetIntentStatus(ctx, &openintentv1.SetIntentStatusRequest{
		IntentId: f.intent.GetId(), ExpectedVersion: &intent.Version, Status: openintentv1.IntentStatus_INTENT_STATUS_COMPLETED,
	})
	return err
}
