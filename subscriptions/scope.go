package subscriptions

import (
	"context"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/subscriptions/delivering"
	"openintent/subscriptions/record"
)

// covered reports whether all that a subscription shows lies in a scope. Nobody with a narrower scope may see the subscription,
// receive its deliveries or end it.
func (s *Service) covered(ctx context.Context, scope *caller.Scope, sub *record.Subscription) (covered bool, err error) {
	if scope == nil {
		return true, nil
	}
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		covered, err = coveredIn(tx, scope, sub)
		return err
	})
	return covered, err
}

func coveredIn(tx *database.Tx, scope *caller.Scope, sub *record.Subscription) (bool, error) {
	switch {
	case scope == nil:
		return true, nil
	case sub.Wide():
		return scope.Covers(sub.Scope), nil
	case sub.ChannelNo == 0:
		return scope.CoversIntent(sub.IntentID), nil
	}
	ids, err := delivering.IntentIDs(tx, []int64{sub.IntentNo})
	return scope.CoversChannel(ids[sub.IntentNo], sub.ChannelID), err
}

// leaveOut removes from a page those of the found subscriptions that a scope does not cover. The page's cursor goes on after
// them.
func (s *Service) leaveOut(
	ctx context.Context, scope *caller.Scope, page *openintentv1.ListSubscriptionsResponse, found []record.Summary,
) error {
	if scope == nil {
		return nil
	}
	listed := page.GetSubscriptions()
	return s.db.ReadFor(ctx, caller.ReaderOf(ctx, ""), func(tx *database.Tx) error {
		page.Subscriptions = nil
		for i, one := range listed {
			covered, err := coveredIn(tx, scope, found[i].Subscription)
			if err != nil {
				return err
			}
			if covered {
				page.Subscriptions = append(page.Subscriptions, one)
			}
		}
		return nil
	})
}
