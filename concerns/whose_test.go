package concerns

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

// grant gives an agent a level of access to the house's intent.
func (h *house) grant(t *testing.T, agent string, level openintentv1.Permission) {
	t.Helper()
	_, err := h.intents.CreateAccessEntry(as("alice"), &openintentv1.CreateAccessEntryRequest{
		IntentId: h.intent, PrincipalId: agent, Permission: level,
	})
	require.NoError(t, err)
}

// An agent that may write in an intent does not see the concerns of its administrators.
func TestWhoMayWriteIsNoAdministrator(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "")
		h.die(t, 1, h.subscribe(t, "bob", &openintentv1.CreateSubscriptionRequest{IntentId: &h.intent}))
		posted := h.subscribe(t, "bob", &openintentv1.CreateSubscriptionRequest{IntentId: &h.intent, Name: pointer("posted")})
		h.wait(t, posted)
		h.fail(t, posted, pointer("The endpoint answered 503."))
		h.ask(t, "alice", "bob", 0)
		h.clock.Advance(11 * time.Minute)
		h.task(t, "sort", "bob")
		h.lose(t, "bob")
		h.ring(t, h.budgeted(t), nil)
		h.grant(t, "adam", openintentv1.Permission_PERMISSION_ADMIN)
		h.grant(t, "wanda", openintentv1.Permission_PERMISSION_WRITE)
		for _, k := range []kind{isUnanswered, isUnreachable, isDeadLetters, isWebhook, isBrake, isHolderLost} {
			require.NotEmpty(t, h.of(t, as("adam"), k), k.String())
			require.Empty(t, h.of(t, as("wanda"), k), k.String())
		}
	})
}

// An agent that was taken off a channel hears nothing more of its own requests there, even if it may write in the intent.
func TestWhoeverWasTakenOffAChannelLearnsNothingMoreOfIt(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		private := h.private(t, "alice", "bob", "carol")
		h.ask(t, "bob", "carol", 0, on(private))
		h.grant(t, "bob", openintentv1.Permission_PERMISSION_WRITE)
		h.clock.Advance(11 * time.Minute)
		h.only(t, as("bob"), isUnanswered)
		h.only(t, as("bob"), isUnreachable)
		_, err := h.channels.RemoveChannelMember(as("alice"), &openintentv1.RemoveChannelMemberRequest{ChannelId: private, AgentId: "bob"})
		require.NoError(t, err)
		h.none(t, as("bob"), isUnanswered)
		h.none(t, as("bob"), isUnreachable)
		h.only(t, as("alice"), isUnanswered)
	})
}
