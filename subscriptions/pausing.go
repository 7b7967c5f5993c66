package subscriptions

import (
	"context"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/optional"
)

// A webhook receives without showing a key. So a subscription with a webhook has a maker, and it is paused while the maker's key has ended:
// the poster neither gathers nor posts, and everything waits in the intents' logs. Whether it is paused is decided when somebody looks, and
// before each post. A post that is under way then runs to its end. A caller who updates the subscription is its maker from then on, and it
// counts among what that caller's key holds.

// UpdateSubscription makes the caller the maker of a subscription, and changes its URL.
func (s *Service) UpdateSubscription(
	ctx context.Context, req *openintentv1.UpdateSubscriptionRequest,
) (*openintentv1.Subscription, error) {
	sub, err := s.find(ctx, req.GetSubscriptionId())
	if err != nil {
		return nil, err
	}
	c, _ := caller.From(ctx)
	switch {
	case !sub.posted():
		return nil, errNotPosted
	case !sub.active(s.db.Now()):
		return nil, errEnded
	}
	url, useEndpoint := sub.webhookURL, sub.useEndpoint
	if req.WebhookUrl != nil {
		if err := s.checkURL(req.GetWebhookUrl()); err != nil {
			return nil, err
		}
		url, useEndpoint = req.GetWebhookUrl(), false
	}
	if err := s.takeOver(ctx, sub.no, c, url, useEndpoint); err != nil {
		return nil, err
	}
	return s.describe(ctx, sub.no)
}

// takeOver stores who makes a subscription from now on, and where it posts. It ends the lease of whoever posts now, who goes on as the
// subscription is then.
func (s *Service) takeOver(ctx context.Context, no int64, c caller.Caller, url string, useEndpoint bool) error {
	return s.changes.change(ctx, no, wanted{}, func(change *change) error {
		if !change.locked.active(change.now) {
			return errEnded
		}
		change.tx.AfterCommit(func() { s.messaging.WakeSubscription(no) })
		change.locked.consumer, change.locked.lastError = "", ""
		change.also(database.Statement{
			SQL: "UPDATE subscriptions SET made_by_key = ?, made_by_subject = ?, webhook_url = ?, use_endpoint = ? WHERE subscription_no = ?",
			Args: []any{
				database.NullText(c.KeyID), database.NullText(c.Subject), database.NullText(url), useEndpoint, no,
			},
		})
		return nil
	})
}

// maker returns the key, or what stands for one, with which a subscription lasts; nothing if it does not post.
func (s *subscription) maker() string {
	if !s.posted() {
		return ""
	}
	return s.madeByKey
}

// paused returns, by its maker, why a subscription is paused; nothing while it is not.
func (s *Service) paused(ctx context.Context, sub *subscription) (paused map[string]string, err error) {
	if sub.maker() == "" || s.pausedOf == nil {
		return nil, nil
	}
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		paused, err = s.pausedOf(tx, sub.maker())
		return err
	})
	return paused, err
}

// pausedIn does so for several subscriptions.
func (s *Service) pausedIn(tx *database.Tx, found ...summary) (map[string]string, error) {
	var makers []string
	for _, one := range found {
		if maker := one.maker(); maker != "" {
			makers = append(makers, maker)
		}
	}
	if len(makers) == 0 || s.pausedOf == nil {
		return nil, nil
	}
	return s.pausedOf(tx, makers...)
}

// addMaker adds to a subscription's form for clients who made it, and why it is paused.
func (s *Service) addMaker(wire *openintentv1.Subscription, sub *subscription, paused map[string]string) {
	maker := sub.maker()
	if maker == "" {
		return
	}
	if s.shown != nil {
		wire.MadeBy = optional.Text(s.shown(maker, sub.madeBySubject))
	}
	wire.PausedReason = optional.Text(paused[maker])
}

// PostedBy returns the ids of subscriptions that a maker made and that post, up to a limit and in their order.
func PostedBy(tx *database.Tx, maker string, limit int) (ids []string, err error) {
	err = tx.Pipeline(database.ReadValues(&ids, "SELECT id FROM subscriptions WHERE made_by_key = ? AND "+posted+
		" AND (expires_at IS NULL OR expires_at > ?) ORDER BY id LIMIT ?", maker, database.Micros(tx.Now()), limit))
	return ids, err
}
