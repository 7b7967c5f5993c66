package subscriptions

import (
	"encoding/json"
	"strings"

	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
)

const subscriptionColumns = `s.subscription_no, s.id, s.subscriber_id, s.name, s.intent_no, s.channel_no, s.intent_id,
	s.channel_id, s.event_types, s.message_type, s.correlation_id, s.webhook_url, s.use_endpoint, s.secret,
	s.acknowledge_seconds, s.max_attempts, s.created_at, s.expires_at, s.ended_at, s.last_number,
	s.offered_through, s.consumer, s.consumer_until, s.last_error, s.scope, s.include, s.reserved_through, s.abandoned,
	s.compose, s.digest_seconds, s.max_chars, s.post_at, s.made_by_key, s.made_by_subject`

// scanSubscription reads subscriptionColumns, and reads the columns that follow them into further.
func scanSubscription(row database.Row, further ...any) (*subscription, error) {
	var (
		s                                               subscription
		intentNo, channelNo                             *int64
		intentID, channelID, messageType, correlationID *string
		webhookURL, secret, consumer, lastError         *string
		madeByKey, madeBySubject                        *string
		createdAt                                       int64
		expiresAt, endedAt, consumerUntil, postAt       *int64
		eventTypes, scope                               []byte
		include, abandoned                              string
	)
	err := row.Scan(append([]any{&s.no, &s.id, &s.subscriber, &s.name, &intentNo, &channelNo, &intentID, &channelID,
		&eventTypes, &messageType, &correlationID, &webhookURL, &s.useEndpoint, &secret, &s.acknowledgeSeconds,
		&s.maxAttempts, &createdAt, &expiresAt, &endedAt, &s.lastNumber, &s.offeredThrough, &consumer,
		&consumerUntil, &lastError, &scope, &include, &s.reservedThrough, &abandoned, &s.compose, &s.digestSeconds,
		&s.maxChars, &postAt, &madeByKey, &madeBySubject}, further...)...)
	if err != nil {
		return nil, err
	}
	s.intentNo, s.channelNo = orZero(intentNo), orZero(channelNo)
	s.intentID, s.channelID = orZero(intentID), orZero(channelID)
	s.filter.MessageType, s.filter.CorrelationID = message.Type(orZero(messageType)), orZero(correlationID)
	s.webhookURL, s.secret, s.lastError = orZero(webhookURL), orZero(secret), orZero(lastError)
	s.madeByKey, s.madeBySubject = orZero(madeByKey), orZero(madeBySubject)
	s.consumer, s.consumerUntil, s.postAt = orZero(consumer), database.TimeOrZero(consumerUntil), database.TimeOrZero(postAt)
	s.createdAt, s.expiresAt, s.endedAt = database.Time(createdAt), database.TimeOrZero(expiresAt), database.TimeOrZero(endedAt)
	s.including(strings.FieldsFunc(include, func(c rune) bool { return c == ',' }))
	if s.scope, err = caller.ScopeFrom(scope); err != nil {
		return nil, err
	}
	if s.abandoned, err = abandonedFrom(abandoned); err != nil {
		return nil, err
	}
	return &s, json.Unmarshal(eventTypes, &s.filter.EventTypes)
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
// statement has run. For a deleted subscription the function returns errNotFound.
func prepareSubscription(condition string, args ...any) (database.Statement, func() (*subscription, error)) {
	var found *subscription
	return database.Statement{
			SQL:  "SELECT " + subscriptionColumns + " FROM subscriptions s WHERE s.deleted_at IS NULL AND " + condition,
			Args: args,
			Scan: func(row database.Row) (err error) {
				found, err = scanSubscription(row)
				return err
			},
		}, func() (*subscription, error) {
			if found == nil {
				return nil, errNotFound
			}
			return found, nil
		}
}

// prepareLoad reads a subscription by its number.
func prepareLoad(no int64) (database.Statement, func() (*subscription, error)) {
	return prepareSubscription("s.subscription_no = ?", no)
}

// find reads a subscription by its id.
func find(tx *database.Tx, id string) (*subscription, error) {
	return one(tx, "s.id = ?", id)
}

// findNamed reads an agent's subscription by its name.
func findNamed(tx *database.Tx, subscriber, name string) (*subscription, error) {
	return one(tx, "s.subscriber_id = ? AND s.name = ?", subscriber, name)
}

func one(tx *database.Tx, condition string, args ...any) (*subscription, error) {
	statement, found := prepareSubscription(condition, args...)
	if err := tx.Pipeline(statement); err != nil {
		return nil, err
	}
	return found()
}

// stockKind is the kind of subscriptions that are not deleted, of which a key holds those that were made under it.
var stockKind = intents.StockKind{
	Name: "subscriptions", From: "subscriptions WHERE made_by_key = ? AND deleted_at IS NULL", Freed: "delete some",
}

// insert stores a new subscription and fills in its number. That number is never used again, even after the database has lost
// commits. inserted is false when the name is taken.
func insert(tx *database.Tx, s *subscription) (inserted bool, err error) {
	eventTypes, err := json.Marshal(append([]string{}, s.filter.EventTypes...))
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
		Args: []any{database.Further(newest), s.id, s.subscriber, s.name, database.NullInt(s.intentNo), database.NullInt(s.channelNo),
			database.NullText(s.intentID), database.NullText(s.channelID), eventTypes,
			database.NullText(string(s.filter.MessageType)), database.NullText(s.filter.CorrelationID),
			database.NullText(s.webhookURL), s.useEndpoint, database.NullText(s.secret), s.acknowledgeSeconds,
			s.maxAttempts, database.Micros(s.createdAt), database.NullMicros(s.expiresAt), false, int64(0), int64(0), s.scope.Stored(),
			strings.Join(s.include, ","), s.compose, s.digestSeconds, s.maxChars,
			database.NullText(s.madeByKey), database.NullText(s.madeBySubject)},
		Scan: func(row database.Row) error { return row.Scan(&s.no) },
	})
	return s.no != 0, err
}

