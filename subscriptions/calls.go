package subscriptions

import (
	"context"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/pages"
	"openintent/subscriptions/record"
)

const (
	// maxSubscriptions is how many subscriptions an agent may have.
	maxSubscriptions = 1000
	// defaultPage is how many deliveries or dead letters an answer contains unless the caller sets a limit.
	defaultPage = 100
)

// ListSubscriptions lists an agent's subscriptions; for the operator it lists everyone's.
func (s *Service) ListSubscriptions(
	ctx context.Context, req *openintentv1.ListSubscriptionsRequest,
) (*openintentv1.ListSubscriptionsResponse, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	subscriber, err := c.ActAs("subscriber_id", req.GetSubscriberId())
	if err != nil {
		return nil, err
	}
	if err := caller.CheckText("subscriber_id", subscriber); err != nil {
		return nil, err
	}
	var after [2]string
	page, err := pages.Begin("subscriptions", req, pages.MaxEntries, &after[0], &after[1])
	if err != nil {
		return nil, err
	}
	condition, args := "(s.subscriber_id, s.name) > (?, ?)", []any{after[0], after[1]}
	if !c.IsOperator || req.SubscriberId != nil {
		condition, args = "s.subscriber_id = ? AND s.name > ?", []any{subscriber, after[1]}
	}
	if req.IntentId != nil {
		if err := caller.CheckText("intent_id", req.GetIntentId()); err != nil {
			return nil, err
		}
		condition, args = condition+" AND s.intent_id = ?", append(args, req.GetIntentId())
	}
	var found []record.Summary
	var paused map[string]string
	err = s.db.ReadHeavy(ctx, c.Reader(), func(tx *database.Tx) error {
		rows, err := page.Fit(tx, sizeOfRow, subscriptionTable+condition+subscriptionOrder, args...)
		if err != nil || rows == 0 {
			return err
		}
		if found, err = summaries(tx, condition, rows, args...); err != nil {
			return err
		}
		paused, err = s.pausedIn(tx, found...)
		return err
	})
	if err != nil {
		return nil, err
	}
	messages := make([]*openintentv1.Subscription, len(found))
	for i, one := range found {
		messages[i] = summaryToWire(one, one.Active(s.db.Now()))
		s.addMaker(messages[i], one.Subscription, paused)
	}
	response := new(openintentv1.ListSubscriptionsResponse)
	response.Subscriptions, response.NextCursor = pages.Close(page, messages, func(i int) []any {
		return []any{found[i].Subscriber, found[i].Name}
	})
	return response, s.leaveOut(ctx, c.Scope, response, found)
}

// GetSubscription returns one subscription.
func (s *Service) GetSubscription(
	ctx context.Context, req *openintentv1.GetSubscriptionRequest,
) (*openintentv1.Subscription, error) {
	sub, err := s.find(ctx, req.GetSubscriptionId())
	if err != nil {
		return nil, err
	}
	return s.describe(ctx, sub.No)
}

// describe returns a subscription as clients see it now.
func (s *Service) describe(ctx context.Context, no int64) (wire *openintentv1.Subscription, err error) {
	var found []record.Summary
	err = s.db.ReadFor(ctx, caller.ReaderOf(ctx, ""), func(tx *database.Tx) (err error) {
		found, err = summaries(tx, "s.subscription_no = ?", 1, no)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, record.ErrNotFound
	}
	wire = summaryToWire(found[0], found[0].Active(s.db.Now()))
	paused, err := s.paused(ctx, found[0].Subscription)
	if err != nil {
		return nil, err
	}
	s.addMaker(wire, found[0].Subscription, paused)
	return wire, nil
}

// DeleteSubscription ends a subscription. Nobody sees it after the commit. Its rows are removed in pieces, here and by the
// sweep.
func (s *Service) DeleteSubscription(
	ctx context.Context, req *openintentv1.DeleteSubscriptionRequest,
) (*openintentv1.DeleteSubscriptionResponse, error) {
	sub, err := s.find(ctx, req.GetSubscriptionId())
	if err != nil {
		return nil, err
	}
	if err := s.hide(ctx, sub.No); err != nil {
		return nil, err
	}
	if err := s.remove(ctx, sub.No); err != nil {
		s.logger.Warn("could not remove a deleted subscription; the sweep will remove it", "error", err)
	}
	return &openintentv1.DeleteSubscriptionResponse{SubscriptionId: sub.ID, Status: "deleted"}, nil
}

// hide stores that a subscription is deleted: nobody sees it after the commit, and its consumers notice.
func (s *Service) hide(ctx context.Context, no int64) error {
	return s.changes.Change(ctx, no, record.Wanted{}, func(c *record.Change) error {
		c.Tx.AfterCommit(func() { s.messaging.WakeSubscription(no) })
		c.Also(database.Statement{
			SQL:  "UPDATE subscriptions SET deleted_at = ? WHERE subscription_no = ?",
			Args: []any{database.Micros(c.Now), no},
		})
		return nil
	})
}

// AcknowledgeDeliveries finishes deliveries.
func (s *Service) AcknowledgeDeliveries(
	ctx context.Context, req *openintentv1.AcknowledgeDeliveriesRequest,
) (*openintentv1.Subscription, error) {
	if acknowledged, err := s.acknowledgeAhead(ctx, req); acknowledged != nil || err != nil {
		return acknowledged, err
	}
	sub, err := s.find(ctx, req.GetSubscriptionId())
	if err != nil {
		return nil, err
	}
	if len(req.GetNumbers()) == 0 && req.Through == nil {
		return nil, fault.BadField("numbers",
			"give the numbers of deliveries, or give `through` to acknowledge all deliveries up to that number.")
	}
	if err := s.acknowledge(ctx, sub, req.GetNumbers(), req.GetThrough()); err != nil {
		return nil, err
	}
	return s.describe(ctx, sub.No)
}

// ListDeadLetters lists the deliveries that were given up.
func (s *Service) ListDeadLetters(
	ctx context.Context, req *openintentv1.ListDeadLettersRequest,
) (*openintentv1.ListDeadLettersResponse, error) {
	sub, err := s.find(ctx, req.GetSubscriptionId())
	if err != nil {
		return nil, err
	}
	after := req.GetAfterNumber()
	page, err := pages.Begin("dead_letters", req, defaultPage, &after)
	if err != nil {
		return nil, err
	}
	letters, err := s.supplier.DeadLetters(ctx, sub, after, page.Limit()+1)
	if err != nil {
		return nil, err
	}
	response := &openintentv1.ListDeadLettersResponse{}
	response.DeadLetters, response.NextCursor = pages.Close(page, letters, func(i int) []any {
		return []any{letters[i].GetDelivery().GetNumber()}
	})
	return response, nil
}

// RedriveDeadLetters makes dead letters due again.
func (s *Service) RedriveDeadLetters(
	ctx context.Context, req *openintentv1.RedriveDeadLettersRequest,
) (*openintentv1.Subscription, error) {
	sub, err := s.find(ctx, req.GetSubscriptionId())
	if err != nil {
		return nil, err
	}
	if !sub.Active(s.db.Now()) {
		return nil, record.ErrEnded
	}
	if err := s.redrive(ctx, sub, req.GetNumbers()); err != nil {
		return nil, err
	}
	return s.describe(ctx, sub.No)
}
