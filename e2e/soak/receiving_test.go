package soak

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
)

// talkOnStreams sends messages of all kinds while streams of all kinds follow, each until it has received the last
// message.
func (f *life) talkOnStreams(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	const last = "the last"
	var ends []func() error
	for _, request := range []*openintentv1.SubscribeRequest{
		{Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: f.talk}},
		{Scope: &openintentv1.SubscribeRequest_IntentId{IntentId: f.intent.GetId()}},
		{Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: f.friend.Agent}},
	} {
		end, err := f.follow(ctx, request, last)
		if err != nil {
			return err
		}
		ends = append(ends, end)
	}
	end, err := f.followEvents(ctx, last)
	if err != nil {
		return err
	}
	ends = append(ends, end)
	if err := f.send(ctx); err != nil {
		return err
	}
	if err := f.sendPipelined(ctx); err != nil {
		return err
	}
	_, err = f.leader.Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{
		ChannelId: f.talk, To: &f.friend.Agent, Payload: content(last + f.talk),
	})
	for _, end := range ends {
		err = errors.Join(err, end())
	}
	return err
}

// follow opens a stream; the function that it returns waits until a message with this text has arrived on it.
func (f *life) follow(ctx context.Context, request *openintentv1.SubscribeRequest, last string) (func() error, error) {
	stream, err := f.friend.Messages.Subscribe(ctx, request)
	if err != nil {
		return nil, err
	}
	response, err := stream.Recv()
	if err == nil && !response.GetCaughtUp() {
		err = errors.New("a stream from now on did not begin with caught_up")
	}
	return func() error {
		for {
			response, err := stream.Recv()
			if err != nil {
				return fmt.Errorf("%v: %w", request, err)
			}
			if response.GetMessage().GetPayload().GetFields()["text"].GetStringValue() == last+f.talk {
				return nil
			}
		}
	}, err
}

// followEvents does what follow does, for the channel's server-sent events.
func (f *life) followEvents(ctx context.Context, last string) (func() error, error) {
	request, err := f.friend.Request(ctx, http.MethodGet, "/v1/subscribe/channels/"+f.talk, "")
	if err != nil {
		return nil, err
	}
	response, err := f.h.HTTP.Do(request) //nolint:bodyclose // the returned function closes it
	if err != nil {
		return nil, err
	}
	lines := bufio.NewReader(response.Body)
	_, err = lines.ReadString('\n')
	return func() error {
		defer response.Body.Close()
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return err
			}
			if strings.Contains(line, last+f.talk) {
				return nil
			}
		}
	}, err
}

// read reads in all the ways that are not streams.
func (f *life) read(ctx context.Context) error {
	for _, channel := range []string{f.talk, f.audited, f.explicit} {
		page, err := f.friend.Messages.ListMessages(ctx, &openintentv1.ListMessagesRequest{ChannelId: channel, Limit: proto.Int32(5)})
		if err != nil {
			return err
		}
		first := page.GetMessages()[0].GetId()
		_, err = f.friend.Messages.ListMessages(ctx, &openintentv1.ListMessagesRequest{ChannelId: channel, Since: &first})
		if err != nil {
			return err
		}
		if page.GetMessages()[0].GetSender() != f.leader.Agent {
			continue
		}
		_, err = f.leader.Messages.ListMessageDeliveries(ctx, &openintentv1.ListMessageDeliveriesRequest{ChannelId: channel, MessageId: first})
		if err != nil {
			return err
		}
	}
	inbox, err := f.friend.Messages.GetInbox(ctx, &openintentv1.GetInboxRequest{AgentId: f.friend.Agent, Limit: proto.Int32(50)})
	if err != nil {
		return err
	}
	var ids []string
	for _, item := range inbox.GetItems() {
		if item.GetIntentId() == f.intent.GetId() {
			ids = append(ids, item.GetMessage().GetId())
		}
	}
	if len(ids) > 0 {
		_, err := f.friend.Messages.MarkInboxRead(ctx, &openintentv1.MarkInboxReadRequest{AgentId: f.friend.Agent, MessageIds: ids})
		if err != nil {
			return err
		}
	}
	if _, err := f.leader.Events.ListEvents(ctx, &openintentv1.ListEventsRequest{IntentId: f.intent.GetId()}); err != nil {
		return err
	}
	verified, err := f.leader.Events.VerifyEvents(ctx, &openintentv1.VerifyEventsRequest{IntentId: f.intent.GetId()})
	if err == nil && !verified.GetValid() {
		err = errors.New("the intent's log does not verify")
	}
	return err
}

