package subscriptions

import (
	"context"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
)

// covered reports whether all that a subscription shows lies in a scope. Nobody with a narrower scope may see the subscription,
// receive its deliveries or end it.
func (s *Service) covered(ctx context.Context, scope *caller.Scope, sub *subscription) (covered bool, err error) {
	if scope == nil {
		return true, nil
	}
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		covered, err = coveredIn(tx, scope, sub)
		return err
	})
	return covered, err
}

func coveredIn(tx *database.Tx, scope *caller.Scope, sub *subscription) (bool, error) {
	switch {
	case scope == nil:
		return true, nil
	case sub.wide():
		return scope.Covers(sub.scope), nil
	case sub.channelNo == 0:
		return scope.CoversIntent(sub.intentID), nil
	}
	ids, err := intentIDs(tx, []int64{sub.intentNo})
	return scope.CoversChannel(ids[sub.intentNo], sub.channelID), err
}

// leaveOut removes from a page those of the found subscriptions that a scope does not cover. The page's cursor goes on after
// them.
func (s *Service) leaveOut(
	ctx context.Context, scope *caller.Scope, page *openintentv1.ListSubscriptionsResponse, found []summary,
) error {
	if scope == nil {
		return nil
	}
	listed := page.GetSubscriptions()
	return s.db.ReadFor(ctx, caller.ReaderOf(ctx, ""), func(tx *database.Tx) error {
		page.Subscriptions = nil
		for i, one := range listed {
			covered, err := coveredIn(tx, scope, found[i].subscription)
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

// within returns the subscription as a caller with a scope may see it. The subscription's own scope lies in the caller's, except
// for an agent's own log, which all callers share.
func (s *subscription) within(scope *caller.Scope) *subscription {
	if scope == nil {
		return s
	}
	narrowed := *s
	narrowed.scope = scope
	return &narrowed
}
