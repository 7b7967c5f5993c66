package channels

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/intents"
	"openintent/internal/database"
)

// A guest takes part where it is listed, whatever the policy and the access to the intent, and manages nothing.
func TestWhereAGuestTakesPart(t *testing.T) {
	added := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now, listed := added.Add(time.Hour), []member{{agent: "guest-a", addedAt: added, joinedAfter: 7}}
	for _, policy := range []Policy{PolicyIntent, PolicyExplicit} {
		for _, history := range []History{HistoryAll, HistoryFromJoin} {
			rules := newRules(Rules{CreatedBy: "guest-a", Policy: policy, History: history}, listed)
			require.True(t, rules.Participates("guest-a", false, nil, time.Time{}, now))
			require.False(t, rules.Participates("guest-b", false, nil, time.Time{}, now))
			require.False(t, rules.Participates("guest-a", false, nil, added, now), "it has left")
			require.False(t, rules.Manages("guest-a", false, nil, now), "even as the creator")
			floor := int64(0)
			if history == HistoryFromJoin {
				floor = 7
			}
			require.Equal(t, floor, rules.HistoryFloor("guest-a", time.Time{}))
		}
	}
}

// Who has no access to the intent takes part in none of its channels, listed or not, and manages none, not even its own.
func TestAccessToTheIntentComesFirst(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "owner")
		made := h.create(t, "worker", &createRequest{IntentId: intentID, Name: "talk", MemberPolicy: explicit.Enum(), Members: []string{"worker", "reader"}})
		judge := func(agent string) (participates, manages bool) {
			require.NoError(t, h.db.Read(t.Context(), func(tx *database.Tx) error {
				key, err := h.channels.Locate(tx, made.GetId())
				require.NoError(t, err)
				head, err := intents.ReadHead(tx, key.IntentNo)
				require.NoError(t, err)
				access, err := h.intents.Rules(tx, key.IntentNo, head.Epoch)
				require.NoError(t, err)
				rules, err := h.channels.Rules(tx, key, head.Epoch)
				require.NoError(t, err)
				participates = rules.Participates(agent, false, access, time.Time{}, head.Now())
				manages = rules.Manages(agent, false, access, head.Now())
				return nil
			}))
			return participates, manages
		}
		participates, manages := judge("worker")
		require.True(t, participates && manages)
		h.closeAccess(t, intentID)
		participates, manages = judge("worker")
		require.False(t, participates)
		require.False(t, manages)
		participates, manages = judge("reader")
		require.True(t, participates)
		require.False(t, manages)
	})
}
