package concerns

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
)

// subscribe makes a subscription that gives up after one attempt.
func (h *house) subscribe(t *testing.T, agent string, form *openintentv1.CreateSubscriptionRequest) *openintentv1.Subscription {
	t.Helper()
	form.MaxAttempts, form.AcknowledgeSeconds = pointer(int32(1)), pointer(int32(1))
	if form.Name == nil {
		form.Name = pointer("mine")
	}
	made, err := h.subscriptions.CreateSubscription(as(agent), form)
	require.NoError(t, err)
	h.clock.Advance(2 * time.Minute)
	return made
}

// die lets so many messages to bob become dead letters of his subscriptions.
func (h *house) die(t *testing.T, count int, subs ...*openintentv1.Subscription) {
	t.Helper()
	for range count {
		_, err := h.talk.SendMessage(as("alice"), &sendForm{ChannelId: h.channel, To: pointer("bob")})
		require.NoError(t, err)
	}
	for range 2 {
		for _, sub := range subs {
			_, err := h.subscriptions.FetchDeliveries(as("bob"), &openintentv1.FetchDeliveriesRequest{SubscriptionId: sub.GetId()})
			require.NoError(t, err)
		}
		h.clock.Advance(2 * time.Second)
	}
	require.NoError(t, h.subscriptions.Sweep(t.Context()))
}

func TestASubscriptionWithDeadLetters(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		sub := h.subscribe(t, "bob", &openintentv1.CreateSubscriptionRequest{})
		h.none(t, as("bob"), isDeadLetters)
		h.die(t, 1, sub)
		one := h.only(t, as("bob"), isDeadLetters)
		require.InDelta(t, h.clock.Now().Unix(), one.GetSince().GetSeconds(), 10)
		require.Equal(t, []string{sub.GetId(), "bob"}, []string{one.GetSubscriptionId(), one.GetAgentId()})
		require.Nil(t, one.IntentId)
		require.Equal(t, `The subscription "mine" of bob has 1 dead letter.`, one.GetSummary())
		require.Equal(t, []string{"REDRIVE", "DROP"}, words(one))
		require.Empty(t, words(h.only(t, asCaller(caller.Caller{Agent: "bob", ReadOnly: true}), isDeadLetters)))
		h.clock.Advance(time.Hour)
		h.die(t, 2, sub)
		again := h.only(t, as("bob"), isDeadLetters)
		require.Equal(t, []any{one.GetId(), one.GetSince().AsTime()}, []any{again.GetId(), again.GetSince().AsTime()})
		require.Equal(t, `The subscription "mine" of bob has 3 dead letters.`, again.GetSummary())
		require.Equal(t, again.String(), h.only(t, asOperator(), isDeadLetters).String())
		h.none(t, as("alice"), isDeadLetters)
		require.Empty(t, h.all(t, asOperator(), &listed{Kind: isDeadLetters, IntentId: &h.intent}, 100), "it follows everything")

		_, err := h.subscriptions.RedriveDeadLetters(as("bob"), &openintentv1.RedriveDeadLettersRequest{SubscriptionId: sub.GetId()})
		require.NoError(t, err)
		h.none(t, as("bob"), isDeadLetters)
		h.none(t, asOperator(), isDeadLetters)

		ends := h.subscribe(t, "bob", &openintentv1.CreateSubscriptionRequest{
			Name: pointer("ends"), ExpiresAt: timestamppb.New(h.clock.Now().Add(time.Hour)),
		})
		h.die(t, 1, ends)
		require.Equal(t, []string{"REDRIVE", "DROP"}, words(h.only(t, as("bob"), isDeadLetters)))
		h.clock.Advance(time.Hour)
		require.Equal(t, []string{"DROP"}, words(h.only(t, as("bob"), isDeadLetters)), "what has ended delivers nothing more")
	})
}

