package claim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

var noon = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

func held(agent string, fence int64) *Claim {
	return &Claim{AgentID: agent, Fence: fence, Key: "key of " + agent, ExpiresAt: noon.Add(time.Duration(fence) * time.Second)}
}

func over(agent string, fence int64) *Claim {
	c := held(agent, fence)
	c.Ended = EndedByTime
	return c
}

func TestDecide(t *testing.T) {
	bob, carol := "bob", "carol"
	for _, row := range []struct {
		name    string
		attempt Attempt
		claims  []*Claim
		free    int
		reason  string
		holder  string // who CLAIMED names
		outcome string
		of      int64 // the fence of the outcome's claim
	}{
		{"a free message", Attempt{Agent: bob}, nil, 1, "", "", "new", 0},
		{"one of two places", Attempt{Agent: bob}, []*Claim{held(carol, 1)}, 2, "", "", "new", 0},
		{"no free place", Attempt{Agent: bob}, []*Claim{held(carol, 1)}, 1, "CLAIMED", carol, "", 0},
		{"which of them ends first", Attempt{Agent: "eve"}, []*Claim{held(carol, 2), held(bob, 1)}, 2, "CLAIMED", bob, "", 0},
		{"renewed", Attempt{Agent: bob, Fence: 1}, []*Claim{held(bob, 1)}, 1, "", "", "renewed", 1},
		{"renewed with the key too", Attempt{Agent: bob, Fence: 1, Key: "key of bob"}, []*Claim{held(bob, 1)}, 1, "", "", "renewed", 1},
		{"without the fence", Attempt{Agent: bob}, []*Claim{held(bob, 1)}, 1, "CLAIMED", bob, "", 0},
		{"without the fence, with a free place", Attempt{Agent: bob}, []*Claim{held(bob, 1)}, 2, "CLAIMED", bob, "", 0},
		{"repeated", Attempt{Agent: bob, Key: "key of bob"}, []*Claim{held(bob, 1)}, 1, "", "", "repeated", 1},
		{"under another key", Attempt{Agent: bob, Key: "other"}, []*Claim{held(bob, 1)}, 1, "CLAIMED", bob, "", 0},
		{"under another's key", Attempt{Agent: bob, Key: "key of carol"}, []*Claim{held(carol, 1)}, 1, "CLAIMED", carol, "", 0},
		{"an older fence", Attempt{Agent: bob, Fence: 1}, []*Claim{held(bob, 2)}, 1, "CLAIM_LOST", "", "", 0},
		{"another's fence", Attempt{Agent: bob, Fence: 1}, []*Claim{held(carol, 1)}, 1, "CLAIM_LOST", "", "", 0},
		{"a fence of nothing", Attempt{Agent: bob, Fence: 1}, nil, 1, "CLAIM_LOST", "", "", 0},
		{"a claim that is over", Attempt{Agent: bob, Fence: 1}, []*Claim{over(bob, 1)}, 1, "CLAIM_LOST", "", "", 0},
		{"after one's own", Attempt{Agent: bob}, []*Claim{over(bob, 2), over(carol, 1)}, 2, "", "", "replaced", 2},
		{"after one's own, repeated", Attempt{Agent: bob, Key: "key of bob"}, []*Claim{over(bob, 1)}, 1, "", "", "replaced", 1},
		{"after another's", Attempt{Agent: bob}, []*Claim{over(carol, 1)}, 1, "", "", "replaced", 1},
		{"after the oldest", Attempt{Agent: bob}, []*Claim{held("dave", 1), over(carol, 3), over("eve", 2)}, 3, "", "", "replaced", 2},
		{"a free place goes before", Attempt{Agent: bob}, []*Claim{over(carol, 1)}, 2, "", "", "new", 0},
		{"nothing left", Attempt{Agent: bob}, nil, 0, "ANSWERED", "", "", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			outcome, err := row.attempt.Decide(row.claims, row.free)
			if row.reason != "" {
				require.Error(t, err)
				refusal := fault.From(err)
				require.Equal(t, row.reason, refusal.Reason)
				require.Equal(t, row.holder, refusal.Metadata["holder"])
				return
			}
			require.NoError(t, err)
			got := map[string]*Claim{"new": nil, "renewed": outcome.Renewed, "repeated": outcome.Repeated, "replaced": outcome.Replaced}
			for name, c := range got {
				if name == row.outcome && row.of != 0 {
					require.Equal(t, row.of, c.Fence)
				} else {
					require.Nil(t, c, name)
				}
			}
		})
	}
}

