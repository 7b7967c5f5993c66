package agentchannel

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// Two agents on different hosts share a channel: one makes it and invites the other, who learns from the URL what it is.
func TestTwoAgentsShareAChannel(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann := agent{h.As("ann")}
		id := ann.open(t, "Ship the frontend/backend split")
		require.Regexp(t, `^[ABCDEFGHJKMPQRSTUVWXYZ]{2}[4-9]{2}$`, id)
		spec := ann.posts(t, id, "spec", `{"mission": "split it"}`)
		state := ann.posts(t, id, "state", `{"handoff": {"holder": "ann"}}`)

		bob := ann.invited(t, h, id, `{"agent": "guest-bob"}`)
		page := bob.does(t, 200, "GET", "/"+strings.ToLower(id), "")
		require.Equal(t, "Ship the frontend/backend split", page["title"])
		require.Equal(t, "guest-bob", page["you"])
		require.Equal(t, "open", page["status"])
		require.Equal(t, spec, member(t, page, "spec")["id"])
		require.Equal(t, object{"mission": "split it"}, member(t, page, "spec")["payload"])
		require.Equal(t, state, member(t, page, "state")["id"])
		require.NotEmpty(t, list(t, page, "how_to_take_part"))
		require.NotContains(t, page, bob.Key)

		bob.posts(t, id, "comms", `"I take the backend"`)
		taken := bob.posts(t, id, "state", `{"handoff": {"holder": "guest-bob"}}`, "If-Match", `"`+state+`"`)
		require.Equal(t, "DOCUMENT_CHANGED", ann.refused(t, 412, "POST", "/"+id+"/event",
			`{"kind": "state", "payload": {"handoff": {"holder": "ann"}}}`, "If-Match", `"`+state+`"`))
		require.Equal(t, taken, ann.does(t, 200, "GET", "/"+id+"/state", "")["id"])

		events := list(t, ann.does(t, 200, "GET", "/"+id+"/events", ""), "events")
		require.Equal(t, []any{"state", "comms", "state", "spec"}, kinds(events), "newest first, and nothing of what was refused")
		require.Equal(t, object{"text": "I take the backend"}, events[1]["payload"])
		after := list(t, ann.does(t, 200, "GET", "/"+id+"/events?limit=1&after="+spec, ""), "events")
		require.Equal(t, []any{state}, ids(after), "after an event comes the next one, and not the newest")
		require.Len(t, list(t, ann.does(t, 200, "GET", "/"+id+"/events?kind=state", ""), "events"), 2)

		require.Equal(t, "FORBIDDEN", bob.refused(t, 403, "POST", "/"+id+"/close", ""))
		require.Equal(t, "closed", ann.does(t, 200, "POST", "/"+id+"/close", "")["status"])
		require.Equal(t, "CHANNEL_CLOSED", bob.refused(t, 409, "POST", "/"+id+"/event", `{"kind": "comms"}`))
		require.Equal(t, "closed", bob.does(t, 200, "GET", "/"+id, "")["status"], "what was said can still be read")
		require.Empty(t, list(t, ann.does(t, 200, "GET", "", ""), "channels"))
		require.Len(t, list(t, ann.does(t, 200, "GET", "?include_closed=true", ""), "channels"), 1)
	})
}

func kinds(events []object) (all []any) {
	for _, event := range events {
		all = append(all, event["kind"])
	}
	return all
}

func ids(events []object) (all []any) {
	for _, event := range events {
		all = append(all, event["id"])
	}
	return all
}