// An administrator of an intent sees which subscriptions to it are in trouble and whose they are, but may not change them.
func TestAnAdministratorLearnsOfDeadLetters(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		sub := h.subscribe(t, "bob", &openintentv1.CreateSubscriptionRequest{IntentId: &h.intent})
		h.subscribe(t, "bob", &openintentv1.CreateSubscriptionRequest{Name: pointer("other")})
		h.die(t, 1, sub)
		one := h.only(t, as("alice"), isDeadLetters)
		require.Equal(t, []string{h.intent, sub.GetId(), "bob"}, []string{one.GetIntentId(), one.GetSubscriptionId(), one.GetAgentId()})
		require.Equal(t, "A subscription of bob has 1 dead letter.", one.GetSummary())
		require.Empty(t, words(one))
		h.none(t, as("carol"), isDeadLetters)
		for _, form := range []*listed{{IntentId: &h.intent}, {IntentId: pointer(h.newIntent(t, "alice"))}} {
			for _, who := range []string{"alice", "bob"} {
				require.Equal(t, form.GetIntentId() == h.intent, len(h.all(t, as(who), form, 100)) == 1)
			}
		}
		elsewhere := caller.NewScope([]string{"elsewhere"}, nil)
		h.none(t, asCaller(caller.Caller{Agent: "bob", Scope: elsewhere}), isDeadLetters)
		h.none(t, asCaller(caller.Caller{Agent: "alice", Scope: elsewhere}), isDeadLetters)

		h.clock.Advance(time.Hour)
		_, err := h.subscriptions.DeleteSubscription(as("bob"), &openintentv1.DeleteSubscriptionRequest{SubscriptionId: sub.GetId()})
		require.NoError(t, err)
		h.none(t, as("alice"), isDeadLetters)
		h.none(t, as("bob"), isDeadLetters)
	})
}

// fail notes that a subscription's last post to its webhook failed, as the poster does. The poster of the house never sees the webhook.
func (h *house) fail(t *testing.T, sub *openintentv1.Subscription, problem *string) {
	t.Helper()
	require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{SQL: "UPDATE subscriptions SET last_error = ?, webhook_url = ? WHERE id = ?",
			Args: []any{problem, "https://example.org/hook", sub.GetId()}})
	}))
}

// wait stores that a message waits in a subscription.
func (h *house) wait(t *testing.T, sub *openintentv1.Subscription) {
	t.Helper()
	now := database.Micros(h.clock.Now())
	require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL: "INSERT INTO subscription_deliveries (subscription_no, number, intent_no, position, gathered_at, attempts, due_at)" +
				" SELECT subscription_no, 1, 1, 1, ?, 1, ? FROM subscriptions WHERE id = ?",
			Args: []any{now, now, sub.GetId()},
		})
	}))
}

func TestAWebhookThatTakesNothing(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		sub := h.subscribe(t, "bob", &openintentv1.CreateSubscriptionRequest{IntentId: &h.intent})
		came := h.clock.Now()
		h.wait(t, sub)
		h.fail(t, sub, pointer("The endpoint answered 503."))
		h.clock.Advance(5*time.Minute - time.Second)
		h.none(t, as("bob"), isWebhook)
		h.clock.Advance(time.Second + time.Millisecond)
		one := h.only(t, as("bob"), isWebhook)
		require.WithinDuration(t, came, one.GetSince().AsTime(), time.Millisecond)
		require.Equal(t, []string{h.intent, sub.GetId(), "bob"}, []string{one.GetIntentId(), one.GetSubscriptionId(), one.GetAgentId()})
		require.Equal(t, `The subscription "mine" of bob posts to a webhook that does not take its messages. The endpoint answered 503.`, one.GetSummary())
		require.Equal(t, []string{"REDRIVE"}, words(one))
		require.Equal(t, one.String(), h.only(t, asOperator(), isWebhook).String())
		admin := h.only(t, as("alice"), isWebhook)
		require.Equal(t, "A subscription of bob posts to a webhook that does not take its messages.", admin.GetSummary())
		require.Empty(t, words(admin))
		h.none(t, as("carol"), isWebhook)
		h.fail(t, sub, nil)
		for _, who := range []string{"bob", "alice"} {
			h.none(t, as(who), isWebhook)
		}
		h.none(t, asOperator(), isWebhook)

		ends := h.subscribe(t, "bob", &openintentv1.CreateSubscriptionRequest{
			Name: pointer("ends"), ExpiresAt: timestamppb.New(h.clock.Now().Add(time.Hour)),
		})
		for _, failing := range []*openintentv1.Subscription{sub, ends} {
			h.fail(t, failing, pointer("The endpoint answered 503."))
		}
		h.wait(t, ends)
		h.clock.Advance(6 * time.Minute)
		require.Len(t, h.of(t, as("bob"), isWebhook), 2)
		h.clock.Advance(time.Hour)
		require.Equal(t, sub.GetId(), h.only(t, as("bob"), isWebhook).GetSubscriptionId(), "what has expired posts nothing more")
		h.register(t, "bob", "")
		_, err := h.agents.DeregisterAgent(as("bob"), &openintentv1.DeregisterAgentRequest{AgentId: "bob"})
		require.NoError(t, err)
		h.none(t, as("bob"), isWebhook)
		h.none(t, asOperator(), isWebhook)
	})
}

func TestLetters(t *testing.T) {
	for count, words := range map[int]string{1: "1 dead letter", 2: "2 dead letters", 999: "999 dead letters", 1000: "1000 dead letters or more"} {
		require.Equal(t, words, letters(count), fmt.Sprint(count))
	}
}