// Who asks without the fence of its own claim learns that it is its own.
func TestARefusalTellsTheHolderFromOthers(t *testing.T) {
	own, others := claimed(held("bob", 1), "bob"), claimed(held("carol", 1), "bob")
	require.Contains(t, fault.From(own).Message, "The caller holds the claim")
	require.Contains(t, fault.From(others).Message, "Another agent holds the claim")
}

func TestAnswers(t *testing.T) {
	by := func(agents ...string) map[string]struct{} {
		set := make(map[string]struct{})
		for _, agent := range agents {
			set[agent] = struct{}{}
		}
		return set
	}
	for _, row := range []struct {
		name    string
		answers Answers
		fence   int64
		reason  string
	}{
		{"with the claim", Answers{Wanted: 1, By: by(), Claims: []*Claim{held("bob", 2)}}, 2, ""},
		{"with a claim that is over", Answers{Wanted: 1, By: by(), Claims: []*Claim{over("bob", 2)}}, 2, ""},
		{"without a claim", Answers{Wanted: 1, By: by()}, 0, "CLAIM_REQUIRED"},
		{"without the fence", Answers{Wanted: 1, By: by(), Claims: []*Claim{held("bob", 2)}}, 0, "CLAIM_REQUIRED"},
		{"with an older fence", Answers{Wanted: 1, By: by(), Claims: []*Claim{held("bob", 2)}}, 1, "CLAIM_LOST"},
		{"with another's fence", Answers{Wanted: 1, By: by(), Claims: []*Claim{held("carol", 2)}}, 2, "CLAIM_LOST"},
		{"with a fence of nothing", Answers{Wanted: 1, By: by()}, 2, "CLAIM_LOST"},
		{"answered, which goes before", Answers{Wanted: 1, By: by("carol")}, 0, "ANSWERED"},
		{"answered, and the answer is gone", Answers{Wanted: 1, Closed: true, By: by()}, 2, "ANSWERED"},
		{"one of two", Answers{Wanted: 2, By: by("carol"), Claims: []*Claim{held("bob", 2)}}, 2, ""},
		{"a second time", Answers{Wanted: 3, By: by("bob"), Claims: []*Claim{held("carol", 2)}}, 2, "ANSWERED"},
		{"after two of two", Answers{Wanted: 2, By: by("carol", "dave"), Claims: []*Claim{held("bob", 2)}}, 2, "ANSWERED"},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.answers.NeedsClaim = true
			err := row.answers.Refuse("bob", row.fence)
			if row.reason == "" {
				require.NoError(t, err)
				before := len(row.answers.By)
				require.Equal(t, "bob", row.answers.Take("bob").AgentID)
				require.Empty(t, row.answers.Claims)
				require.Len(t, row.answers.By, before+1)
				require.Equal(t, before+1 == row.answers.Wanted, row.answers.Full())
				return
			}
			faulttest.Require(t, err, fault.Conflict, row.reason)
		})
	}
}

func TestAnswersWithoutClaims(t *testing.T) {
	answers := Answers{Wanted: 1, By: make(map[string]struct{})}
	require.NoError(t, answers.Refuse("bob", 0))
	require.NoError(t, answers.Refuse("bob", 7), "a fence that nobody asked for does no harm")
	require.Nil(t, answers.Take("bob"))
	require.True(t, answers.Full())
	for _, agent := range []string{"bob", "operator"} {
		faulttest.Require(t, answers.Refuse(agent, 0), fault.Conflict, "ANSWERED")
	}
}
