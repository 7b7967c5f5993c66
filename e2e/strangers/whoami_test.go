package strangers

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/server/jsonform"
)

// isKnownAs checks what the server says of a caller over both faces. The text has what differs from an agent that may do everything
// but take a role.
func isKnownAs(t *testing.T, c *harness.Caller, text string) {
	t.Helper()
	want := new(openintentv1.WhoAmIResponse)
	require.Empty(t, jsonform.Decode([]byte(text), want, jsonform.Options{}))
	said, err := c.Agents.WhoAmI(t.Context(), &openintentv1.WhoAmIRequest{})
	require.NoError(t, err)
	require.True(t, proto.Equal(want, said), "%v", said)
	answer := c.REST(t, "GET", "/v1/whoami", "")
	require.Equal(t, 200, answer.Status, "%s", answer.Body)
	said = new(openintentv1.WhoAmIResponse)
	require.Empty(t, jsonform.Decode(answer.Body, said, jsonform.Options{}))
	require.True(t, proto.Equal(want, said), "%s", answer.Body)
}

// Every caller learns who it is, whatever its key is good for.
func TestACallerLearnsWhoItIs(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		isKnownAs(t, w.Operator(), `{"agent_id":"operator","operator":true,"roles":["*"]}`)
		isKnownAs(t, w.As("new"), `{"agent_id":"new","roles":["*"]}`)
		isKnownAs(t, w.With(harness.BoundKey, ""), `{"agent_id":"`+harness.BoundAgent+`"}`)

		for _, row := range []struct{ key, agent, known string }{
			{`"operator":true`, "", `{"agent_id":"operator","operator":true,"roles":["*"]}`},
			{`"agents":["bob"],"roles":["reviewer","writer"]`, "", `{"agent_id":"bob","roles":["reviewer","writer"]}`},
			{`"agents":["bob","dora"]`, "dora", `{"agent_id":"dora"}`},
			{`"agents":["bob"],"read_only":true`, "", `{"agent_id":"bob","read_only":true}`},
			{`"agents":["bob"],"human":true`, "", `{"agent_id":"bob","human":true}`},
			{
				`"agents":["bob"],"intents":["{other_intent}"],"channels":["{room}"]`, "",
				`{"agent_id":"bob","intents":["{other_intent}"],"channels":["{room}"]}`,
			},
			{`"agents":["bob"],"channels":["nowhere"],"read_only":true`, "", `{"agent_id":"bob","channels":["nowhere"],"read_only":true}`},
		} {
			key := w.issue(t, w.fill(`{"label":"x",`+row.key+`}`))
			isKnownAs(t, w.With(key.Secret, row.agent), w.fill(row.known))
		}
		for name, settings := range map[string]string{"guest-ann": `"read_only":false`, "guest-zoe": `"read_only":true`} {
			made := w.invites(t, "hidden_room", "{"+settings+"}")
			isKnownAs(t, w.With(made.Secret, name), w.fill(`{"agent_id":"`+name+`","guest":true,"channels":["{hidden_room}"],`+settings+`}`))
		}
	})
}

// Who has no key learns nothing, and nobody is taken for an agent that its key does not speak for.
func TestNobodyElseLearnsWhoACallerIs(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		unauthenticated("API_KEY_MISSING").check(t, h.With("", "").REST(t, "GET", "/v1/whoami", ""))
		unauthenticated("API_KEY_UNKNOWN").check(t, h.With("guess", "").REST(t, "GET", "/v1/whoami", ""))
		denied("AGENT_NOT_ALLOWED").check(t, h.With(harness.BoundKey, "alice").REST(t, "GET", "/v1/whoami", ""))
		_, err := h.With(harness.BoundKey, "alice").Agents.WhoAmI(t.Context(), &openintentv1.WhoAmIRequest{})
		require.Equal(t, "AGENT_NOT_ALLOWED", harness.Reason(err))
	})
}
