package subscriptions

import (
	"cmp"
	"context"

	"openintent/internal/optional"
	"openintent/messaging/reading"

	"github.com/oklog/ulid/v2"

	"openintent/agents"
	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/webhooks"
	"openintent/subscriptions/waiting"
)

// CreateSubscription creates a subscription that begins now.
func (s *Service) CreateSubscription(
	ctx context.Context, req *openintentv1.CreateSubscriptionRequest,
) (*openintentv1.Subscription, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	draft, err := s.draft(ctx, c, req)
	if err != nil {
		return nil, err
	}
	if err := s.store(ctx, draft); err != nil {
		return nil, err
	}
	wire := summary{subscription: draft}.toWire(true)
	if draft.posted() {
		wire.Secret = &draft.secret
		s.addMaker(wire, draft, nil)
	}
	return wire, nil
}

// draft reads and checks a request.
func (s *Service) draft(
	ctx context.Context, c caller.Caller, req *openintentv1.CreateSubscriptionRequest,
) (*subscription, error) {
	subscriber, err := subscriberFrom(c, req.GetSubscriberId())
	if err != nil {
		return nil, err
	}
	draft := &subscription{
		id: idPrefix + ulid.Make().String(), subscriber: subscriber, scope: c.Scope, madeByKey: c.KeyID,
		webhookURL: req.GetWebhookUrl(), useEndpoint: req.GetUseEndpoint(),
		acknowledgeSeconds: int64(cmp.Or(req.GetAcknowledgeSeconds(), defaultAcknowledgeSeconds)),
		maxAttempts:        int64(cmp.Or(req.GetMaxAttempts(), defaultMaxAttempts)),
	}
	draft.name = draft.id
	if req.Name != nil {
		draft.name = req.GetName()
	}
	if err := checkName(draft.name); err != nil {
		return nil, err
	}
	if draft.filter, err = reading.FilterFrom(req.GetEventTypes(), req.GetMessageType(), req.GetCorrelationId(), req.GetInclude()); err != nil {
		return nil, err
	}
	draft.including(req.GetInclude())
	if draft.expiresAt, err = optional.TimeFrom("expires_at", req.GetExpiresAt()); err != nil {
		return nil, err
	}
	if !draft.expiresAt.IsZero() && !draft.expiresAt.After(s.db.Now()) {
		return nil, fault.BadField("expires_at", "it must lie in the future.")
	}
	if err := s.checkPosting(draft); err != nil {
		return nil, err
	}
	if draft.posted() {
		draft.secret, draft.madeBySubject = webhooks.NewSecret(), c.Subject
	}
	if err := draft.setWindows(req); err != nil {
		return nil, err
	}
	return draft, s.scope(ctx, draft, req)
}

// checkPosting refuses a webhook that the server cannot post to.
func (s *Service) checkPosting(draft *subscription) error {
	if draft.webhookURL != "" && draft.useEndpoint {
		return fault.BadField("use_endpoint", "deliveries can go to only one place; leave out webhook_url or use_endpoint.")
	}
	if draft.webhookURL != "" {
		return s.checkURL(draft.webhookURL)
	}
	return nil
}

func (s *Service) checkURL(url string) error {
	if err := s.webhooks.Check(url); err != nil {
		return fault.BadField("webhook_url", "%s.", err.Error())
	}
	return nil
}

// setWindows checks and sets the options of compose and of digests.
func (s *subscription) setWindows(req *openintentv1.CreateSubscriptionRequest) error {
	s.compose, s.digestSeconds = req.GetCompose(), int64(req.GetDigestSeconds())
	switch {
	case s.digestSeconds == 0 && req.MaxChars != nil:
		return fault.BadField("max_chars", "it bounds digests; give digest_seconds too, or leave out max_chars.")
	case s.compose && s.posted():
		return fault.BadField("compose", "webhooks get each message by itself; leave out compose, or leave out the webhook.")
	case s.digestSeconds > 0 && s.posted():
		return fault.BadField("digest_seconds", "webhooks get no digests; leave out digest_seconds, or leave out the webhook.")
	}
	if s.digestSeconds > 0 {
		s.maxChars = int64(cmp.Or(req.GetMaxChars(), waiting.MaxChars))
	}
	return nil
}

