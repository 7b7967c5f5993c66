package subscriptions

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/subscriptions/record"
)

// givingUp is a subscription that gives up after one attempt.
func givingUp(req *createInput) *createInput {
	req.MaxAttempts, req.AcknowledgeSeconds = ptr(int32(1)), ptr(int32(1))
	return req
}

// die fetches everything from subscriptions, once what waits has waited for so long, and lets all of it become dead letters.
func (h *house) die(t *testing.T, wait time.Duration, subs ...*openintentv1.Subscription) {
	for _, sub := range subs {
		h.fetch(t, sub)
	}
	h.clock.Advance(wait)
	for _, sub := range subs {
		h.fetch(t, sub)
	}
	h.clock.Advance(time.Second)
	h.sweep(t)
}

// given counts the messages whose senders are told that bob's subscriptions gave them up.
func (h *house) given(t *testing.T) int { return h.rows(t, "dead_letters", "agent_id = ?", "bob") }

// A dead letter may stand for several messages. Each of them has a record until no dead letter of the agent stands for it any more,
// whichever of its subscriptions has that, and whether it is redriven or acknowledged.
func TestDeadLettersKeepTheRecordsOfAllForWhichTheyStand(t *testing.T) {
	for name, req := range map[string]*createInput{
		"composed":                  {Compose: ptr(true)},
		"a digest of three intents": {DigestSeconds: ptr(int32(60))},
	} {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, h *house) {
				channels := []string{h.open(t, h.intent(t), "talk"), h.open(t, h.intent(t), "talk"), h.open(t, h.intent(t), "talk")}
				to := "*"
				if req.GetCompose() { // one delivery then stands for what is said to the agent in one channel
					channels, to = slices.Repeat(channels[:1], 3), "bob"
				}
				for _, channel := range channels { // bob takes part
					h.send(t, "bob", channel, "*", "hello")
				}
				h.clock.Advance(time.Hour) // the subscriptions do not begin with that
				single, together := h.subscribe(t, "bob", givingUp(&createInput{})), h.subscribe(t, "bob", givingUp(proto.CloneOf(req)))
				for _, channel := range channels {
					h.send(t, "ann", channel, to, "hello")
				}
				h.die(t, time.Minute, single, together)
				require.Len(t, h.deadLetters(t, single), 3)
				require.Len(t, h.deadLetters(t, together), 1)
				require.Equal(t, 3, h.given(t))

				_, err := h.redrive(single, 1)
				require.NoError(t, err)
				require.Equal(t, 3, h.given(t), "one was redriven elsewhere")
				h.acknowledge(t, single, 2)
				require.Equal(t, 3, h.given(t), "another one was acknowledged elsewhere")
				h.acknowledge(t, together, h.deadLetters(t, together)[0].GetDelivery().GetNumber())
				require.Equal(t, 1, h.given(t), "the third one is still a dead letter by itself")
				_, err = h.redrive(single)
				require.NoError(t, err)
				require.Zero(t, h.given(t))
			})
		})
	}
}

// Dead letters of others, and those of deleted subscriptions, keep no record.
func TestOnlyTheAgentsOwnDeadLettersKeepARecord(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intent := h.intent(t)
		channel := h.open(t, intent, "talk")
		for _, agent := range []string{"bob", "cid"} { // they take part
			h.send(t, agent, channel, "*", "hello")
		}
		single := h.subscribe(t, "bob", givingUp(&createInput{IntentId: &intent}))
		deleted, others := h.subscribe(t, "bob", givingUp(digesting(intent))), h.subscribe(t, "cid", givingUp(digesting(intent)))
		h.send(t, "ann", channel, "*", "one")
		h.send(t, "ann", channel, "*", "two")
		h.die(t, time.Minute, single, deleted, others)
		require.Len(t, h.deadLetters(t, deleted), 1)
		require.Len(t, h.deadLetters(t, others), 1)
		require.Equal(t, 2, h.given(t))

		_, err := h.subscriptions.DeleteSubscription(as("bob"),
			&openintentv1.DeleteSubscriptionRequest{SubscriptionId: deleted.GetId()})
		require.NoError(t, err)
		_, err = h.redrive(single, 1)
		require.NoError(t, err)
		require.Equal(t, 1, h.given(t))
	})
}

// SQLite finds dead letters by their places, and does not read whole logs of agents for it. PostgreSQL's plans are examined with all
// others (e2e/soak).
func TestSQLiteFindsDeadLettersElsewhereByIndexes(t *testing.T) {
	t.Parallel()
	h := newHouse(t, database.SQLite)
	var statements []database.Statement
	require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error {
		statements = prepareDeadElsewhere(tx, &record.Subscription{No: 1, Subscriber: "bob"}, [][2]int64{{1, 2}, {3, 4}}, nil)
		return nil
	}))
	plan := func(s database.Statement) string {
		return databasetest.Plan(t, h.db, "subscriptions", s.SQL, s.Args...)
	}
	byPlace, together := plan(statements[0]), plan(statements[1])
	require.Contains(t, byPlace, "subscription_deliveries_dead_place (intent_no=? AND position=?)")
	require.Regexp(t, `^SEARCH s .*\(subscriber_id=\?\)\nSEARCH d .*\(subscription_no=\?\)$`, together)
}

