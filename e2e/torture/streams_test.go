package torture

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
)

// This file contains the receivers over gRPC streams and by polling.

func (w *world) followChannel(ctx context.Context, agent string, at place) {
	f := w.newFollowing(agent, "gRPC stream of a channel", at.name+" in "+w.label(at.intent), Once)
	f.receiver.Intent, f.receiver.Channel = at.intent, at.id
	f.receiver.Annotations = w.annotated(agent)
	f.startStream(ctx, w, &openintentv1.SubscribeRequest{Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: at.id}})
}

func (w *world) followIntent(ctx context.Context, agent, intent string) {
	f := w.newFollowing(agent, "gRPC stream of an intent", w.label(intent), Once)
	f.receiver.Intent, f.receiver.Events, f.receiver.Annotations = intent, true, w.annotated(agent)
	f.startStream(ctx, w, &openintentv1.SubscribeRequest{Scope: &openintentv1.SubscribeRequest_IntentId{IntentId: intent}})
}

func (w *world) followAgent(ctx context.Context, agent string) {
	f := w.newFollowing(agent, "gRPC stream of an agent", "everything", Once)
	f.startStream(ctx, w, &openintentv1.SubscribeRequest{Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: agent}})
}

func (f *following) startStream(ctx context.Context, w *world, request *openintentv1.SubscribeRequest) {
	w.startReceiver(ctx, f, func(f *following, ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		request := proto.CloneOf(request)
		request.AfterPosition = f.cursor
		if f.receiver.Annotations {
			request.Include = []string{includeAnnotations}
		}
		return f.stream(ctx, request)
	})
}

// stream receives the deliveries of one stream.
func (f *following) stream(ctx context.Context, request *openintentv1.SubscribeRequest) error {
	begun := f.now()
	stream, err := f.caller().Messages.Subscribe(ctx, request)
	if err != nil {
		return err
	}
	header, err := stream.Header()
	if err != nil {
		return err
	}
	position, err := strconv.ParseInt(strings.Join(header.Get("openintent-position"), ""), 10, 64)
	if err != nil { // the stream was refused
		_, err := stream.Recv()
		return err
	}
	if request.AfterPosition != nil && position != *f.cursor {
		return errors.New("the stream reports that it begins after " + strconv.FormatInt(position, 10))
	}
	f.cursor = &position
	f.accept()
	connection := f.connect(f.receiver, position, begun)
	caughtUp := 0
	for range f.lifetime() {
		d, err := stream.Recv()
		if err != nil {
			return err
		}
		if d.GetCaughtUp() {
			if caughtUp++; caughtUp > 1 {
				return errors.New("the stream reports more than once that it has caught up")
			}
		}
		f.takeDelivery(ctx, connection, d)
	}
	return nil
}

// takeDelivery handles a delivery of any scope and moves the cursor.
func (f *following) takeDelivery(ctx context.Context, connection *Connection, d *openintentv1.SubscribeResponse) {
	if a := d.GetAnnotation(); a != nil {
		f.takeAnnotation(connection, d.GetPosition(), a)
	}
	delivery := Delivery{Cursor: d.GetPosition(), Backfill: d.GetBackfill()}
	switch {
	case d.GetMessage() != nil:
		delivery.Message = messageOf(d.GetIntentId(), d.GetMessage())
	default:
		delivery.Message = eventOf(d.GetEvent())
	}
	if audit := d.GetAuditEvent(); audit != nil {
		delivery.Logged = loggedMessage(d.GetIntentId(), audit)
	}
	if delivery.Message != nil {
		f.take(ctx, connection, delivery)
	}
	if !d.GetBackfill() {
		f.cursor = proto.Int64(d.GetPosition())
	}
}

// poll reads a channel page by page.
func (w *world) poll(ctx context.Context, agent string, at place) {
	f := w.newFollowing(agent, "polling of a channel", at.name+" in "+w.label(at.intent), Once)
	f.receiver.Intent, f.receiver.Channel = at.intent, at.id
	since := ""
	w.startReceiver(ctx, f, func(f *following, ctx context.Context) error {
		for range f.lifetime() {
			begun := f.now()
			limit := int32(1 + f.random.IntN(50))
			request := &openintentv1.ListMessagesRequest{ChannelId: at.id, Limit: &limit}
			if since != "" {
				request.Since = &since
			}
			attempt, cancel := context.WithTimeout(ctx, attemptTime)
			page, err := f.caller().Messages.ListMessages(attempt, request)
			cancel()
			if err != nil {
				return err
			}
			first := since == ""
			if page.NextSince != nil {
				since = page.GetNextSince()
			}
			if since == "" { // nothing was ever sent
				since = oldest
			}
			f.accept()
			if !first { // messages that were there before are not followed
				f.takePage(ctx, begun, at, page.GetMessages())
			}
			if len(page.GetMessages()) == 0 {
				f.rest(ctx, 20*time.Millisecond, 200*time.Millisecond)
			}
		}
		return nil
	})
}

// oldest is a cursor before all messages.
const oldest = "1970-01-01T00:00:00Z"

func (f *following) takePage(ctx context.Context, begun Tick, at place, messages []*openintentv1.Message) {
	if len(messages) == 0 {
		return
	}
	connection := f.connect(f.receiver, 0, begun)
	var deliveries []Delivery
	for _, m := range messages {
		deliveries = append(deliveries, Delivery{Message: messageOf(at.intent, m)})
	}
	f.take(ctx, connection, deliveries...)
}
