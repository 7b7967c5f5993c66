package c2a

import (
	"context"
	"errors"
	"io"
	"slices"

	"google.golang.org/grpc/codes"

	"openintent/doors"
	"openintent/doors/c2a/chat"
	openintentv1 "openintent/gen/openintent/v1"
)

// mostUnanswered is how many deliveries a harness may leave unanswered before no further one is made.
const mostUnanswered = 64

// deliverAll delivers until the connection ends, and returns why it must end.
func (c *connection) deliverAll(ctx context.Context) error {
	prepared := false
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		var err error
		if !prepared {
			err = c.deliverFormer(ctx)
			prepared = err == nil
		}
		if prepared {
			var delivered bool
			if delivered, err = c.follow(ctx); delivered {
				pause = firstPause
			}
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

// deliverFormer delivers what comes before the subscription's own deliveries: what is left of others that the agent had, and the requests
// that were open before the first delivery.
func (c *connection) deliverFormer(ctx context.Context) error {
	for len(c.former) > 0 {
		if err := c.drain(ctx, c.former[0]); err != nil {
			return err
		}
		c.former = c.former[1:]
	}
	if c.subscription.GetLastNumber() > 0 {
		return nil
	}
	return c.deliverBacklog(ctx)
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

// hand makes one delivery. What has nothing for the harness in it is acknowledged by the door itself. The answer to the last of several
// events in a delivery acknowledges it.
func (c *connection) hand(ctx context.Context, made *openintentv1.SubscriptionDelivery) error {
	events, err := c.eventsIn(ctx, made)
	if err != nil {
		return err
	}
	events = slices.DeleteFunc(events, func(d *delivery) bool { return d == nil || d.mode == modeSilent })
	number := numbered{made.GetSubscriptionId(), made.GetNumber()}
	if len(events) == 0 {
		c.pending.over(number)
	}
	for i, d := range events {
		d.attempt = made.GetAttempt()
		id := requestID(d.event.EventID)
		if i == len(events)-1 {
			c.pending.await(id, number)
		}
		if err := c.deliver(ctx, id, *d); err != nil {
			return err
		}
	}
	return nil
}

// deliver sends one chat/deliver.
func (c *connection) deliver(ctx context.Context, id string, d delivery) error {
	return c.send(ctx, outgoing{Version: version, ID: id, Method: methodDeliver, Params: d.params(*c.terms, c.caller.Agent)})
}

// eventsIn returns the events in a delivery, some of which may be nil: one, or a digest with what has become more than ambient since.
func (c *connection) eventsIn(ctx context.Context, made *openintentv1.SubscriptionDelivery) ([]*delivery, error) {
	if made.GetAnnotation() != nil {
		event, err := c.eventOfAnnotation(ctx, made)
		return []*delivery{event}, err
	}
	event, err := c.eventOfMessage(ctx, made)
	if err != nil || made.GetDigest() == nil {
		return []*delivery{event}, err
	}
	return []*delivery{c.terms.digestOf(made), event}, nil
}

// eventOfMessage returns the event of a message, and nil where there is none for the harness.
func (c *connection) eventOfMessage(ctx context.Context, made *openintentv1.SubscriptionDelivery) (*delivery, error) {
	m := made.GetMessage()
	switch {
	case m == nil, m.GetSender() == c.caller.Agent:
		return nil, nil
	case m.DeletedAt != nil:
		return nil, c.cancel(ctx, m.GetId(), "Message was deleted")
	case made.GetAttention() == nil:
		return nil, nil
	}
	former := c.handedOut.revision(m.GetId())
	c.expected.handed(m, made.GetAttention().DeadlineMs) //nolint:protogetter // unset is another thing than 0
	d := c.terms.deliveryOf(c.caller.Agent, chat.Entry{
		Message: m, Attention: made.GetAttention(), IntentID: made.GetIntentId(), Position: made.GetPosition(),
	}, made.GetChannelName(), made.GetAttempt())
	d.merge(made)
	if former > 0 && former < revisionOf(m) {
		// The harness has the message already, with the content that an edit has replaced since.
		d.event.EventID = chat.EditID(m.GetId(), revisionOf(m))
		if err := c.cancelReplaced(ctx, m, d.event.EventID, made.GetAttention().GetReason()); err != nil {
			return nil, err
		}
	}
	c.handedOut.note(m, d.event.EventID)
	return &d, nil
}

// cancel tells the harness to stop what the events of a message began.
func (c *connection) cancel(ctx context.Context, message, reason string) error {
	return c.cancelEvents(ctx, c.handedOut.end(message, ""), reason)
}

func (c *connection) cancelEvents(ctx context.Context, events []string, reason string) error {
	for _, event := range events {
		err := c.notify(ctx, noteCancelled, map[string]string{"requestId": requestID(event), "eventId": event, "reason": reason})
		if err != nil {
			return err
		}
	}
	return nil
}
