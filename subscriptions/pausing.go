package subscriptions

import (
	"context"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/optional"
	"openintent/subscriptions/record"
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
	case !sub.Posted():
		return nil, errNotPosted
	case !sub.Active(s.db.Now()):
		return nil, record.ErrEnded
	}
	url, useEndpoint := sub.WebhookURL, sub.UseEndpoint
	if req.WebhookUrl != nil {
		if err := s.checkURL(req.GetWebhookUrl()); err != nil {
			return nil, err
		}
		url, useEndpoint = req.GetWebhookUrl(), false
	}
	if err := s.takeOver(ctx, sub.No, c, url, useEndpoint); err != nil {
		return nil, err
	}
	return s.describe(ctx, sub.No)
}

// takeOver stores who makes a subscription from now on, and where it posts. It ends the lease of whoever posts now, who goes on as the
// subscription is then.
func (s *Service) takeOver(ctx context.Context, no int64, c caller.Caller, url string, useEndpoint bool) error {
	return s.changes.Change(ctx, no, record.Wanted{}, func(change *record.Change) error {
		if !change.Locked.Active(change.Now) {
			return record.ErrEnded
		}
		change.Tx.AfterCommit(func() { s.messaging.WakeSubscription(no) })
		change.Locked.Consumer, change.Locked.LastError = "", ""
		change.Also(database.Statement{
			SQL: "UPDATE subscriptions SET made_by_key = ?, made_by_subject = ?, webhook_url = ?, use_endpoint = ? WHERE subscription_no = ?",
			Args: []any{
				database.NullText(c.KeyID), database.NullText(c.Subject), database.NullText(url), useEndpoint, no,
			},
		})
		return nil
	})
}

// paused returns, by its maker, why a subscription is paused; nothing while it is not.
func (s *Service) paused(ctx context.Context, sub *record.Subscription) (paused map[string]string, err error) {
	if sub.Maker() == "" || s.pausedOf == nil {
		return nil, nil
	}
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		paused, err = s.pausedOf(tx, sub.Maker())
		return err
	})
	return paused, err
}

// pausedIn does so for several subscriptions.
func (s *Service) pausedIn(tx *database.Tx, found ...record.Summary) (map[string]string, error) {
	var makers []string
	for _, one := range found {
		if maker := one.Maker(); maker != "" {
			makers = append(makers, maker)
		}
	}
	if len(makers) == 0 || s.pausedOf == nil {
		return nil, nil
	}
	return s.pausedOf(tx, makers...)
}

// addMaker adds to a subscription's form for clients who made it, and why it is paused.
func (s *Service) addMaker(wire *openintentv1.Subscription, sub *record.Subscription, paused map[string]string) {
	maker := sub.Maker()
	if maker == "" {
		return
	}
	if s.shown != nil {
		wire.MadeBy = optional.Text(s.shown(maker, sub.MadeBySubject))
	}
	wire.PausedReason = optional.Text(paused[maker])
}

// PostedBy returns the ids of subscriptions that a maker made and that post, up to a limit and in their order.
func PostedBy(tx *database.Tx, maker string, limit int) (ids []string, err error) {
	err = tx.Pipeline(database.ReadValues(&ids, "SELECT id FROM subscriptions WHERE made_by_key = ? AND "+record.Posted+
		" AND (expires_at IS NULL OR expires_at > ?) ORDER BY id LIMIT ?", maker, database.Micros(tx.Now()), limit))
	return ids, err
}
