package subscriptions

import (
	"cmp"
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

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
	"openintent/subscriptions/delivering"
	"openintent/subscriptions/record"
	"openintent/subscriptions/waiting"
)

const (
	// maxNameLength bounds names, in characters.
	maxNameLength = 128

	defaultAcknowledgeSeconds = 30
	defaultMaxAttempts        = 10
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
	wire := summaryToWire(record.Summary{Subscription: draft}, true)
	if draft.Posted() {
		wire.Secret = &draft.Secret
		s.addMaker(wire, draft, nil)
	}
	return wire, nil
}

// draft reads and checks a request.
func (s *Service) draft(
	ctx context.Context, c caller.Caller, req *openintentv1.CreateSubscriptionRequest,
) (*record.Subscription, error) {
	subscriber, err := subscriberFrom(c, req.GetSubscriberId())
	if err != nil {
		return nil, err
	}
	draft := &record.Subscription{
		ID: record.IDPrefix + ulid.Make().String(), Subscriber: subscriber, Scope: c.Scope, MadeByKey: c.KeyID,
		WebhookURL: req.GetWebhookUrl(), UseEndpoint: req.GetUseEndpoint(),
		AcknowledgeSeconds: int64(cmp.Or(req.GetAcknowledgeSeconds(), defaultAcknowledgeSeconds)),
		MaxAttempts:        int64(cmp.Or(req.GetMaxAttempts(), defaultMaxAttempts)),
	}
	draft.Name = draft.ID
	if req.Name != nil {
		draft.Name = req.GetName()
	}
	if err := checkName(draft.Name); err != nil {
		return nil, err
	}
	if draft.Filter, err = reading.FilterFrom(req.GetEventTypes(), req.GetMessageType(), req.GetCorrelationId(), req.GetInclude()); err != nil {
		return nil, err
	}
	draft.Including(req.GetInclude())
	if draft.ExpiresAt, err = optional.TimeFrom("expires_at", req.GetExpiresAt()); err != nil {
		return nil, err
	}
	if !draft.ExpiresAt.IsZero() && !draft.ExpiresAt.After(s.db.Now()) {
		return nil, fault.BadField("expires_at", "it must lie in the future.")
	}
	if err := s.checkPosting(draft); err != nil {
		return nil, err
	}
	if draft.Posted() {
		draft.Secret, draft.MadeBySubject = webhooks.NewSecret(), c.Subject
	}
	if err := setWindows(draft, req); err != nil {
		return nil, err
	}
	return draft, s.scope(ctx, draft, req)
}

// checkPosting refuses a webhook that the server cannot post to.
func (s *Service) checkPosting(draft *record.Subscription) error {
	if draft.WebhookURL != "" && draft.UseEndpoint {
		return fault.BadField("use_endpoint", "deliveries can go to only one place; leave out webhook_url or use_endpoint.")
	}
	if draft.WebhookURL != "" {
		return s.checkURL(draft.WebhookURL)
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
func setWindows(s *record.Subscription, req *openintentv1.CreateSubscriptionRequest) error {
	s.Compose, s.DigestSeconds = req.GetCompose(), int64(req.GetDigestSeconds())
	switch {
	case s.DigestSeconds == 0 && req.MaxChars != nil:
		return fault.BadField("max_chars", "it bounds digests; give digest_seconds too, or leave out max_chars.")
	case s.Compose && s.Posted():
		return fault.BadField("compose", "webhooks get each message by itself; leave out compose, or leave out the webhook.")
	case s.DigestSeconds > 0 && s.Posted():
		return fault.BadField("digest_seconds", "webhooks get no digests; leave out digest_seconds, or leave out the webhook.")
	}
	if s.DigestSeconds > 0 {
		s.MaxChars = int64(cmp.Or(req.GetMaxChars(), waiting.MaxChars))
	}
	return nil
}

// scope finds the intent or channel to follow. The subscriber must have access to it.
func (s *Service) scope(ctx context.Context, draft *record.Subscription, req *openintentv1.CreateSubscriptionRequest) error {
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
			draft.IntentNo, draft.ChannelNo, draft.ChannelID = key.IntentNo, key.ChannelNo, channelID
		} else {
			draft.IntentNo, err = s.intents.Resolve(tx, intentID)
			draft.IntentID = intentID
		}
		if err != nil {
			return err
		}
		head, err = intents.ReadHead(tx, draft.IntentNo)
		return err
	})
	if err != nil {
		return err
	}
	page, err := s.messaging.ReadFeed(ctx, draft.Feed(draft.IntentNo), head.LastPosition, 1)
	if err == nil && page.Ended {
		return delivering.ErrChannelClosed
	}
	return err
}

