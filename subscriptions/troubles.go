package subscriptions

import (
	"database/sql"
	"strconv"
	"time"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/subscriptions/record"
)

// This file finds subscriptions that need somebody: those with dead letters, and those whose posts fail. Whoever asks decides who may know.

const (
	// mostSearched bounds how many subscriptions one look goes through, and mostTroubled how many of these it finds.
	mostSearched = 10_000
	mostTroubled = 1_000
	// MostDead is up to how many dead letters of one subscription are counted.
	MostDead = 1_000
	// overdue is for how long a webhook may fail to take a message before somebody should know.
	overdue = 5 * time.Minute
)

// Of says whose subscriptions are looked at: an agent's, those to some intents, or, if both are empty, all.
type Of struct {
	Subscriber string
	IntentNos  []int64
}

// subscriptions returns a table s of those that meet a condition, and its arguments. among is a further condition for all of them.
func (o Of) subscriptions(tx *database.Tx, condition, among string, args ...any) (table string, all []any) {
	switch {
	case o.Subscriber != "":
		condition, args = condition+" AND s.subscriber_id = ?", append(args, o.Subscriber)
	case o.IntentNos != nil:
		in, argument := tx.In("s.intent_no", o.IntentNos)
		condition, args = condition+" AND "+in, append(args, argument)
	default:
		condition += among
	}
	return "(SELECT s.subscription_no FROM subscriptions s WHERE s.deleted_at IS NULL AND s.name <> '" + record.OwnName + "'" + condition +
		" LIMIT " + strconv.Itoa(mostSearched) + ") AS s", args
}

// withDeadLetters are the numbers of the first subscriptions with dead letters. It goes from one to the next, whatever each has.
var withDeadLetters = `WITH RECURSIVE dead (no, i) AS (
	SELECT (SELECT min(d.subscription_no) FROM subscription_deliveries d WHERE d.dead_at IS NOT NULL), 1
	UNION ALL SELECT (SELECT min(d.subscription_no) FROM subscription_deliveries d WHERE d.dead_at IS NOT NULL AND d.subscription_no > dead.no), i + 1
	FROM dead WHERE dead.no IS NOT NULL AND i < ` + strconv.Itoa(mostTroubled) + `) SELECT no FROM dead WHERE no IS NOT NULL`

// PrepareDeadLetters returns the statement that finds subscriptions with dead letters. It calls found for each, with when the oldest of them
// was given up.
func PrepareDeadLetters(tx *database.Tx, of Of, found func(subscriptionNo int64, since time.Time) error) database.Statement {
	table, args := of.subscriptions(tx, "", " AND s.subscription_no IN ("+withDeadLetters+")")
	return trouble(table, "SELECT d.dead_at FROM "+record.DeadTable(tx)+" WHERE d.subscription_no = s.subscription_no AND "+record.DeadOnly+
		" ORDER BY d.number LIMIT 1", tx.Now(), args, found)
}

// PrepareFailing returns the statement that finds subscriptions whose last post failed, and whose oldest unposted delivery has waited for
// some minutes. It calls found for each, with when that delivery came.
func PrepareFailing(tx *database.Tx, of Of, found func(subscriptionNo int64, since time.Time) error) database.Statement {
	now := tx.Now()
	table, args := of.subscriptions(tx, " AND s.last_error IS NOT NULL AND s.ended_at IS NULL AND (s.webhook_url IS NOT NULL OR s.use_endpoint)"+
		" AND (s.expires_at IS NULL OR s.expires_at > ?)", "", database.Micros(now))
	return trouble(table, "SELECT d.gathered_at FROM "+record.LiveTable(tx)+" WHERE d.subscription_no = s.subscription_no AND "+
		record.UnfinishedOnly+" ORDER BY d.number LIMIT 1", now.Add(-overdue), args, found)
}

// trouble finds the subscriptions of a table for which oldest selects a time that lies before another one.
func trouble(table, oldest string, by time.Time, args []any, found func(int64, time.Time) error) database.Statement {
	return database.Statement{
		SQL: "SELECT q.subscription_no, q.since FROM (SELECT s.subscription_no, (" + oldest + ") AS since FROM " + table +
			") AS q WHERE q.since <= ? LIMIT " + strconv.Itoa(mostTroubled),
		Args: append(args, database.Micros(by)),
		Scan: func(row database.Row) error {
			var no, since int64
			if err := row.Scan(&no, &since); err != nil {
				return err
			}
			return found(no, database.Time(since))
		},
	}
}

// Trouble is a subscription as somebody who looks after it wants to know it.
type Trouble struct {
	No                   int64
	ID, Name, Subscriber string
	IntentNo             int64
	IntentID, ChannelID  string
	// Active is true if it still delivers.
	Active bool
	// Dead counts its dead letters, up to 1,000.
	Dead int
	// LastError says why the last post failed.
	LastError string

	sub *record.Subscription
}

// CoveredBy reports whether all that the subscription shows lies in a scope.
func (t Trouble) CoveredBy(tx *database.Tx, scope *caller.Scope) (bool, error) {
	return coveredIn(tx, scope, t.sub)
}

// Troubles reads subscriptions by their numbers.
func Troubles(tx *database.Tx, nos []int64) (map[int64]*Trouble, error) {
	found := make(map[int64]*Trouble, len(nos))
	if len(nos) == 0 {
		return found, nil
	}
	in, argument := tx.In("s.subscription_no", nos)
	return found, tx.Pipeline(database.Statement{
		SQL: "SELECT " + record.Columns + ", (SELECT count(*) FROM (SELECT 1 FROM " + record.DeadTable(tx) + " WHERE d.subscription_no =" +
			" s.subscription_no AND " + record.DeadOnly + " LIMIT " + strconv.Itoa(MostDead) + ") AS c) FROM subscriptions s WHERE " + in,
		Args: []any{argument},
		Scan: func(row database.Row) error {
			var dead sql.NullInt64
			sub, err := record.Scan(row, &dead)
			if err != nil {
				return err
			}
			found[sub.No] = &Trouble{
				No: sub.No, ID: sub.ID, Name: sub.Name, Subscriber: sub.Subscriber, IntentNo: sub.IntentNo, IntentID: sub.IntentID,
				ChannelID: sub.ChannelID, Active: sub.Active(tx.Now()), Dead: int(dead.Int64), LastError: sub.LastError, sub: sub,
			}
			return nil
		},
	})
}
