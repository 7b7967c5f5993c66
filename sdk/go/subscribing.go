package openintent

import (
	"context"
	"errors"
	"slices"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// subscriptionName is the name of the agent's durable subscription, the same in the SDKs of all languages.
	subscriptionName = "sdk"
	// acknowledgeSeconds and maxAttempts allow for slow handlers. After a crash, a new stream begins with everything
	// unacknowledged, so nobody has to wait for that time.
	acknowledgeSeconds = 3600
	maxAttempts        = 20
	// includeAttention and includeAnnotations name what streams and subscriptions can deliver beside messages.
	includeAttention   = "attention"
	includeAnnotations = "annotations"
)

// subscribe finds the agent's subscription or creates it. It replaces a subscription that ended with an earlier life
// of the agent, one without the attention that the agent uses and, when the agent starts, one that lets messages wait in another way. The
// requests that the former one had are in the inbox. A running agent whose subscription another process replaced takes the new one as it is:
// the process that started last decides.
func (r *receiver) subscribe(ctx context.Context) (*openintentv1.Subscription, error) {
	made, err := r.createSubscription(ctx)
	if !errors.Is(FromError(err), ErrAlreadyExists) {
		return made, err
	}
	listed, err := EveryPage(ctx, func(ctx context.Context, cursor *string) ([]*openintentv1.Subscription, *string, error) {
		page, err := r.client.raw.Subscriptions.ListSubscriptions(ctx, &openintentv1.ListSubscriptionsRequest{
			SubscriberId: &r.agent.options.ID, Cursor: cursor,
		})
		if err != nil {
			return nil, nil, err
		}
		return page.GetSubscriptions(), page.NextCursor, nil
	})
	if err != nil {
		return nil, err
	}
	for _, subscription := range listed {
		switch {
		case subscription.GetName() != subscriptionName:
		case subscription.GetActive() && r.accepts(subscription):
			return subscription, nil
		default:
			_, err := r.client.raw.Subscriptions.DeleteSubscription(ctx, &openintentv1.DeleteSubscriptionRequest{
				SubscriptionId: subscription.GetId(),
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return r.createSubscription(ctx)
}

// accepts reports whether the agent receives over a subscription that is there.
func (r *receiver) accepts(subscription *openintentv1.Subscription) bool {
	if r.began || r.agent.options.waitAs(subscription) {
		return includesAll(subscription.GetInclude(), r.included())
	}
	r.log.replaces()
	return false
}

func (r *receiver) createSubscription(ctx context.Context) (*openintentv1.Subscription, error) {
	name, seconds, attempts := subscriptionName, int32(acknowledgeSeconds), int32(maxAttempts)
	request := &openintentv1.CreateSubscriptionRequest{
		Name: &name, SubscriberId: &r.agent.options.ID, EventTypes: []string{"channel_message"},
		AcknowledgeSeconds: &seconds, MaxAttempts: &attempts, Include: r.included(),
	}
	r.agent.options.letWait(request)
	return r.client.raw.Subscriptions.CreateSubscription(ctx, request)
}

// included returns what the agent's messages come with.
func (r *receiver) included() []string {
	if r.agent.usesAttention() {
		return []string{includeAttention}
	}
	return nil
}

func includesAll(has, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(word string) bool { return !slices.Contains(has, word) })
}
