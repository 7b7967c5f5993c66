package strangers

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	openintent "openintent/sdk/go"
	"openintent/server"
)

// invite is an invite with its secret.
type invite struct {
	Invite struct {
		ID     string
		Agents []string
	}
	Secret string
}

// invites makes an invite to a channel as alice, who manages everything.
func (w *world) invites(t *testing.T, room, body string) (made invite) {
	t.Helper()
	answer := w.do(t, "alice", "POST", "/v1/channels/{"+room+"}/invites", body)
	require.Equal(t, 201, answer.Status, "%s", answer.Body)
	require.Equal(t, "no-store", answer.Header.Get("Cache-Control"))
	answer.Decode(t, &made)
	require.Regexp(t, `^oi_[0-9A-Za-z]{49}$`, made.Secret)
	return made
}

// enter makes a guest come, and expects that it may.
func (w *world) enter(t *testing.T, made invite, room, name string) {
	t.Helper()
	answer := w.With(made.Secret, name).REST(t, "GET", w.fill("/v1/channels/{"+room+"}"), "")
	require.Equal(t, 200, answer.Status, "%s", answer.Body)
	require.Contains(t, string(answer.Body), `"`+name+`"`, "the guest is a member")
}

func (w *world) members(t *testing.T, room string) string {
	t.Helper()
	var channel struct{ Members []string }
	w.do(t, "alice", "GET", "/v1/channels/{"+room+"}", "").Decode(t, &channel)
	return strings.Join(channel.Members, " ")
}

// A guest takes part in a channel of a closed intent, and on one of members: others address it, broadcasts come to it, and it
// answers.
func TestAGuestTakesPart(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		for n, room := range []string{"hidden_room", "members_room", "other_room"} {
			name := fmt.Sprint("guest-", n)
			made := w.invites(t, room, `{"label":"for a friend"}`)
			before := w.do(t, "alice", "POST", "/v1/channels/{"+room+"}/messages", `{"to":"`+name+`","payload":{}}`)
			require.Equal(t, 403, before.Status, "nobody has that name yet: %s", before.Body)
			w.enter(t, made, room, name)
			guest := w.With(made.Secret, "")
			w.make(t, "question", "id", "alice", "/v1/channels/{"+room+"}/messages", `{"to":"`+name+`","message_type":"request","payload":{}}`)
			w.make(t, "call", "id", "alice", "/v1/channels/{"+room+"}/messages", `{"message_type":"broadcast","payload":{}}`)
			inbox := string(guest.REST(t, "GET", "/v1/agents/"+name+"/inbox", "").Body)
			require.Contains(t, inbox, w.places["question"])
			require.Contains(t, inbox, w.places["call"])
			answer := guest.REST(t, "POST", w.fill("/v1/channels/{"+room+"}/messages/{question}/reply"), `{"payload":{}}`)
			require.Equal(t, 201, answer.Status, "%s", answer.Body)
			answer = guest.REST(t, "POST", w.fill("/v1/channels/{"+room+"}/messages"), `{"to":"alice","payload":{}}`)
			require.Equal(t, 201, answer.Status, "%s", answer.Body)
		}
		w.goesOn(t)
	})
}

// answering answers each message.
func answering(context.Context, *openintent.Message) (any, error) {
	return map[string]string{"all": "well"}, nil
}

// An agent of an SDK joins with a server, a key and a name. It receives and answers.
func TestAnAgentJoinsByInvite(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		made := w.invites(t, "hidden_room", `{"agents":["guest-bobs-agent"]}`)
		client, err := openintent.Dial(openintent.Options{Server: h.GRPCAddress(), APIKey: made.Secret, AgentID: "guest-bobs-agent"})
		require.NoError(t, err)
		defer func() { require.NoError(t, client.Close()) }()
		ready := make(chan struct{})
		agent := client.Agent(openintent.AgentOptions{Ready: func() { close(ready) }})
		agent.OnMessage("", answering)
		ended := make(chan error, 1)
		go func() { ended <- agent.Run(t.Context()) }()
		select {
		case <-ready:
		case err := <-ended:
			require.NoError(t, err)
			require.Fail(t, "it ended")
		}
		answer := w.do(t, "alice", "POST", "/v1/channels/{hidden_room}/ask", `{"to":"guest-bobs-agent","payload":{"n":1},"timeout_seconds":20}`)
		require.Equal(t, 200, answer.Status, "%s", answer.Body)
		require.Contains(t, string(answer.Body), `"well"`)
		require.NoError(t, agent.Leave(t.Context(), false))
		require.NoError(t, <-ended)
	})
}