// scope finds the intent or channel to follow. The subscriber must have access to it.
func (s *Service) scope(ctx context.Context, draft *subscription, req *openintentv1.CreateSubscriptionRequest) error {
	intentID, channelID := req.GetIntentId(), req.GetChannelId()
	if intentID != "" && channelID != "" {
		return fault.BadField("channel_id",
			"a subscription follows either an intent or a channel; leave out intent_id or channel_id.")
	}
	if intentID == "" && channelID == "" {
		return nil
	}
	var head intents.Head
	err := s.db.Read(ctx, func(tx *database.Tx) (err error) {
		if channelID != "" {
			var key channels.Key
			key, err = s.channels.Locate(tx, channelID)
			draft.intentNo, draft.channelNo, draft.channelID = key.IntentNo, key.ChannelNo, channelID
		} else {
			draft.intentNo, err = s.intents.Resolve(tx, intentID)
			draft.intentID = intentID
		}
		if err != nil {
			return err
		}
		head, err = intents.ReadHead(tx, draft.intentNo)
		return err
	})
	if err != nil {
		return err
	}
	page, err := s.messaging.ReadFeed(ctx, draft.feed(draft.intentNo), head.LastPosition, 1)
	if err == nil && page.Ended {
		return errChannelClosed
	}
	return err
}

// store stores a new subscription and its starting positions: the end of the log of each intent that can reach its subscriber.
func (s *Service) store(ctx context.Context, draft *subscription) error {
	return s.db.Write(ctx, func(tx *database.Tx) error {
		if err := s.intents.Stock().Take(tx, draft.madeByKey, stockKind.Name); err != nil {
			return err
		}
		draft.no, draft.createdAt = 0, tx.Now()
		inserted, err := insert(tx, draft)
		if err != nil {
			return err
		}
		if !inserted {
			return errNameTaken
		}
		if err := checkCount(tx, draft); err != nil {
			return err
		}
		if draft.posted() {
			tx.AfterCommit(func() { s.poster.follow(postedSubscription{draft.no, draft.subscriber, draft.intentNo}) })
		}
		return s.begin(tx, draft)
	})
}

// checkCount refuses a subscription that exceeds the number that an agent may have. This stops a program that runs wild.
func checkCount(tx *database.Tx, draft *subscription) error {
	count := 0
	err := tx.Pipeline(database.Statement{
		SQL: "SELECT COUNT(*) FROM (SELECT 1 FROM subscriptions WHERE subscriber_id = ? AND name <> ? AND deleted_at IS NULL" +
			" LIMIT ?) AS listed",
		Args: []any{draft.subscriber, ownName, maxSubscriptions + 1},
		Scan: func(row database.Row) error { return row.Scan(&count) },
	})
	if err == nil && count > maxSubscriptions && !draft.own() {
		err = errTooMany
	}
	return err
}

// begin stores the positions at which a subscription begins.
func (s *Service) begin(tx *database.Tx, draft *subscription) error {
	intentNos := []int64{draft.intentNo}
	if draft.wide() {
		presences, err := agents.LoadPresences(tx, []string{draft.subscriber})
		if err != nil {
			return err
		}
		intentNos, err = reading.ReachingIntents(tx, draft.subscriber, presences[draft.subscriber].Role())
		if err != nil {
			return err
		}
	}
	statement, heads := intents.PrepareHeads(tx, intentNos)
	if err := tx.Pipeline(statement); err != nil {
		return err
	}
	positions := make(map[int64]int64)
	for _, head := range heads() {
		positions[head.IntentNo] = head.LastPosition
	}
	return tx.Pipeline(insertPositions(tx, draft.no, positions)...)
}
