package subscriptions

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/optional"
	"openintent/subscriptions/record"
)

const (
	subscriptionTable = " FROM subscriptions s WHERE s.deleted_at IS NULL AND s.name <> '" + record.OwnName + "' AND "
	subscriptionOrder = " ORDER BY s.subscriber_id, s.name"
	// sizeOfRow computes the bytes that a subscription takes on a page.
	sizeOfRow = "400 + octet_length(s.subscriber_id) + octet_length(s.name) + octet_length(s.event_types)" +
		" + COALESCE(octet_length(s.webhook_url), 0) + COALESCE(octet_length(s.last_error), 0)"
)

// summaries reads subscriptions with their progress.
func summaries(tx *database.Tx, condition string, limit int, args ...any) (found []record.Summary, err error) {
	const theirs = " WHERE d.subscription_no = s.subscription_no AND "
	live, dead := record.LiveTable(tx)+theirs+record.UnfinishedOnly, record.DeadTable(tx)+theirs+record.DeadOnly
	err = tx.Pipeline(database.Statement{
		SQL: "SELECT " + record.Columns + `,
			COALESCE((SELECT MIN(d.number) - 1 FROM ` + live + `), s.last_number),
			(SELECT COUNT(*) FROM ` + live + ` AND d.attempts > 0),
			(SELECT COUNT(*) FROM ` + dead + `)` + subscriptionTable + condition + subscriptionOrder + " LIMIT ?",
		Args: append(args, limit),
		Scan: func(row database.Row) error {
			var one record.Summary
			s, err := record.Scan(row, &one.AcknowledgedThrough, &one.Outstanding, &one.Dead)
			one.Subscription = s
			found = append(found, one)
			return err
		},
	})
	return found, err
}

// summaryToWire returns a subscription as clients see it, without its secret.
func summaryToWire(s record.Summary, active bool) *openintentv1.Subscription {
	wire := &openintentv1.Subscription{
		Id:                  s.ID,
		Name:                s.Name,
		SubscriberId:        s.Subscriber,
		IntentId:            optional.Text(s.IntentID),
		ChannelId:           optional.Text(s.ChannelID),
		EventTypes:          s.Filter.EventTypes,
		CorrelationId:       optional.Text(s.Filter.CorrelationID),
		WebhookUrl:          optional.Text(s.WebhookURL),
		UseEndpoint:         s.UseEndpoint,
		Active:              active,
		AcknowledgeSeconds:  int32(s.AcknowledgeSeconds),
		MaxAttempts:         int32(s.MaxAttempts),
		CreatedAt:           timestamppb.New(s.CreatedAt),
		ExpiresAt:           optional.Time(s.ExpiresAt),
		AcknowledgedThrough: s.AcknowledgedThrough,
		LastNumber:          s.LastNumber,
		OutstandingCount:    s.Outstanding,
		DeadLetterCount:     s.Dead,
		LastError:           optional.Text(s.LastError),
		Include:             s.Include,
	}
	if s.Compose {
		wire.Compose = &s.Compose
	}
	if s.DigestSeconds > 0 {
		seconds, chars := int32(s.DigestSeconds), int32(s.MaxChars)
		wire.DigestSeconds, wire.MaxChars = &seconds, &chars
	}
	if s.Filter.MessageType != "" {
		messageType := s.Filter.MessageType.ToWire()
		wire.MessageType = &messageType
	}
	return wire
}