// store stores a new subscription and its starting positions: the end of the log of each intent that can reach its subscriber.
func (s *Service) store(ctx context.Context, draft *record.Subscription) error {
	return s.db.Write(ctx, func(tx *database.Tx) error {
		if err := s.intents.Stock().Take(tx, draft.MadeByKey, stockKind.Name); err != nil {
			return err
		}
		draft.No, draft.CreatedAt = 0, tx.Now()
		inserted, err := record.Insert(tx, draft)
		if err != nil {
			return err
		}
		if !inserted {
			return record.ErrNameTaken
		}
		if err := checkCount(tx, draft); err != nil {
			return err
		}
		if draft.Posted() {
			tx.AfterCommit(func() { s.poster.Follow(draft) })
		}
		return s.begin(tx, draft)
	})
}

// checkCount refuses a subscription that exceeds the number that an agent may have. This stops a program that runs wild.
func checkCount(tx *database.Tx, draft *record.Subscription) error {
	count := 0
	err := tx.Pipeline(database.Statement{
		SQL: "SELECT COUNT(*) FROM (SELECT 1 FROM subscriptions WHERE subscriber_id = ? AND name <> ? AND deleted_at IS NULL" +
			" LIMIT ?) AS listed",
		Args: []any{draft.Subscriber, record.OwnName, maxSubscriptions + 1},
		Scan: func(row database.Row) error { return row.Scan(&count) },
	})
	if err == nil && count > maxSubscriptions && !draft.Own() {
		err = errTooMany
	}
	return err
}

// begin stores the positions at which a subscription begins.
func (s *Service) begin(tx *database.Tx, draft *record.Subscription) error {
	intentNos := []int64{draft.IntentNo}
	if draft.Wide() {
		presences, err := agents.LoadPresences(tx, []string{draft.Subscriber})
		if err != nil {
			return err
		}
		intentNos, err = reading.ReachingIntents(tx, draft.Subscriber, presences[draft.Subscriber].Role())
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
	return tx.Pipeline(insertPositions(tx, draft.No, positions)...)
}

// checkName refuses a text that cannot name a subscription.
func checkName(name string) error {
	switch {
	case name == "" || utf8.RuneCountInString(name) > maxNameLength:
		return fault.BadField("name", "a subscription's name has 1 to %d characters.", maxNameLength)
	case !utf8.ValidString(name) || strings.Contains(name, "/") || strings.ContainsFunc(name, unicode.IsControl):
		return fault.BadField("name", `a subscription's name is UTF-8 text without "/" and control characters.`)
	case name == record.OwnName:
		return fault.BadField("name", "`default` is the agent's own log, which Subscribe streams; choose another name.")
	}
	return nil
}

// stockKind is the kind of subscriptions that are not deleted, of which a key holds those that were made under it.
var stockKind = intents.StockKind{
	Name: "subscriptions", From: "subscriptions WHERE made_by_key = ? AND deleted_at IS NULL", Freed: "delete some",
}

// insertPositions stores the positions at which a new subscription begins.
func insertPositions(tx *database.Tx, no int64, positions map[int64]int64) []database.Statement {
	nos, intentNos := make([]int64, 0, len(positions)), make([]int64, 0, len(positions))
	values := make([]int64, 0, len(positions))
	for intentNo, position := range positions {
		nos, intentNos, values = append(nos, no), append(intentNos, intentNo), append(values, position)
	}
	return tx.Insert("subscription_positions",
		database.Column{Name: "subscription_no", Values: nos},
		database.Column{Name: "intent_no", Values: intentNos},
		database.Column{Name: "position", Values: values},
	)
}
