package channels

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

func TestTheHistoryFloor(t *testing.T) {
	joined := time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)
	members := []member{{agent: "first", addedAt: joined}, {agent: "later", addedAt: joined, joinedAfter: 7}}
	for _, row := range []struct {
		name     string
		rules    Rules
		agent    string
		departed time.Time
		floor    int64
	}{
		{"explicit", Rules{Policy: PolicyExplicit, History: HistoryAll}, "later", time.Time{}, 0},
		{"explicit, opened before", Rules{Policy: PolicyExplicit, History: HistoryAll, OpenedThrough: 9}, "later", time.Time{}, 0},
		{"from joining, listed at the creation", Rules{Policy: PolicyExplicit, History: HistoryFromJoin}, "first", time.Time{}, 0},
		{"from joining, added later", Rules{Policy: PolicyExplicit, History: HistoryFromJoin}, "later", time.Time{}, 7},
		{"for everyone, never opened", Rules{Policy: PolicyIntent, History: HistoryFromJoin}, "later", time.Time{}, 0},
		{"opened, a stranger", Rules{Policy: PolicyIntent, OpenedThrough: 9}, "stranger", time.Time{}, 9},
		{"opened, one that is listed since", Rules{Policy: PolicyIntent, OpenedThrough: 9}, "first", time.Time{}, 9},
		{"opened, a member then", Rules{Policy: PolicyIntent, OpenedThrough: 9}, "inside", time.Time{}, 0},
		{"opened, a member that saw a part", Rules{Policy: PolicyIntent, OpenedThrough: 9}, "partly", time.Time{}, 4},
		{"opened, a member that departed before it was added", Rules{Policy: PolicyIntent, OpenedThrough: 9}, "inside", joined.Add(-1), 0},
		{"opened, a member that departed", Rules{Policy: PolicyIntent, OpenedThrough: 9}, "inside", joined, 9},
	} {
		rules := newRules(row.rules, members)
		rules.insiders = map[string]insider{"inside": {addedAt: joined}, "partly": {addedAt: joined, seenAfter: 4}}
		require.Equal(t, row.floor, rules.HistoryFloor(row.agent, row.departed), row.name)
	}
}

// Every way to read the rules also reads the stored openings and joinings.
func TestOpeningsAndJoiningsAreStored(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, "alice", &createRequest{
			IntentId: h.intent(t, "alice"), Name: "n", Members: []string{"first", "gone"}, MemberPolicy: ptr(explicit),
		}).GetId()
		h.clock.Advance(time.Second)
		h.depart(t, "gone")
		for range 3 {
			h.message(t, id)
		}
		_, err := h.addMembers(as("alice"), id, "later")
		require.NoError(t, err)
		require.EqualValues(t, 3, h.stored(t, id).listed["later"].joinedAfter)
		for range 2 {
			h.message(t, id)
		}
		_, err = h.update(as("alice"), &channelMessage{Id: id, MemberPolicy: openintentv1.MemberPolicy_MEMBER_POLICY_INTENT, Members: []string{"first", "later", "new"}},
			"members", "member_policy")
		require.NoError(t, err)
		rules := h.stored(t, id)
		for agent, floor := range map[string]int64{"first": 0, "later": 0, "new": 0, "gone": 5, "stranger": 5} {
			require.Equal(t, floor, rules.HistoryFloor(agent, time.Time{}), agent)
		}
		_, err = h.removeMember(as("alice"), id, "first")
		require.NoError(t, err)
		require.Zero(t, h.stored(t, id).HistoryFloor("first", time.Time{}), "a member still sees what it saw before")
		for range 1 {
			h.message(t, id)
		}
		for _, policy := range []openintentv1.MemberPolicy{explicit, openintentv1.MemberPolicy_MEMBER_POLICY_INTENT} {
			_, err = h.update(as("alice"), &channelMessage{Id: id, MemberPolicy: policy}, "member_policy")
			require.NoError(t, err)
		}
		rules = h.stored(t, id)
		require.Zero(t, rules.HistoryFloor("later", time.Time{}))
		require.EqualValues(t, 6, rules.HistoryFloor("first", time.Time{}), "the newest opening counts")
	})
}

// With the history from_join, a member sees nothing from before it joined, also after the channel is opened to all.
func TestAnOpeningShowsMembersNothingFromBeforeTheyJoined(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, "alice", &createRequest{
			IntentId: h.intent(t, "alice"), Name: "n", Members: []string{"first"}, MemberPolicy: ptr(explicit),
			Options: &openintentv1.ChannelOptions{History: openintentv1.ChannelHistory_CHANNEL_HISTORY_FROM_JOIN.Enum()},
		}).GetId()
		for range 3 {
			h.message(t, id)
		}
		_, err := h.addMembers(as("alice"), id, "later")
		require.NoError(t, err)
		h.message(t, id)
		_, err = h.update(as("alice"), &channelMessage{Id: id, Members: []string{"later", "new", "first"}}, "members")
		require.NoError(t, err)
		rules := h.stored(t, id)
		for agent, floor := range map[string]int64{"first": 0, "later": 3, "new": 4} {
			require.Equal(t, floor, rules.HistoryFloor(agent, time.Time{}), "%s: a new list changes nothing for those who stay", agent)
		}
		_, err = h.update(as("alice"), &channelMessage{Id: id, MemberPolicy: openintentv1.MemberPolicy_MEMBER_POLICY_INTENT}, "member_policy")
		require.NoError(t, err)
		rules = h.stored(t, id)
		for agent, floor := range map[string]int64{"first": 0, "later": 3, "new": 4, "stranger": 4} {
			require.Equal(t, floor, rules.HistoryFloor(agent, time.Time{}), agent)
		}
	})
}
