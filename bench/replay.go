package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/clients/replay"
	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// The log is replayed for replayedAgent, who has the role replayedRole.
	replayedAgent = "bench-replayed"
	replayedRole  = "bench-builder"
	anotherAgent  = "bench-another"
	// askedAlone is how many messages the comparison asks the server about.
	askedAlone = 10_000
)

// conversations are what the agents of a replayed intent send, in turn.
var conversations = []*openintentv1.SendMessageRequest{
	{},
	{Kind: proto.String("status"), Subject: proto.String("step")},
	{To: proto.String(replayedAgent)},
	{},
	{To: proto.String(anotherAgent)},
	{Kind: proto.String("progress")},
	{To: proto.String("role:" + replayedRole), MessageType: openintentv1.MessageType_MESSAGE_TYPE_NOTIFY.Enum()},
	{Mentions: &structpb.ListValue{Values: []*structpb.Value{structpb.NewStringValue(replayedAgent)}}},
}

// replays measures how long a replay of a large intent takes, for the agent itself and for the operator. For comparison it measures how
// long the operator's would take if it asked the server about each message by itself.
func (p plan) replays(ctx context.Context, engine string) error {
	t, err := p.startServer(ctx, engine, "replay")
	if err != nil {
		return err
	}
	defer t.stop()
	intent, channels, err := t.converse(ctx, p.replayed)
	if err != nil {
		return err
	}
	fmt.Printf("\n%s, replays of an intent with %d messages\n", engine, p.replayed)
	for _, by := range []struct{ who, caller, about string }{{"the agent", replayedAgent, ""}, {"the operator", "", replayedAgent}} {
		began := time.Now()
		result, err := replay.Run(as(ctx, by.caller), t.replaying(), replay.Options{IntentID: intent, Agent: by.about, Rules: replay.Today()})
		if err != nil {
			return err
		}
		took := time.Since(began)
		fmt.Printf("  by %-13s %8.2f s, %6.0f messages/s; %d received\n",
			by.who, took.Seconds(), float64(p.replayed)/took.Seconds(), result.Totals.Messages)
	}
	each, err := t.askAlone(ctx, channels[0])
	if err != nil {
		return err
	}
	fmt.Printf("  asking about each message: %.0f µs a message, so %.2f s more for %d messages\n",
		float64(each)/float64(time.Microsecond), each.Seconds()*float64(p.replayed), p.replayed)
	return nil
}

func (t *target) replaying() replay.Clients {
	return replay.Clients{
		Agents: openintentv1.NewAgentServiceClient(t.conn), Channels: openintentv1.NewChannelServiceClient(t.conn),
		Messages: openintentv1.NewMessageServiceClient(t.conn), Attention: openintentv1.NewAttentionServiceClient(t.conn),
	}
}

// converse fills the channels of a new intent with messages.
func (t *target) converse(ctx context.Context, count int) (intentID string, channels []string, err error) {
	_, err = openintentv1.NewAgentServiceClient(t.conn).RegisterAgent(as(ctx, replayedAgent),
		&openintentv1.RegisterAgentRequest{AgentId: proto.String(replayedAgent), RoleId: proto.String(replayedRole)})
	if err != nil {
		return "", nil, err
	}
	intent, err := openintentv1.NewIntentServiceClient(t.conn).CreateIntent(as(ctx, asker), &openintentv1.CreateIntentRequest{Title: "bench"})
	if err != nil {
		return "", nil, err
	}
	for i := range 4 {
		channel, err := openintentv1.NewChannelServiceClient(t.conn).CreateChannel(as(ctx, asker), &openintentv1.CreateChannelRequest{
			IntentId: intent.GetId(), Name: fmt.Sprintf("bench-%d", i),
			Options: &openintentv1.ChannelOptions{MaxMessages: proto.Int64(keepAll)},
		})
		if err != nil {
			return "", nil, err
		}
		channels = append(channels, channel.GetId())
	}
	// An agent takes any number of messages from a sender to whom it has written.
	for _, agent := range []string{replayedAgent, anotherAgent} {
		_, err := openintentv1.NewMessageServiceClient(t.conn).SendMessage(as(ctx, agent),
			&openintentv1.SendMessageRequest{ChannelId: channels[0], To: proto.String(asker), Payload: payload()})
		if err != nil {
			return "", nil, err
		}
	}
	return intent.GetId(), channels, t.sendInTurn(ctx, channels, count)
}

// sendInTurn sends to one channel after the other, on one stream.
func (t *target) sendInTurn(ctx context.Context, channels []string, count int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := openintentv1.NewMessageServiceClient(t.conn).SendMessages(as(ctx, asker))
	if err != nil {
		return err
	}
	under := make(chan struct{}, pipelineWindow)
	go func() {
		for n := range count {
			under <- struct{}{}
			message := proto.CloneOf(conversations[n%len(conversations)])
			message.ChannelId, message.Payload = channels[n/len(conversations)%len(channels)], payload()
			if stream.Send(message) != nil {
				return // the receiving side reports why
			}
		}
		_ = stream.CloseSend()
	}()
	for {
		response, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case response.GetRefusal() != nil:
			return fmt.Errorf("a message was refused: %v", response.GetRefusal())
		}
		<-under
	}
}

// askAlone asks about the newest messages of a channel one after the other, and returns how long one takes.
func (t *target) askAlone(ctx context.Context, channel string) (each time.Duration, err error) {
	messages, attention := openintentv1.NewMessageServiceClient(t.conn), openintentv1.NewAttentionServiceClient(t.conn)
	limit, agent, asked := int32(1000), replayedAgent, 0
	page, err := messages.ListMessages(as(ctx, ""), &openintentv1.ListMessagesRequest{ChannelId: channel, Limit: &limit})
	if err != nil {
		return 0, err
	}
	began := time.Now()
	for asked < askedAlone {
		for _, m := range page.GetMessages() {
			_, err := attention.GetAttention(as(ctx, ""), &openintentv1.GetAttentionRequest{
				ChannelId: channel, MessageId: m.GetId(), AgentId: &agent,
			})
			if err != nil && status.Code(err) != codes.NotFound {
				return 0, err
			}
			asked++
		}
	}
	return time.Since(began) / time.Duration(asked), nil
}
