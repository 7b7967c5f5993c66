package channels

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
)

// exclusions reads an intent's exclusions for some agents.
func (h *house) exclusions(t *testing.T, intentNo int64, agentIDs ...string) *Exclusions {
	t.Helper()
	var found *Exclusions
	require.NoError(t, h.db.Read(context.Background(), func(tx *database.Tx) error {
		var statement database.Statement
		found, statement = PrepareExclusions(tx, intentNo, agentIDs)
		return tx.Pipeline(statement)
	}))
	return found
}

func TestExclusionsTellWhoComesToTakePart(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		create := func(name string, policy openintentv1.MemberPolicy, members ...string) *Rules {
			return h.stored(t, h.create(t, "alice", &createRequest{
				IntentId: intentID, Name: name, MemberPolicy: &policy, Members: members,
			}).GetId())
		}
		everyones := create("everyone's", openintentv1.MemberPolicy_MEMBER_POLICY_INTENT)
		listing, lacking := create("listing", explicit, "bob", "carol"), create("lacking", explicit, "carol")
		opening, closing := create("opening", explicit), create("closing", explicit)
		no, never := listing.IntentNo, time.Time{}
		before := h.exclusions(t, no, "bob", "dora")
		for rules, excluded := range map[*Rules]bool{
			everyones: false, listing: false, lacking: true, opening: true, closing: true,
		} {
			require.Equal(t, excluded, before.Excludes(rules.ChannelNo, "bob", never), rules.Name)
			require.Equal(t, rules != everyones, before.Excludes(rules.ChannelNo, "dora", never), rules.Name)
		}
		require.True(t, before.Excludes(listing.ChannelNo, "bob", h.clock.Now()), "a departure ends the membership")
		require.Empty(t, before.Admitting(h.exclusions(t, no, "bob", "dora"), "bob", never, never))
		require.False(t, h.exclusions(t, no).Excludes(everyones.ChannelNo, "bob", never))

		_, err := h.addMembers(as("alice"), lacking.ID, "bob")
		require.NoError(t, err)
		_, err = h.removeMember(as("alice"), listing.ID, "bob")
		require.NoError(t, err)
		_, err = h.update(as("alice"), &channelMessage{
			Id: opening.ID, MemberPolicy: openintentv1.MemberPolicy_MEMBER_POLICY_INTENT,
		}, "member_policy")
		require.NoError(t, err)
		later := h.exclusions(t, no, "bob", "dora")
		admitting := before.Admitting(later, "bob", never, never)
		slices.Sort(admitting)
		require.Equal(t, []int64{lacking.ChannelNo, opening.ChannelNo}, admitting)
		require.Equal(t, []int64{opening.ChannelNo}, before.Admitting(later, "dora", never, never))
		require.Equal(t, []int64{listing.ChannelNo}, later.Admitting(before, "bob", never, never))
		require.True(t, later.Excludes(closing.ChannelNo, "bob", never))

		_, err = h.closeChannel(as("alice"), closing.ID)
		require.NoError(t, err)
		require.False(t, h.exclusions(t, no, "bob").Excludes(closing.ChannelNo, "bob", never), "closed channels do not count")
	})
}