// subscribe receives from durable subscriptions, by fetching and on a stream, acknowledges in a call (also what a stream has
// acknowledged), and deletes them.
func (f *life) subscribe(ctx context.Context) error {
	for _, streamed := range []bool{false, true} {
		sub, err := f.friend.Subscriptions.CreateSubscription(ctx, &openintentv1.CreateSubscriptionRequest{IntentId: &f.intent.Id})
		if err != nil {
			return err
		}
		_, err = f.leader.Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{ChannelId: f.talk, Payload: content("for the subscription")})
		if err != nil {
			return err
		}
		receive := f.fetch
		if streamed {
			receive = f.streamDeliveries
		}
		number, err := receive(ctx, sub.GetId())
		if err != nil {
			return err
		}
		_, err = f.friend.Subscriptions.AcknowledgeDeliveries(ctx, &openintentv1.AcknowledgeDeliveriesRequest{
			SubscriptionId: sub.GetId(), Through: &number,
		})
		if err != nil {
			return err
		}
		_, err = f.friend.Subscriptions.DeleteSubscription(ctx, &openintentv1.DeleteSubscriptionRequest{SubscriptionId: sub.GetId()})
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *life) fetch(ctx context.Context, id string) (int64, error) {
	page, err := f.friend.Subscriptions.FetchDeliveries(ctx, &openintentv1.FetchDeliveriesRequest{
		SubscriptionId: id, WaitSeconds: proto.Float64(30),
	})
	if err != nil || len(page.GetDeliveries()) == 0 {
		return 0, errors.Join(errors.New("nothing was fetched"), err)
	}
	return page.GetDeliveries()[0].GetNumber(), nil
}

// streamDeliveries receives a delivery on a stream, and acknowledges it on another before both end.
func (f *life) streamDeliveries(ctx context.Context, id string) (int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := f.friend.Subscriptions.StreamDeliveries(ctx, &openintentv1.StreamDeliveriesRequest{SubscriptionId: id})
	if err != nil {
		return 0, err
	}
	delivery, err := stream.Recv()
	if err != nil {
		return 0, err
	}
	acknowledging, err := f.friend.Experimental.StreamAcknowledgements(ctx)
	if err != nil {
		return 0, err
	}
	err = acknowledging.Send(&openintentv1.StreamAcknowledgementsRequest{SubscriptionId: id, Numbers: []int64{delivery.GetNumber()}})
	if err != nil {
		return 0, err
	}
	done, err := acknowledging.CloseAndRecv()
	if err == nil && done.GetAcknowledged() != 1 {
		err = fmt.Errorf("a stream acknowledged %d deliveries, not 1", done.GetAcknowledged())
	}
	return delivery.GetNumber(), err
}

// bePostedTo has a message posted, in some of the lives, and waits until it is acknowledged.
func (f *life) bePostedTo(ctx context.Context) error {
	if f.number%4 != 0 {
		return nil
	}
	sub, err := f.friend.Subscriptions.CreateSubscription(ctx, &openintentv1.CreateSubscriptionRequest{
		ChannelId: &f.talk, WebhookUrl: &f.posts.URL,
	})
	if err != nil {
		return err
	}
	_, err = f.leader.Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{ChannelId: f.talk, Payload: content("to be posted")})
	if err != nil {
		return err
	}
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for posted := int64(0); posted == 0; <-again.C {
		found, err := f.friend.Subscriptions.GetSubscription(ctx, &openintentv1.GetSubscriptionRequest{SubscriptionId: sub.GetId()})
		if err != nil {
			return err
		}
		posted = found.GetAcknowledgedThrough()
	}
	_, err = f.friend.Subscriptions.DeleteSubscription(ctx, &openintentv1.DeleteSubscriptionRequest{SubscriptionId: sub.GetId()})
	return err
}