// The names of guests: what a bearer may choose, and what nobody else may.
func TestTheNamesOfGuests(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		made := w.invites(t, "room", `{"max_agents":2,"agents":["guest-expected"]}`)
		knock := func(secret, name string) harness.Answer {
			return w.With(secret, name).REST(t, "GET", w.fill("/v1/channels/{room}"), "")
		}
		for _, name := range []string{"bob", "guest", "Guest-x", "operator"} {
			require.Equal(t, 403, knock(made.Secret, name).Status, name)
		}
		denied("AGENT_NOT_ALLOWED").check(t, knock(made.Secret, "bob"))
		badField("X-Agent-ID").check(t, knock(made.Secret, "guest-"))
		require.Equal(t, 200, knock(made.Secret, "").Status, "the one name that it was given")
		require.Equal(t, 200, knock(made.Secret, "guest-chosen").Status)
		denied("AGENT_NEEDED").check(t, knock(made.Secret, ""))
		denied("INVITE_USED_UP").check(t, knock(made.Secret, "guest-third"))
		require.Equal(t, 200, knock(made.Secret, "guest-expected").Status)

		other := w.invites(t, "room", `{"max_agents":9}`)
		denied("AGENT_NEEDED").check(t, knock(other.Secret, ""))
		exists("AGENT_NAME_TAKEN").check(t, knock(other.Secret, "guest-chosen"))
		exists("AGENT_NAME_TAKEN").check(t, w.do(t, "alice", "POST", "/v1/channels/{room}/invites", `{"agents":["guest-chosen"]}`))
		require.Equal(t, 200, knock(other.Secret, "guest-own").Status)

		denied("AGENT_RESERVED").check(t, w.do(t, "guest-chosen", "GET", "/v1/agents/guest-chosen/inbox", ""))
		badField("agents[0]").check(t, w.Operator().REST(t, "POST", "/v1/keys", `{"label":"x","agents":["guest-chosen"]}`))
		badField("sender").check(t, w.Operator().REST(t, "POST", w.fill("/v1/channels/{room}/messages"), `{"sender":"guest-chosen","payload":{}}`))
		badField("agent_id").check(t, w.Operator().REST(t, "POST", "/v1/agents", `{"agent_id":"guest-new"}`))
		for _, wrong := range []struct{ body, field string }{
			{`{"agents":["bob"]}`, "agents[0]"}, {`{"max_agents":101}`, "max_agents"}, {`{"max_agents":0}`, "max_agents"},
			{`{"max_agents":1,"agents":["guest-q","guest-r"]}`, "max_agents"},
			{`{"expires_at":"2020-01-01T00:00:00Z"}`, "expires_at"},
			{`{"expires_at":"` + time.Now().AddDate(0, 0, 91).Format(time.RFC3339) + `"}`, "expires_at"},
		} {
			badField(wrong.field).check(t, w.do(t, "alice", "POST", "/v1/channels/{room}/invites", wrong.body))
		}
		conflict("CHANNEL_CLOSED").check(t, w.do(t, "alice", "POST", "/v1/channels/{closed_room}/invites", `{}`))
		w.goesOn(t)
	})
}

// Many bearers come for the last place at once. One gets it.
func TestTheLastPlaceIsGivenOnce(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		made := w.invites(t, "room", `{"max_agents":3,"agents":["guest-expected"]}`)
		const bearers = 20
		came := make([]harness.Answer, bearers)
		var coming sync.WaitGroup
		for i := range came {
			coming.Go(func() {
				came[i] = w.With(made.Secret, fmt.Sprint("guest-", i)).REST(t, "GET", w.fill("/v1/channels/{room}"), "")
			})
		}
		coming.Wait()
		let := 0
		for _, answer := range came {
			if answer.Status == 200 {
				let++
			} else {
				denied("INVITE_USED_UP").check(t, answer)
			}
		}
		require.Equal(t, 2, let)
		require.Len(t, strings.Fields(w.members(t, "room")), 2)
		w.goesOn(t)
	})
}

