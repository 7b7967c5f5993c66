package mcp

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// reviewer registers an agent with a role, past the door, and connects it.
func (h *house) reviewer(t *testing.T, name string) *agent {
	t.Helper()
	_, err := h.With(harness.Key, name).Agents.RegisterAgent(t.Context(), &openintentv1.RegisterAgentRequest{RoleId: new("reviewer")})
	require.NoError(t, err)
	return h.join(t, name)
}

// ends returns when a claim or a lease in an answer ends.
func ends(t *testing.T, answer object) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text(t, answer, "expires"))
	require.NoError(t, err)
	return at
}

// Of two agents with a role, the one that claims a request answers it, and never has to know of fences.
func TestAClaimDecidesWhoAnswers(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, bob, cora := h.join(t, "ann"), h.reviewer(t, "bob"), h.reviewer(t, "cora")
		room := ann.open(t, ann.intent(t, "Report", nil), "room")
		question := ann.ask(t, room, "role:reviewer", "Ship it?", structpb.NewStringValue("one"))
		require.Equal(t, "CLAIM_REQUIRED", bob.refused(t, "reply", arguments{"message": question, "text": "Yes"}).Refused)
		answer, _ := bob.call(t, "claim", arguments{"message": question, "ttl_s": 60})
		require.Equal(t, "bob", answer["holder"])
		require.NotZero(t, answer["fence"])
		said := cora.refused(t, "claim", arguments{"message": question})
		require.Equal(t, "CLAIMED", said.Refused)
		require.Equal(t, "bob", said.Facts["holder"])
		require.Equal(t, "CLAIM_LOST", cora.refused(t, "claim", arguments{"message": question, "release": true}).Refused)

		renewed, _ := bob.call(t, "claim", arguments{"message": question, "ttl_s": 3000})
		require.Equal(t, answer["fence"], renewed["fence"])
		require.True(t, ends(t, renewed).After(ends(t, answer)))
		released, _ := bob.call(t, "claim", arguments{"message": question, "release": true})
		require.Equal(t, object{"released": true}, released)
		require.Equal(t, "CLAIM_LOST", bob.refused(t, "claim", arguments{"message": question, "release": true}).Refused)

		cora.call(t, "claim", arguments{"message": question})
		require.Equal(t, "CLAIM_REQUIRED", bob.refused(t, "reply", arguments{"message": question, "text": "Yes"}).Refused)
		cora.call(t, "reply", arguments{"message": question, "text": "Yes"})
		require.Equal(t, "ANSWERED", bob.refused(t, "claim", arguments{"message": question}).Refused)
	})
}

// The sender of a thread holds it, renews it and gives it back, although the contract shows it no fence.
func TestASenderClaimsItsOwnThread(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.join(t, "ann"), h.join(t, "bob")
		room := ann.open(t, ann.intent(t, "Report", nil), "room")
		root := ann.tell(t, room, "I look into this")
		require.Equal(t, "CLAIM_LOST", ann.refused(t, "claim", arguments{"message": root, "release": true}).Refused)
		first, _ := ann.call(t, "claim", arguments{"message": root, "ttl_s": 60})
		second, _ := ann.call(t, "claim", arguments{"message": root, "ttl_s": 3000})
		require.Equal(t, first["fence"], second["fence"])
		require.True(t, ends(t, second).After(ends(t, first)))
		require.Equal(t, "CLAIMED", bob.refused(t, "claim", arguments{"message": root}).Refused)
		ann.call(t, "claim", arguments{"message": root, "release": true})
		answer, _ := bob.call(t, "claim", arguments{"message": root})
		require.Equal(t, "bob", answer["holder"])
	})
}

func TestALeaseOfAResource(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.join(t, "ann"), h.join(t, "bob")
		file := ann.intent(t, "Report", nil) + "/src/parser.go"
		answer, _ := ann.call(t, "claim", arguments{"resource": file, "ttl_s": 60})
		require.Equal(t, "ann", answer["holder"])
		said := bob.refused(t, "claim", arguments{"resource": file})
		require.Equal(t, "LEASE_HELD", said.Refused)
		require.Equal(t, "ann", said.Facts["agent_id"])
		require.Equal(t, "LEASE_NOT_FOUND", bob.refused(t, "claim", arguments{"resource": file, "release": true}).Refused)
		renewed, _ := ann.call(t, "claim", arguments{"resource": file, "ttl_s": 3000})
		require.Equal(t, answer["fence"], renewed["fence"])
		require.True(t, ends(t, renewed).After(ends(t, answer)))
		ann.call(t, "claim", arguments{"resource": file, "release": true})
		answer, _ = bob.call(t, "claim", arguments{"resource": file})
		require.Equal(t, "bob", answer["holder"])
		require.Greater(t, answer["fence"], renewed["fence"])
		for _, given := range []arguments{
			{}, {"resource": "no-slash"}, {"resource": "/x"}, {"resource": file, "message": "m"}, {"resource": file, "release": true, "ttl_s": 9},
			{"resource": file, "ttl_s": 1.5}, {"resource": file, "ttl_s": 90000},
		} {
			require.Equal(t, "INVALID_FIELD", bob.refused(t, "claim", given).Refused)
		}
	})
}