// atFirstRow runs a function when a statement that contains a text gets its first row, once it is armed.
type atFirstRow struct {
	text  string
	armed atomic.Bool
	run   func()
}

func (a *atFirstRow) option(s *settings) {
	s.database.Hooks.Statement = func(_ context.Context, sql string) func() {
		if !strings.Contains(sql, a.text) {
			return nil
		}
		return func() {
			if a.armed.CompareAndSwap(true, false) {
				a.run()
			}
		}
	}
}

// A redrive of all dead letters takes them in pieces. It goes on if somebody else takes one of a piece meanwhile.
// The dead letters of an ended subscription can still be read, also once the sweep has removed what it had to deliver. Nobody redrives them.
func TestAnEndedSubscriptionKeepsItsDeadLetters(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel, MaxAttempts: ptr(int32(1)), ExpiresAt: h.in(time.Hour)})
		h.send(t, "ann", channel, "bob", "one")
		h.fetch(t, sub)
		h.clock.Advance(time.Minute)
		h.sweep(t)
		h.send(t, "ann", channel, "bob", "two")
		h.fetch(t, sub)
		found, err := h.subscriptions.find(as("bob"), sub.GetId())
		require.NoError(t, err)
		h.clock.Advance(time.Hour)
		for range 2 {
			_, err := h.redrive(sub)
			faulttest.Require(t, err, fault.Conflict, "SUBSCRIPTION_ENDED")
			faulttest.Require(t, h.subscriptions.redrive(t.Context(), found, nil), fault.Conflict, "SUBSCRIPTION_ENDED") // if it ends meanwhile
			require.NotEmpty(t, h.deadLetters(t, sub))
			h.sweep(t)
		}
		require.Zero(t, h.rows(t, "subscription_deliveries", "dead_at IS NULL"), "what waited is gone")
	})
}

func TestARedriveOfAllLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			meanwhile := &atFirstRow{text: "d.dead_at <= "}
			h := newHouse(t, engine, meanwhile.option)
			intent := h.intent(t)
			sub := h.subscribe(t, "bob", &createInput{IntentId: &intent})
			h.bury(t, sub, sweepBatch+1)
			meanwhile.run = func() { h.acknowledge(t, sub, 1) }
			meanwhile.armed.Store(true)
			state, err := h.redrive(sub)
			require.NoError(t, err)
			require.False(t, meanwhile.armed.Load(), "nothing was acknowledged meanwhile")
			require.Zero(t, state.GetDeadLetterCount())
			require.Equal(t, sweepBatch, h.rows(t, "subscription_deliveries", "1 = 1"))
		})
	}
}

// Who fetches waits no longer because a subscription has many dead letters. How many rows PostgreSQL reads is examined elsewhere (e2e/soak).
func TestSQLiteReadsNoDeadLettersToFindWhatIsDue(t *testing.T) {
	t.Parallel()
	var steps atomic.Int64
	h := newHouse(t, database.SQLite, func(s *settings) {
		s.database.Hooks.Steps = func(sql string, count int64) {
			if strings.Contains(sql, "subscription_deliveries") {
				steps.Add(count)
			}
		}
	})
	intent := h.intent(t)
	channel := h.open(t, intent, "talk")
	sub := h.subscribe(t, "bob", &createInput{IntentId: &intent})
	fetched := func() int64 {
		h.send(t, "ann", channel, "bob", "work")
		steps.Store(0)
		require.Len(t, h.fetch(t, sub), 1)
		return steps.Load()
	}
	fetched()
	before := fetched()
	h.bury(t, sub, 1_000)
	require.Less(t, fetched(), 2*before)
}

// bury gives a subscription a number of dead letters.
func (h *house) bury(t *testing.T, sub *openintentv1.Subscription, count int) {
	found, err := h.subscriptions.find(asOperator(), sub.GetId())
	require.NoError(t, err)
	require.NoError(t, h.subscriptions.changes.Change(t.Context(), found.No, record.Wanted{}, func(c *record.Change) error {
		for range count {
			c.Locked.LastNumber++
			d := record.Delivery{Number: c.Locked.LastNumber, IntentNo: found.IntentNo, Position: c.Locked.LastNumber, DueAt: c.Now}
			c.Insert(d)
			d.DeadAt = c.Now
			c.Update(d)
		}
		c.Locked.OfferedThrough = c.Locked.LastNumber
		return nil
	}))
}
