package c2a

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc/codes"

	"openintent/doors"
	"openintent/doors/c2a/chat"
	openintentv1 "openintent/gen/openintent/v1"
)

// mostUnanswered is how many deliveries a harness may leave unanswered before no further one is made.
const mostUnanswered = 64

// deliverAll delivers until the connection ends, and returns why it must end.
func (c *connection) deliverAll(ctx context.Context) error {
	if c.subscription.GetLastNumber() == 0 { // nothing was ever delivered on it
		if err := c.deliverBacklog(ctx); err != nil {
			return c.overBy(ctx, err)
		}
	}
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		delivered, err := c.follow(ctx)
		if delivered {
			pause = firstPause
		}
		refusal := doors.RefusalOf(err)
		var over *ended
		switch {
		case ctx.Err() != nil, errors.As(err, &over):
			return c.overBy(ctx, err)
		case errors.Is(err, io.EOF), refusal.Code == codes.Unavailable, refusal.Code == codes.Internal, refusal.Reason == "CURSOR_BEYOND_LOG":
			c.log.Debug("the stream of deliveries was lost; it is opened again", "reason", refusal.Reason)
		default:
			return refusedBy(err)
		}
		if !sleep(ctx, max(pause, refusal.RetryAfter)) {
			return context.Cause(ctx)
		}
	}
}

// overBy returns why a connection must end because of an error.
func (c *connection) overBy(ctx context.Context, err error) error {
	var known *ended
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &known):
		return known
	}
	return refusedBy(err)
}

// follow makes the deliveries of the agent's subscription, one after the other, until its stream ends. It takes the stream over from
// any other connection of the agent.
func (c *connection) follow(ctx context.Context) (delivered bool, _ error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.caller.Subscriptions.StreamDeliveries(ctx, &openintentv1.StreamDeliveriesRequest{
		SubscriptionId: c.subscription.GetId(), MaxOutstanding: new(int32(mostUnanswered)), AnnounceActive: new(true), TakeOver: new(true),
	})
	if err != nil {
		return false, err
	}
	for {
		made, err := stream.Recv()
		if err != nil {
			return delivered, err
		}
		if made.GetNumber() == 0 {
			if made.GetStandingBy() {
				return delivered, errReplaced
			}
			delivered = true
			continue
		}
		if err := c.hand(ctx, made); err != nil {
			return delivered, err
		}
	}
}

// hand makes one delivery. What has nothing for the harness in it is acknowledged by the door itself.
func (c *connection) hand(ctx context.Context, made *openintentv1.SubscriptionDelivery) error {
	d, err := c.eventIn(ctx, made)
	if err != nil {
		return err
	}
	if d == nil || d.mode == modeSilent {
		c.pending.over(made.GetNumber())
		return nil
	}
	d.attempt = made.GetAttempt()
	id := requestID(d.event.EventID)
	c.pending.await(id, made.GetNumber())
	return c.deliver(ctx, id, *d)
}

// deliver sends one chat/deliver.
func (c *connection) deliver(ctx context.Context, id string, d delivery) error {
	return c.send(ctx, outgoing{Version: version, ID: id, Method: methodDeliver, Params: d.params(*c.terms, c.caller.Agent)})
}

// eventIn returns the event in a delivery, and nil where there is none for the harness.
func (c *connection) eventIn(ctx context.Context, made *openintentv1.SubscriptionDelivery) (*delivery, error) {
	m := made.GetMessage()
	switch {
	case made.GetAnnotation() != nil:
		return c.eventOfAnnotation(ctx, made)
	case m == nil, m.GetSender() == c.caller.Agent:
		return nil, nil
	case m.DeletedAt != nil:
		return nil, c.cancel(ctx, m.GetId(), "Message was deleted")
	case made.GetAttention() == nil:
		return nil, nil
	}
	c.handedOut.note(m)
	c.expected.handed(m, made.GetAttention().DeadlineMs) //nolint:protogetter // unset is another thing than 0
	d := c.terms.deliveryOf(c.caller.Agent, chat.Entry{
		Message: m, Attention: made.GetAttention(), IntentID: made.GetIntentId(), Position: made.GetPosition(),
	}, made.GetChannelName(), made.GetAttempt())
	return &d, nil
}

// cancel tells the harness to stop what an event began.
func (c *connection) cancel(ctx context.Context, event, reason string) error {
	return c.notify(ctx, noteCancelled, map[string]string{"requestId": requestID(event), "eventId": event, "reason": reason})
}