// A guest opens nothing but its channel, and manages nothing there. An invite that reads writes nothing.
func TestAGuestOpensNothingElse(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		made := w.invites(t, "other_room", `{}`)
		w.enter(t, made, "other_room", "guest-eve")
		coordinating := w.do(t, "alice", "POST", "/v1/intents/{other_intent}/coordinator", `{"agent_id":"guest-eve"}`)
		require.Equal(t, 201, coordinating.Status, "even a coordinator: %s", coordinating.Body)
		w.opensOnlyItsScope(t, made.Secret)
		for _, call := range []string{
			`PATCH /v1/channels/{other_room} {"status":"closed"}`, `DELETE /v1/channels/{other_room} `,
			`POST /v1/channels/{other_room}/members {"members":["guest-friend"]}`,
			`DELETE /v1/channels/{other_room}/members/guest-eve `,
			`POST /v1/channels/{other_room}/invites {}`, `GET /v1/channels/{other_room}/invites `,
			`POST /v1/channels/{other_room}/invites/` + made.Invite.ID + `/revoke {}`,
		} {
			verb, rest, _ := strings.Cut(call, " ")
			path, body, _ := strings.Cut(rest, " ")
			forbidden := denied("FORBIDDEN")
			forbidden.check(t, w.With(made.Secret, "").REST(t, verb, w.fill(path), body))
		}
		denied("ROLE_NOT_ALLOWED").check(t, w.With(made.Secret, "").REST(t, "POST", "/v1/agents", `{"agent_id":"guest-eve","role_id":"reviewer"}`))
		denied("NOT_AGENT_OWNER").check(t, w.With(made.Secret, "").REST(t, "POST", "/v1/agents", `{"agent_id":"alice"}`))
		notFound("AGENT_NOT_FOUND").check(t, w.With(made.Secret, "").REST(t, "GET", "/v1/agents/bob", ""))

		reading := w.invites(t, "other_room", `{"read_only":true}`)
		w.enter(t, reading, "other_room", "guest-reader")
		denied("KEY_READ_ONLY").check(t, w.With(reading.Secret, "").REST(t, "POST", w.fill("/v1/channels/{other_room}/messages"), `{"payload":{}}`))
		w.goesOn(t)
	})
}

// A revocation ends what guests began, and their memberships. Nobody has their names after that.
func TestARevokedInviteEndsWhatItBegan(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		w.readInbox(t)
		made, spare := w.invites(t, "room", `{"max_agents":2}`), w.invites(t, "room", `{}`)
		w.enter(t, made, "room", "guest-eve")
		readsInbox(t, w.With(made.Secret, ""), "guest-eve")
		begun := w.beginAs(t, made.Secret, "guest-eve", "room")
		w.enter(t, w.invites(t, "room", `{}`), "room", "guest-other")
		w.enter(t, made, "room", "guest-friend")
		begun.goOn(t)
		require.Contains(t, w.members(t, "room"), "guest-eve")
		for range 2 {
			answer := w.do(t, "alice", "POST", "/v1/channels/{room}/invites/"+made.Invite.ID+"/revoke", `{}`)
			require.Equal(t, 200, answer.Status, "%s", answer.Body)
			require.Contains(t, string(answer.Body), `"status":"revoked"`)
		}
		begun.end(t)
		w.opensNoMore(t, made.Secret)
		require.Equal(t, "guest-other", w.members(t, "room"))
		denied("TARGET_NOT_A_MEMBER").check(t, w.do(t, "alice", "POST", "/v1/channels/{room}/messages", `{"to":"guest-eve","payload":{}}`))
		exists("AGENT_NAME_TAKEN").check(t, w.With(spare.Secret, "guest-eve").REST(t, "GET", w.fill("/v1/channels/{room}"), ""))
		listed := string(w.do(t, "alice", "GET", "/v1/channels/{room}/invites", "").Body)
		require.Contains(t, listed, `"guest-eve"`)
		require.NotContains(t, listed, made.Secret)
		notFound("INVITE_NOT_FOUND").check(t, w.do(t, "alice", "POST", "/v1/channels/{other_room}/invites/"+made.Invite.ID+"/revoke", `{}`))
		w.goesOn(t)
	})
}

