package console

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// invites makes an invite to a channel of alice's, and returns the channel and the secret.
func (h *house) invites(t *testing.T, body string) (channel, secret string) {
	t.Helper()
	alice := h.first().As("alice")
	var made struct{ ID, Secret string }
	post := func(path, body string) {
		answer := alice.REST(t, "POST", path, body)
		require.Equal(t, 201, answer.Status, "%s", answer.Body)
		answer.Decode(t, &made)
	}
	post("/v1/intents", `{"title":"Secret plans","default_policy":"closed"}`)
	post("/v1/intents/"+made.ID+"/channels", `{"name":"the club"}`)
	channel = made.ID
	post("/v1/channels/"+channel+"/invites", body)
	return channel, made.Secret
}

// ask asks what an invite is for.
func (h *house) ask(t *testing.T, secret string) harness.Answer {
	t.Helper()
	return h.last().Browser().Send(t, "POST", "/console/invite", `{"invite":"`+secret+`"}`, "X-OpenIntent-Console", "sign-in")
}

func withInvite(secret, name string) string {
	return `{"invite":"` + secret + `","name":"` + name + `"}`
}

func TestAGuestSignsInByLink(t *testing.T) {
	each(t, nil, func(t *testing.T, h *house) {
		channel, secret := h.invites(t, `{"max_agents":3}`)
		var shown map[string]any
		answer := h.ask(t, secret)
		require.Equal(t, 200, answer.Status, "%s", answer.Body)
		answer.Decode(t, &shown)
		require.NotEmpty(t, shown["expires_at"])
		delete(shown, "expires_at")
		require.Equal(t, map[string]any{"channel_id": channel, "channel": "the club", "invited_by": "alice", "read_only": false}, shown)
		require.NotContains(t, string(answer.Body), "plans", "the intent is not for guests")
		members := h.first().As("alice").REST(t, "GET", "/v1/channels/"+channel, "")
		require.NotContains(t, string(members.Body), "guest-", "nobody has come by asking")

		b := h.first().SignIn(t, withInvite(secret, "Anna Ä"))
		require.Equal(t, harness.SignedIn{AgentID: "guest-Anna Ä", Secret: b.Secret}, b.SignedIn)
		answer = b.REST(t, "POST", "/v1/channels/"+channel+"/messages", `{"payload":{"text":"hello"}}`)
		require.Equal(t, 201, answer.Status, "%s", answer.Body)
		require.NotContains(t, string(answer.Body), "sender_kind")
		madeUp := h.last().SignIn(t, `{"invite":"`+secret+`"}`)
		require.Regexp(t, `^guest-[a-z]{6}$`, madeUp.SignedIn.AgentID)
		again := h.last().SignIn(t, withInvite(secret, "guest-Anna Ä"))
		require.Equal(t, b.SignedIn.AgentID, again.SignedIn.AgentID, "whoever has the invite comes again")
		h.requireLasts(t, b)
		require.Equal(t, 201, h.first().Browser().SignIn(t, withInvite(secret, "Ben")).Status)
		requireRefused(t, h.first().Browser().SignIn(t, withInvite(secret, "Cleo")), 403, "INVITE_USED_UP")
		requireRefused(t, h.first().Browser().SignIn(t, `{"invite":"`+secret+`"}`), 403, "INVITE_USED_UP")
		other, otherSecret := h.invites(t, `{}`)
		require.NotEqual(t, channel, other)
		requireRefused(t, h.first().Browser().SignIn(t, withInvite(otherSecret, "Ben")), 409, "AGENT_NAME_TAKEN")
	})
}

// An observer watches a channel and changes nothing.
func TestTheObserverLink(t *testing.T) {
	each(t, nil, func(t *testing.T, h *house) {
		channel, secret := h.invites(t, `{"read_only":true}`)
		require.Contains(t, string(h.ask(t, secret).Body), `"read_only":true`)
		b := h.first().SignIn(t, `{"invite":"`+secret+`"}`)
		require.True(t, b.SignedIn.ReadOnly)
		stream := follow(t, b, "/v1/subscribe/channels/"+channel)
		answer := h.last().As("alice").REST(t, "POST", "/v1/channels/"+channel+"/messages", `{"to":"*","payload":{"text":"good morning"}}`)
		require.Equal(t, 201, answer.Status, "%s", answer.Body)
		require.Contains(t, string(b.REST(t, "GET", "/v1/channels/"+channel+"/messages", "").Body), "good morning")
		requireRefused(t, b.REST(t, "POST", "/v1/channels/"+channel+"/messages", `{"payload":{}}`), 403, "KEY_READ_ONLY")

		var invites struct{ Invites []struct{ ID string } }
		list := h.first().As("alice").REST(t, "GET", "/v1/channels/"+channel+"/invites", "")
		if list.Body[0] == '[' {
			list.Decode(t, &invites.Invites)
		} else {
			list.Decode(t, &invites)
		}
		require.Len(t, invites.Invites, 1)
		ended := h.first().As("alice").REST(t, "POST", "/v1/channels/"+channel+"/invites/"+invites.Invites[0].ID+"/revoke", "{}")
		require.Equal(t, 200, ended.Status, "%s", ended.Body)
		require.Contains(t, stream.rest(t), "API_KEY_REMOVED")
		eventually(t, "the session is over on both servers", func() bool {
			return b.REST(t, "GET", "/v1/whoami", "").Status == 401 && b.At(&h.last().Clients).REST(t, "GET", "/v1/whoami", "").Status == 401
		})
		h.requireOver(t, b)
		requireRefused(t, h.ask(t, secret), 401, "API_KEY_UNKNOWN")
	})
}

// An invite that is for certain names gives its places in their order.
func TestAnInviteForNames(t *testing.T) {
	each(t, nil, func(t *testing.T, h *house) {
		_, secret := h.invites(t, `{"agents":["guest-one","guest-two"]}`)
		require.Equal(t, "guest-one", h.first().SignIn(t, `{"invite":"`+secret+`"}`).SignedIn.AgentID)
		require.Equal(t, "guest-two", h.first().SignIn(t, `{"invite":"`+secret+`"}`).SignedIn.AgentID)
		require.Equal(t, "guest-two", h.last().SignIn(t, withInvite(secret, "two")).SignedIn.AgentID)
		requireRefused(t, h.first().Browser().SignIn(t, withInvite(secret, "three")), 403, "INVITE_USED_UP")
		h.clock.Advance(8 * 24 * time.Hour)
		requireRefused(t, h.first().Browser().SignIn(t, withInvite(secret, "two")), 401, "API_KEY_UNKNOWN")
	})
}
