package c2a

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
)

// mostAttempts is after how many attempts a delivery is given up and becomes a dead letter; it is the most that the contract takes.
const mostAttempts = 100

// followedTypes are what the subscription delivers.
var followedTypes = []string{"channel_message", "message_reaction", "message_edited", "message_deleted", "obligation_discharged"}

// subscribe returns the agent's subscription, and makes it the first time. If the harness asked before for other windows, there is another
// one beside it, which former returns.
func (c *connection) subscribe(ctx context.Context, w window) (own *openintentv1.Subscription, former []*openintentv1.Subscription, _ error) {
	place := placeOf(c.caller)
	name, seconds, attempts := w.name(place), int32(c.door.times.acknowledge/time.Second), int32(mostAttempts)
	request := &openintentv1.CreateSubscriptionRequest{
		Name: &name, EventTypes: followedTypes, Include: []string{"attention", "annotations"}, AcknowledgeSeconds: &seconds, MaxAttempts: &attempts,
	}
	w.wait(request)
	own, taken := c.caller.Subscriptions.CreateSubscription(ctx, request)
	if taken != nil && doors.RefusalOf(taken).Reason != "SUBSCRIPTION_NAME_TAKEN" {
		return nil, nil, taken
	}
	list := &openintentv1.ListSubscriptionsRequest{}
	for {
		page, err := c.caller.Subscriptions.ListSubscriptions(ctx, list)
		if err != nil {
			return nil, nil, err
		}
		for _, one := range page.GetSubscriptions() {
			switch {
			case one.GetName() == name:
				own = one
			case isName(one.GetName(), place):
				former = append(former, one)
			}
		}
		if page.GetNextCursor() == "" {
			break
		}
		list.Cursor = new(page.GetNextCursor())
	}
	if own == nil || !slices.Contains(own.GetInclude(), "attention") {
		return nil, nil, taken // it is another key's, with a wider scope, or none that this door has made
	}
	return own, former, nil
}

// drain brings what a former subscription has left from before the agent's present one was made, and deletes it. What its harness does
// not acknowledge in time stays for the next connection.
func (c *connection) drain(ctx context.Context, former *openintentv1.Subscription) error {
	draining, end := context.WithTimeout(ctx, 2*c.door.times.acknowledge)
	defer end()
	stream, err := c.caller.Subscriptions.StreamDeliveries(draining, &openintentv1.StreamDeliveriesRequest{
		SubscriptionId: former.GetId(), MaxOutstanding: new(int32(mostUnanswered)), AnnounceActive: new(true), TakeOver: new(true),
	})
	if err != nil {
		return err
	}
	var came atomic.Bool
	empty := make(chan bool, 1)
	c.working.Go(func() {
		empty <- c.becomesEmpty(draining, former, &came)
		end()
	})
	for {
		made, err := stream.Recv()
		switch {
		case err == nil:
		case ctx.Err() == nil && draining.Err() != nil:
			return c.discard(ctx, former, <-empty)
		default:
			return err
		}
		came.Store(true)
		switch {
		case made.GetNumber() == 0 && made.GetStandingBy():
			return errReplaced
		case made.GetNumber() == 0:
		case made.GetMessage().GetCreatedAt().AsTime().After(c.subscription.GetCreatedAt().AsTime()): // it comes with the present one
			c.pending.over(numbered{former.GetId(), made.GetNumber()})
		default:
			if err := c.hand(ctx, made); err != nil {
				return err
			}
		}
	}
}

const (
	// drainLook is how often a former subscription is looked at, and composedWithin how long what waits for a pause may take to come.
	drainLook      = time.Second
	composedWithin = 31 * time.Second
)

// becomesEmpty waits until nothing comes from a former subscription any more and everything is acknowledged. It reports whether that
// happened before the context ended.
func (c *connection) becomesEmpty(ctx context.Context, former *openintentv1.Subscription, came *atomic.Bool) bool {
	looks := 1
	if former.GetCompose() {
		looks = int(composedWithin / drainLook)
	}
	for quiet := 0; quiet < looks; quiet++ {
		if !sleep(ctx, drainLook) {
			return false
		}
		left, err := c.caller.Subscriptions.GetSubscription(ctx, &openintentv1.GetSubscriptionRequest{SubscriptionId: former.GetId()})
		if err != nil || came.Swap(false) || left.GetOutstandingCount() > 0 || c.pending.stands(former.GetId()) {
			quiet = -1
		}
	}
	return true
}

// discard deletes a former subscription that is empty.
func (c *connection) discard(ctx context.Context, former *openintentv1.Subscription, empty bool) error {
	if !empty {
		c.log.Warn("a former subscription has deliveries that the harness did not acknowledge; they come again", "subscription", former.GetName())
		return nil
	}
	_, err := c.caller.Subscriptions.DeleteSubscription(ctx, &openintentv1.DeleteSubscriptionRequest{SubscriptionId: former.GetId()})
	return err
}
