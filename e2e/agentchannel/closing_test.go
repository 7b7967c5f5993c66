package agentchannel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// A state can name anybody as the holder of the handoff, and whoever takes part can post one. So it gives nobody the right to close. The
// creator gives it, by making the holder the coordinator of the channel's intent.
func TestTheHolderOfTheHandoffClosesAsTheCoordinator(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann, bob := agent{h.As("ann")}, agent{h.With(harness.BoundKey, "")}
		id := ann.open(t, "Handed over")
		intent := text(t, ann.does(t, 200, "GET", "/"+id, ""), "intent_id")
		granted := ann.REST(t, "POST", "/v1/intents/"+intent+"/acl/entries",
			`{"principal_id": "`+harness.BoundAgent+`", "principal_type": "agent", "permission": "write"}`)
		require.Equal(t, 201, granted.Status, "%s", granted.Body)
		guest := ann.invited(t, h, id, `{}`)
		for _, holder := range []agent{bob, guest} {
			handed := `{"handoff": {"holder": "` + holder.name() + `"}}`
			holder.posts(t, id, "state", handed)
			require.Equal(t, "FORBIDDEN", holder.refused(t, 403, "POST", "/"+id+"/close", ""), "it has named itself")
			ann.posts(t, id, "state", handed)
			require.Equal(t, "FORBIDDEN", holder.refused(t, 403, "POST", "/"+id+"/close", ""), "a state is no grant, whoever posts it")
		}

		made := ann.REST(t, "POST", "/v1/intents/"+intent+"/coordinator", `{"agent_id": "`+harness.BoundAgent+`"}`)
		require.Equal(t, 201, made.Status, "%s", made.Body)
		require.Equal(t, "closed", bob.does(t, 200, "POST", "/"+id+"/close", "")["status"])
	})
}
