package record

import (
	"encoding/json"
	"strings"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
)

// Columns are what Scan reads.
const Columns = `s.subscription_no, s.id, s.subscriber_id, s.name, s.intent_no, s.channel_no, s.intent_id,
	s.channel_id, s.event_types, s.message_type, s.correlation_id, s.webhook_url, s.use_endpoint, s.secret,
	s.acknowledge_seconds, s.max_attempts, s.created_at, s.expires_at, s.ended_at, s.last_number,
	s.offered_through, s.consumer, s.consumer_until, s.last_error, s.scope, s.include, s.reserved_through, s.abandoned,
	s.compose, s.digest_seconds, s.max_chars, s.post_at, s.made_by_key, s.made_by_subject`

// Posted is the condition for subscriptions whose deliveries are posted. An index uses the same condition.
const Posted = "(webhook_url IS NOT NULL OR use_endpoint) AND ended_at IS NULL AND deleted_at IS NULL"

// Scan reads Columns, and reads the columns that follow them into further.
func Scan(row database.Row, further ...any) (*Subscription, error) {
	var (
		s                                               Subscription
		intentNo, channelNo                             *int64
		intentID, channelID, messageType, correlationID *string
		webhookURL, secret, consumer, lastError         *string
		madeByKey, madeBySubject                        *string
		createdAt                                       int64
		expiresAt, endedAt, consumerUntil, postAt       *int64
		eventTypes, scope                               []byte
		include, abandoned                              string
	)
	err := row.Scan(append([]any{&s.No, &s.ID, &s.Subscriber, &s.Name, &intentNo, &channelNo, &intentID, &channelID,
		&eventTypes, &messageType, &correlationID, &webhookURL, &s.UseEndpoint, &secret, &s.AcknowledgeSeconds,
		&s.MaxAttempts, &createdAt, &expiresAt, &endedAt, &s.LastNumber, &s.OfferedThrough, &consumer,
		&consumerUntil, &lastError, &scope, &include, &s.ReservedThrough, &abandoned, &s.Compose, &s.DigestSeconds,
		&s.MaxChars, &postAt, &madeByKey, &madeBySubject}, further...)...)
	if err != nil {
		return nil, err
	}
	s.IntentNo, s.ChannelNo = orZero(intentNo), orZero(channelNo)
	s.IntentID, s.ChannelID = orZero(intentID), orZero(channelID)
	s.Filter.MessageType, s.Filter.CorrelationID = message.Type(orZero(messageType)), orZero(correlationID)
	s.WebhookURL, s.Secret, s.LastError = orZero(webhookURL), orZero(secret), orZero(lastError)
	s.MadeByKey, s.MadeBySubject = orZero(madeByKey), orZero(madeBySubject)
	s.Consumer, s.ConsumerUntil, s.PostAt = orZero(consumer), database.TimeOrZero(consumerUntil), database.TimeOrZero(postAt)
	s.CreatedAt, s.ExpiresAt, s.endedAt = database.Time(createdAt), database.TimeOrZero(expiresAt), database.TimeOrZero(endedAt)
	s.Including(strings.FieldsFunc(include, func(c rune) bool { return c == ',' }))
	if s.Scope, err = caller.ScopeFrom(scope); err != nil {
		return nil, err
	}
	if s.abandoned, err = abandonedFrom(abandoned); err != nil {
		return nil, err
	}
	return &s, json.Unmarshal(eventTypes, &s.Filter.EventTypes)
}

// orZero returns the value of a column that may be NULL, or the zero value.
func orZero[T any](value *T) T {
	if value == nil {
		var zero T
		return zero
	}
	return *value
}

// prepareSubscription returns the statement that reads one subscription, and a function that returns the subscription after the
// statement has run. For a deleted subscription the function returns ErrNotFound.
func prepareSubscription(condition string, args ...any) (database.Statement, func() (*Subscription, error)) {
	var found *Subscription
	return database.Statement{
			SQL:  "SELECT " + Columns + " FROM subscriptions s WHERE s.deleted_at IS NULL AND " + condition,
			Args: args,
			Scan: func(row database.Row) (err error) {
				found, err = Scan(row)
				return err
			},
		}, func() (*Subscription, error) {
			if found == nil {
				return nil, ErrNotFound
			}
			return found, nil
		}
}

// PrepareLoad reads a subscription by its number.
func PrepareLoad(no int64) (database.Statement, func() (*Subscription, error)) {
	return prepareSubscription("s.subscription_no = ?", no)
}

// Find reads a subscription by its id.
func Find(tx *database.Tx, id string) (*Subscription, error) {
	return one(tx, "s.id = ?", id)
}

// FindNamed reads an agent's subscription by its name.
func FindNamed(tx *database.Tx, subscriber, name string) (*Subscription, error) {
	return one(tx, "s.subscriber_id = ? AND s.name = ?", subscriber, name)
}

func one(tx *database.Tx, condition string, args ...any) (*Subscription, error) {
	statement, found := prepareSubscription(condition, args...)
	if err := tx.Pipeline(statement); err != nil {
		return nil, err
	}
	return found()
}

// Insert stores a new subscription and fills in its number. That number is never used again, even after the database has lost
// commits. inserted is false when the name is taken.
func Insert(tx *database.Tx, s *Subscription) (inserted bool, err error) {
	eventTypes, err := json.Marshal(append([]string{}, s.Filter.EventTypes...))
	if err != nil {
		return false, err
	}
	var newest int64
	err = tx.Pipeline(database.Statement{
		SQL:  "SELECT COALESCE(MAX(subscription_no), 0) FROM subscriptions",
		Scan: func(row database.Row) error { return row.Scan(&newest) },
	})
	if err != nil {
		return false, err
	}
	err = tx.Pipeline(database.Statement{
		SQL: `INSERT INTO subscriptions (subscription_no, id, subscriber_id, name, intent_no, channel_no, intent_id, channel_id, event_types,
			message_type, correlation_id, webhook_url, use_endpoint, secret, acknowledge_seconds, max_attempts, created_at,
			expires_at, cleared, last_number, offered_through, scope, include, compose, digest_seconds, max_chars,
			made_by_key, made_by_subject)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (subscriber_id, name) WHERE deleted_at IS NULL DO NOTHING RETURNING subscription_no`,
		Args: []any{database.Further(newest), s.ID, s.Subscriber, s.Name, database.NullInt(s.IntentNo), database.NullInt(s.ChannelNo),
			database.NullText(s.IntentID), database.NullText(s.ChannelID), eventTypes,
			database.NullText(string(s.Filter.MessageType)), database.NullText(s.Filter.CorrelationID),
			database.NullText(s.WebhookURL), s.UseEndpoint, database.NullText(s.Secret), s.AcknowledgeSeconds,
			s.MaxAttempts, database.Micros(s.CreatedAt), database.NullMicros(s.ExpiresAt), false, int64(0), int64(0), s.Scope.Stored(),
			strings.Join(s.Include, ","), s.Compose, s.DigestSeconds, s.MaxChars,
			database.NullText(s.MadeByKey), database.NullText(s.MadeBySubject)},
		Scan: func(row database.Row) error { return row.Scan(&s.No) },
	})
	return s.No != 0, err
}

// Summary is a subscription with its progress.
type Summary struct {
	*Subscription
	AcknowledgedThrough, Outstanding, Dead int64
}
