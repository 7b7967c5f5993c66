package c2a

import (
	"context"
	"slices"
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
	name, seconds, attempts := w.name(), int32(c.door.times.acknowledge/time.Second), int32(mostAttempts)
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
			case isName(one.GetName()):
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
	if err := c.relieve(ctx, former); err != nil {
		return err
	}
	for begun, wait := time.Now(), 0*time.Second; time.Since(begun) < 2*c.door.times.acknowledge; {
		page, err := c.caller.Subscriptions.FetchDeliveries(ctx, &openintentv1.FetchDeliveriesRequest{
			SubscriptionId: former.GetId(), Limit: new(int32(mostUnanswered)), WaitSeconds: new(wait.Seconds()),
		})
		if doors.RefusalOf(err).Reason == "SUBSCRIPTION_IN_USE" && sleep(ctx, firstPause) {
			continue // the stream that was ended is not gone yet
		}
		if err != nil {
			return err
		}
		for _, made := range page.GetDeliveries() {
			if made.GetMessage().GetCreatedAt().AsTime().After(c.subscription.GetCreatedAt().AsTime()) {
				c.pending.over(numbered{former.GetId(), made.GetNumber()})
			} else if err := c.hand(ctx, made); err != nil {
				return err
			}
		}
		if wait = 0; len(page.GetDeliveries()) > 0 {
			continue
		}
		left, err := c.caller.Subscriptions.GetSubscription(ctx, &openintentv1.GetSubscriptionRequest{SubscriptionId: former.GetId()})
		if err != nil {
			return err
		}
		if left.GetOutstandingCount() == 0 {
			_, err := c.caller.Subscriptions.DeleteSubscription(ctx, &openintentv1.DeleteSubscriptionRequest{SubscriptionId: former.GetId()})
			return err
		}
		wait = drainPause
	}
	return nil
}

// drainPause is how long one look waits for what becomes due again.
const drainPause = time.Second

// relieve ends the stream of another connection that has the deliveries of a subscription.
func (c *connection) relieve(ctx context.Context, former *openintentv1.Subscription) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.caller.Subscriptions.StreamDeliveries(ctx, &openintentv1.StreamDeliveriesRequest{
		SubscriptionId: former.GetId(), MaxOutstanding: new(int32(1)), AnnounceActive: new(true), TakeOver: new(true),
	})
	if err == nil {
		_, err = stream.Recv()
	}
	return err
}