// An invite ends with its time, and its guests leave. So does one that the operator revokes as a key.
func TestAnExpiredInviteEndsWhatItBegan(t *testing.T) {
	onClock(t, func(t *testing.T, w *world, clock *ahead) {
		end := clock.now().Add(5 * time.Minute).Format(time.RFC3339Nano)
		made, other := w.invites(t, "room", `{"expires_at":"`+end+`"}`), w.invites(t, "room", `{}`)
		w.enter(t, made, "room", "guest-eve")
		readsInbox(t, w.With(made.Secret, ""), "guest-eve")
		w.enter(t, other, "room", "guest-other")
		begun := w.beginAs(t, made.Secret, "guest-eve", "room")
		clock.pass(3 * time.Minute)
		w.opens(t, made.Secret)
		begun.goOn(t)
		clock.pass(3 * time.Minute)
		w.opensNoMore(t, made.Secret)
		begun.end(t)
		require.Eventually(t, func() bool { return w.members(t, "room") == "guest-other" }, harness.Patience, 50*time.Millisecond)
		w.revoke(t, issued{Key: struct{ ID string }{other.Invite.ID}})
		require.Eventually(t, func() bool { return w.members(t, "room") == "" }, harness.Patience, 50*time.Millisecond)
		w.opensNoMore(t, other.Secret)
	})
}

// A guest that comes on one replica is known on the other, and an invite that is revoked there ends here.
func TestInvitesAreOnesOfAllReplicas(t *testing.T) {
	url := databasetest.URL(t, database.PostgreSQL)
	options := harness.Options{URL: url, Configure: func(cfg *server.Config) { cfg.Notifications = false }}
	w := newWorld(t, harness.Start(t, options))
	w.readInbox(t)
	other := &world{Server: harness.Start(t, options), places: w.places}
	made := w.invites(t, "room", `{"max_agents":2}`)
	other.enter(t, made, "room", "guest-eve")
	w.enter(t, made, "room", "guest-eve")
	readsInbox(t, w.With(made.Secret, "guest-eve"), "guest-eve")
	came := make([]int, 2)
	var coming sync.WaitGroup
	for i, replica := range []*world{w, other} {
		coming.Go(func() {
			came[i] = replica.With(made.Secret, fmt.Sprint("guest-", i)).REST(t, "GET", w.fill("/v1/channels/{room}"), "").Status
		})
	}
	coming.Wait()
	require.ElementsMatch(t, []int{200, 403}, came, "one of two bearers gets the last place")
	answer := other.do(t, "alice", "POST", "/v1/channels/{room}/invites/"+made.Invite.ID+"/revoke", `{}`)
	require.Equal(t, 200, answer.Status, "%s", answer.Body)
	for _, replica := range []*world{w, other} {
		require.Eventually(t, func() bool {
			return harness.Reason(replica.knock(t, made.Secret)) == "API_KEY_UNKNOWN"
		}, harness.Patience, 20*time.Millisecond)
	}
	require.Empty(t, w.members(t, "room"))
}

// Nobody fills the servers' memory with invites, or leaves no room for those of others.
func TestInvitesHaveABound(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		own := w.issue(t, `{"label":"alice","agents":["alice"]}`)
		path := w.fill("/v1/channels/{room}/invites")
		first := ""
		for range 10 {
			answer := w.With(own.Secret, "").REST(t, "POST", path, `{"max_agents":100}`)
			require.Equal(t, 201, answer.Status, "%s", answer.Body)
			var made invite
			answer.Decode(t, &made)
			first = made.Invite.ID
		}
		full := refusal{status: 429, code: "RESOURCE_EXHAUSTED", reason: "TOO_MANY_INVITES"}
		full.check(t, w.With(own.Secret, "").REST(t, "POST", path, `{}`))
		w.invites(t, "room", `{"max_agents":100}`)
		require.Equal(t, 200, w.do(t, "alice", "POST", "/v1/channels/{room}/invites/"+first+"/revoke", `{}`).Status)
		require.Equal(t, 201, w.With(own.Secret, "").REST(t, "POST", path, `{}`).Status)

		listed, after := 0, path+"?limit=4"
		for after != "" {
			answer := w.With(own.Secret, "").REST(t, "GET", after, "")
			require.Equal(t, 200, answer.Status, "%s", answer.Body)
			var page []map[string]any
			answer.Decode(t, &page)
			require.LessOrEqual(t, len(page), 4)
			listed += len(page)
			after, _, _ = strings.Cut(strings.TrimPrefix(answer.Header.Get("Link"), "<"), ">")
		}
		require.Equal(t, 12, listed)
		w.goesOn(t)
	})
}
