package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// talk is a channel with one message of each kind that attention treats differently.
type talk struct {
	*harness.Server
	channel                   string
	asked, told, said, byRole string
}

func newTalk(t *testing.T, h *harness.Server) *talk {
	w := &talk{Server: h}
	intent := w.made(t, "alice", "/v1/intents", `{"title":"Report"}`)
	w.channel = "/v1/channels/" + w.made(t, "alice", "/v1/intents/"+intent+"/channels", `{"name":"room"}`)
	require.Equal(t, 201, w.As("bob").REST(t, "POST", "/v1/agents", `{"role_id":"reviewer"}`).Status)
	w.made(t, "bob", w.channel+"/messages", `{"payload":{}}`) // bob takes part
	w.asked = w.made(t, "alice", w.channel+"/messages", `{"to":"bob","message_type":"request","payload":{"n":1}}`)
	w.told = w.made(t, "alice", w.channel+"/messages", `{"to":"bob","payload":{"n":2}}`)
	w.said = w.made(t, "alice", w.channel+"/messages", `{"message_type":"broadcast","payload":{"n":3}}`)
	w.byRole = w.made(t, "alice", w.channel+"/messages", `{"to":"role:reviewer","message_type":"request","payload":{"n":4}}`)
	return w
}

// made makes something over REST and returns its id.
func (w *talk) made(t *testing.T, agent, path, body string) string {
	t.Helper()
	answer := w.As(agent).REST(t, "POST", path, body)
	require.Equal(t, 201, answer.Status, "%s", answer.Body)
	var made struct{ ID string }
	answer.Decode(t, &made)
	return made.ID
}

// refuses makes a call over REST and requires the refusal.
func (w *talk) refuses(t *testing.T, agent, call, body string, status int, reason string) {
	t.Helper()
	verb, path, _ := strings.Cut(call, " ")
	answer := w.As(agent).REST(t, verb, path, body)
	var problem struct{ Reason string }
	answer.Decode(t, &problem)
	require.Equal(t, status, answer.Status, "%s: %s", call, answer.Body)
	require.Equal(t, reason, problem.Reason, call)
}

type block struct {
	Directedness, Policy, Injection, Reason, Priority *string
	Rules                                             []struct{ Rule, Effect string }
}

func (w *talk) attention(t *testing.T, agent, message, query string) (b block) {
	t.Helper()
	answer := w.As(agent).REST(t, "GET", w.channel+"/messages/"+message+"/attention"+query, "")
	require.Equal(t, 200, answer.Status, "%s", answer.Body)
	answer.Decode(t, &b)
	return b
}

func TestTheInboxIsSiftedByWords(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newTalk(t, h)
		inbox := func(query string) (ids []string) {
			answer := w.As("bob").REST(t, "GET", "/v1/agents/bob/inbox"+query, "")
			require.Equal(t, 200, answer.Status, "%s", answer.Body)
			var page struct {
				Items []struct{ Message struct{ ID string } }
			}
			answer.Decode(t, &page)
			for _, item := range page.Items {
				ids = append(ids, item.Message.ID)
			}
			return ids
		}
		require.Equal(t, []string{w.asked, w.told, w.said, w.byRole}, inbox(""))
		require.Equal(t, []string{w.asked, w.byRole}, inbox("?policy=must_respond,may_respond"))
		require.Equal(t, []string{w.asked, w.byRole}, inbox("?policy=must_respond&policy=may_respond"))
		require.Equal(t, []string{w.told}, inbox("?include=attention&policy=ack_only"))
		for _, query := range []string{
			"?policy=never", "?policy=", "?policy=unspecified", "?policy=must_respond,must_respond", "?include=annotations",
			"?include=attention,annotations", "?include=",
		} {
			w.refuses(t, "bob", "GET /v1/agents/bob/inbox"+query, "", 400, "INVALID_FIELD")
		}
	})
}

func TestWhoIsToldWhatAMessageAsks(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newTalk(t, h)
		require.Equal(t, "direct_request", *w.attention(t, "bob", w.asked, "").Reason, "the recipient")
		require.Equal(t, "direct_request", *w.attention(t, "bob", w.asked, "?agent_id=bob").Reason)
		require.Equal(t, "direct_request", *w.attention(t, "alice", w.asked, "?agent_id=bob").Reason, "the sender")
		require.Equal(t, "direct_request", *w.attention(t, "", w.asked, "?agent_id=bob").Reason, "the operator")
		require.Equal(t, "may_respond", *w.attention(t, "alice", w.byRole, "?agent_id=bob").Policy)

		own := w.attention(t, "alice", w.asked, "")
		require.Nil(t, own.Directedness)
		require.Nil(t, own.Policy)
		require.Equal(t, "own_message", own.Rules[len(own.Rules)-1].Rule)
		for _, agent := range []string{"carol", "nobody%20at%20all"} {
			require.Nil(t, w.attention(t, "alice", w.asked, "?agent_id="+agent).Reason, "no recipient")
		}
		for _, call := range []string{w.asked + "/attention", w.said + "/attention?agent_id=bob", "msg_x/attention"} {
			w.refuses(t, "carol", "GET "+w.channel+"/messages/"+call, "", 404, "MESSAGE_NOT_FOUND")
		}
		require.Equal(t, "ambient", *w.attention(t, "carol", w.said, "").Reason, "everybody is told about themselves")
	})
}

func TestWhatBecameOfAMessage(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newTalk(t, h)
		disposes := "POST " + w.channel + "/messages/" + w.asked + "/disposition"
		w.refuses(t, "alice", disposes, `{"disposition":"ignored"}`, 403, "NOT_A_RECIPIENT")
		w.refuses(t, "", disposes, `{"disposition":"ignored"}`, 403, "NOT_A_RECIPIENT")
		w.refuses(t, "carol", disposes, `{"disposition":"ignored"}`, 404, "MESSAGE_NOT_FOUND")
		for _, body := range []string{
			`{}`, `{"disposition":"seen"}`, `{"disposition":"ignored","until":"2030-01-01T00:00:00Z"}`,
			`{"disposition":"ignored","reason":"` + strings.Repeat("x", 201) + `"}`, `{"disposition":"ignored","reason":"\u0000"}`,
		} {
			w.refuses(t, "bob", disposes, body, 400, "INVALID_FIELD")
		}
		said := w.As("bob").REST(t, "POST", w.channel+"/messages/"+w.asked+"/disposition", `{"disposition":"claimed"}`)
		require.Equal(t, 200, said.Status, "%s", said.Body)
		require.Equal(t, 200, w.As("bob").REST(t, "POST", "/v1/agents/bob/inbox/surfaced", `{"message_ids":["`+w.asked+`"]}`).Status)
		deliveries := w.As("alice").REST(t, "GET", w.channel+"/messages/"+w.asked+"/deliveries", "")
		require.Contains(t, string(deliveries.Body), `"status":"surfaced"`)
		require.Contains(t, string(deliveries.Body), `"disposition":"claimed"`)
		w.refuses(t, "carol", "POST /v1/agents/carol/inbox/surfaced", `{"message_ids":["`+w.asked+`"]}`, 404, "MESSAGE_NOT_FOUND")
	})
}