// summary is a subscription with its progress.
type summary struct {
	*subscription
	acknowledgedThrough, outstanding, dead int64
}

const (
	subscriptionTable = " FROM subscriptions s WHERE s.deleted_at IS NULL AND s.name <> '" + ownName + "' AND "
	subscriptionOrder = " ORDER BY s.subscriber_id, s.name"
	// sizeOfRow computes the bytes that a subscription takes on a page.
	sizeOfRow = "400 + octet_length(s.subscriber_id) + octet_length(s.name) + octet_length(s.event_types)" +
		" + COALESCE(octet_length(s.webhook_url), 0) + COALESCE(octet_length(s.last_error), 0)"
)

// summaries reads subscriptions with their progress.
func summaries(tx *database.Tx, condition string, limit int, args ...any) (found []summary, err error) {
	const theirs = " WHERE d.subscription_no = s.subscription_no AND "
	live, dead := liveTable(tx)+theirs+unfinishedOnly, deadTable(tx)+theirs+deadOnly
	err = tx.Pipeline(database.Statement{
		SQL: "SELECT " + subscriptionColumns + `,
			COALESCE((SELECT MIN(d.number) - 1 FROM ` + live + `), s.last_number),
			(SELECT COUNT(*) FROM ` + live + ` AND d.attempts > 0),
			(SELECT COUNT(*) FROM ` + dead + `)` + subscriptionTable + condition + subscriptionOrder + " LIMIT ?",
		Args: append(args, limit),
		Scan: func(row database.Row) error {
			var one summary
			s, err := scanSubscription(row, &one.acknowledgedThrough, &one.outstanding, &one.dead)
			one.subscription = s
			found = append(found, one)
			return err
		},
	})
	return found, err
}
