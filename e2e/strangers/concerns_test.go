package strangers

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// Nobody learns of a concern that is not theirs, neither what it is nor that there is one, with any filter and any cursor.
func TestConcernsTellALoneCallerNothing(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		w.makeConcerns(t)
		alices := w.concerns(t, w.As("alice"), "?limit=1")
		require.NotNil(t, alices.NextCursor)
		filters := []string{
			"", "?limit=1", "?intent_id={intent}", "?intent_id={hidden_intent}", "?intent_id=absent", "?agent_id=alice", "?agent_id=bob",
			"?agent_id=absent", "?cursor=" + url.QueryEscape(*alices.NextCursor) + "&limit=1",
		}
		for number, name := range openintentv1.ConcernKind_name {
			if number != 0 {
				filters = append(filters, "?kind="+strings.ToLower(strings.TrimPrefix(name, "CONCERN_KIND_")))
			}
		}
		for _, who := range []*harness.Caller{w.With(harness.BoundKey, ""), w.As("carol")} {
			nothing := string(who.REST(t, "GET", "/v1/concerns", "").Body)
			for _, filter := range filters {
				answer := who.REST(t, "GET", w.fill("/v1/concerns"+filter), "")
				require.Equal(t, 200, answer.Status, "%s", answer.Body)
				require.Equal(t, nothing, string(answer.Body), filter)
			}
			found, err := who.Concerns.ListConcerns(t.Context(), &openintentv1.ListConcernsRequest{})
			require.NoError(t, err)
			require.Empty(t, found.GetConcerns())
		}
		w.goesOn(t)
	})
}

// Who administers an intent learns that somebody waits on a channel that it is not on, and no more than that.
func TestAnAdministratorIsNotToldWhoAsksWhom(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		require.Equal(t, 201, w.do(t, "alice", "POST", "/v1/intents/{intent}/agents", `{"agent_id":"dora"}`).Status)
		w.make(t, "bobs_room", "id", "bob", "/v1/intents/{intent}/channels",
			`{"name":"two","member_policy":"explicit","members":["bob","carol"]}`)
		w.make(t, "carol_agent", "agent_id", "carol", "/v1/agents", `{}`)
		w.make(t, "between", "id", "bob", "/v1/channels/{bobs_room}/messages",
			`{"to":"carol","message_type":"request","payload":{"secret":"`+secret+`"}}`)
		own := w.concerns(t, w.As("bob"), "?kind=unreachable").Concerns
		require.Len(t, own, 1)
		require.Equal(t, []any{w.places["between"], "carol"}, []any{own[0]["message_id"], own[0]["agent_id"]})
		path := w.fill("/v1/concerns?kind=unreachable&intent_id={intent}")
		answer := w.As("dora").REST(t, "GET", path, "")
		for _, hidden := range []string{w.places["between"], "carol", "bob", secret} {
			require.NotContains(t, string(answer.Body), hidden)
		}
		seen := w.concerns(t, w.As("dora"), "?kind=unreachable").Concerns
		require.Len(t, seen, 1)
		require.Equal(t, own[0]["id"], seen[0]["id"])
		require.Equal(t, w.places["bobs_room"], seen[0]["channel_id"])
		require.Empty(t, seen[0]["actions"])
		for _, filter := range []string{"?agent_id=carol", "?agent_id=bob"} {
			require.Empty(t, w.concerns(t, w.As("dora"), filter+"&kind=unreachable").Concerns, filter)
		}
		require.Contains(t, string(w.Operator().REST(t, "GET", path, "").Body), w.places["between"], "the operator sees all")
	})
}

// A key for some places shows what lies there, and a key that only reads offers nothing to do.
func TestConcernsOfNarrowKeys(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		w.makeConcerns(t)
		elsewhere := []issued{
			w.issue(t, w.fill(`{"label":"an intent","agents":["alice"],"roles":["*"],"intents":["{other_intent}"]}`)),
			w.issue(t, w.fill(`{"label":"a channel","agents":["bob"],"channels":["{other_room}"]}`)),
			w.issue(t, w.fill(`{"label":"administrator","agents":["alice"],"roles":["*"],"channels":["{other_room}"]}`)),
		}
		for _, key := range elsewhere {
			require.Empty(t, w.concerns(t, w.With(key.Secret, ""), "").Concerns)
			denied("OUT_OF_SCOPE").check(t, w.With(key.Secret, "").REST(t, "GET", w.fill("/v1/concerns?intent_id={hidden_intent}"), ""))
		}
		here := w.issue(t, w.fill(`{"label":"here","agents":["bob"],"channels":["{members_room}"]}`))
		found := w.concerns(t, w.With(here.Secret, ""), "").Concerns
		require.Len(t, found, 1)
		require.Equal(t, w.places["question"], found[0]["message_id"])
		require.NotEmpty(t, found[0]["actions"])
		reads := w.issue(t, `{"label":"reads","agents":["bob"],"read_only":true}`)
		for _, one := range w.concerns(t, w.With(reads.Secret, ""), "").Concerns {
			require.Empty(t, one["actions"], "%v", one)
		}
	})
}

// makeConcerns makes questions of alice's that wait for bob: on a channel for the two, and in an intent that nobody else may enter.
func (w *world) makeConcerns(t *testing.T) {
	t.Helper()
	w.make(t, "hidden_entry", "id", "alice", "/v1/intents/{hidden_intent}/acl/entries", `{"principal_id":"bob","permission":"write"}`)
	for place, room := range map[string]string{"question": "{members_room}", "hidden_question": "{hidden_room}"} {
		w.make(t, place, "id", "alice", "/v1/channels/"+room+"/messages", `{"to":"bob","message_type":"request","payload":{"secret":"`+secret+`"}}`)
	}
	require.Len(t, w.concerns(t, w.As("bob"), "?kind=question").Concerns, 2)
	require.Len(t, w.concerns(t, w.As("alice"), "?kind=unreachable").Concerns, 2)
}

// concernPage is a page as it comes over REST.
type concernPage struct {
	Concerns   []map[string]any `json:"concerns"`
	NextCursor *string          `json:"next_cursor"`
}

func (w *world) concerns(t *testing.T, who *harness.Caller, filter string) (page concernPage) {
	t.Helper()
	answer := who.REST(t, "GET", w.fill("/v1/concerns"+filter), "")
	require.Equal(t, 200, answer.Status, "%s", answer.Body)
	answer.Decode(t, &page)
	return page
}
