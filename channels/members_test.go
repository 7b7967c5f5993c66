package channels

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/intents"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

func TestAddAndRemoveMembers(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, "alice", &createRequest{IntentId: h.intent(t, "alice"), Name: "n", Members: []string{"b", "a"}}).GetId()
		members := func(answer *channelMessage, err error) []string {
			require.NoError(t, err)
			require.Equal(t, h.get(t, id).String(), answer.String())
			return answer.GetMembers()
		}
		addedAt := h.stored(t, id).listed["b"]
		h.takeChanges()
		h.clock.Advance(time.Second)
		require.Equal(t, []string{"b", "a", "d", "c"}, members(h.addMembers(as("alice"), id, "d", "b", "c", "d")))
		require.Equal(t, addedAt, h.stored(t, id).listed["b"], "agents on the list stay as they are")
		require.Len(t, h.takeChanges(), 1)
		require.Equal(t, []string{"b", "d", "c"}, members(h.removeMember(as("alice"), id, "a")))
		require.Equal(t, []string{"b", "d", "c", "a"}, members(h.addMembers(as("alice"), id, "a")))
		require.Len(t, h.takeChanges(), 2)
		require.Equal(t, []string{"b", "d", "c", "a"}, members(h.removeMember(as("alice"), id, "nobody")))
		require.Equal(t, []string{"b", "d", "c", "a"}, members(h.addMembers(as("alice"), id, "a", "b")))
		require.Empty(t, h.takeChanges(), "nothing changed")

		_, err := h.addMembers(as("alice"), id, "fine", "a/b")
		faulttest.RequireBadField(t, err, "members[1]")
		many := make([]string, 37)
		for i := range many {
			many[i] = fmt.Sprintf("agent-%d", i)
		}
		_, err = h.addMembers(as("alice"), id, many...)
		faulttest.RequireBadField(t, err, "members")
		require.Len(t, members(h.addMembers(as("alice"), id, append(many[:36:36], "a", "b", "c", "d")...)), 40, "exactly the bound is allowed")
		_, err = h.addMembers(as("alice"), id, many[36])
		faulttest.RequireBadField(t, err, "members")
	})
}

func TestManyAddAndRemoveAtOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, "alice", &createRequest{
			IntentId: h.intent(t, "alice"), Name: "n", Members: []string{"old-0", "old-1", "old-2", "old-3", "stays"},
		}).GetId()
		replica := &house{channels: h.replica()}
		errs := make(chan error, 64)
		var wait sync.WaitGroup
		for i := range 16 {
			room := []*house{h, replica}[i%2]
			wait.Go(func() {
				_, err := room.addMembers(as("alice"), id, fmt.Sprintf("new-%02d", i), "shared")
				errs <- err
			})
			wait.Go(func() {
				_, err := room.removeMember(as("alice"), id, fmt.Sprintf("old-%d", i%4))
				errs <- err
			})
		}
		wait.Wait()
		close(errs)
		for err := range errs {
			require.NoError(t, err)
		}
		expected := []string{"stays", "shared"}
		for i := range 16 {
			expected = append(expected, fmt.Sprintf("new-%02d", i))
		}
		require.ElementsMatch(t, expected, h.get(t, id).GetMembers())
		_, err := replica.addMembers(as("alice"), id, "last")
		require.NoError(t, err)
		require.Equal(t, "last", h.get(t, id).GetMembers()[len(expected)], "each room notices the other's changes")
	})
}

func TestReplacingTheListKeepsWhenMembersWereAdded(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, "alice", &createRequest{IntentId: h.intent(t, "alice"), Name: "n", Members: []string{"stays", "goes", "departs"}}).GetId()
		h.clock.Advance(time.Second)
		h.depart(t, "departs")
		h.clock.Advance(time.Second)
		answer, err := h.update(as("alice"), &channelMessage{Id: id, Members: []string{"new", "stays", "departs"}}, "members")
		require.NoError(t, err)
		require.Equal(t, []string{"new", "stays", "departs"}, answer.GetMembers())
		rules := h.stored(t, id)
		require.Equal(t, map[string]time.Time{"new": at(2), "stays": at(0), "departs": at(2)}, additions(rules))
	})
}

// A departure counts for every reader even before the stored list shows it. Adding the agent again after that counts again.
func TestDepartedAgentsAreNoMembers(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, "alice", &createRequest{IntentId: h.intent(t, "alice"), Name: "n", Members: []string{"gone", "here"}}).GetId()
		h.depart(t, "gone")
		require.Equal(t, []string{"here"}, h.get(t, id).GetMembers())
		require.Equal(t, []string{"gone", "here"}, h.stored(t, id).Members(), "the stored list does not show the departure yet")

		h.clock.Advance(time.Microsecond)
		answer, err := h.addMembers(as("alice"), id, "gone")
		require.NoError(t, err)
		require.Equal(t, []string{"here", "gone"}, answer.GetMembers())
		answer, err = h.addMembers(as("alice"), id, "gone")
		require.NoError(t, err)
		require.Equal(t, []string{"here", "gone"}, answer.GetMembers())
	})
}

func TestTheBoundDoesNotCountDepartedAgentsThatComeBack(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		full := make([]string, 40)
		for i := range full {
			full[i] = fmt.Sprintf("agent-%d", i)
		}
		id := h.create(t, "alice", &createRequest{IntentId: h.intent(t, "alice"), Name: "n", Members: full}).GetId()
		h.depart(t, "agent-7")
		h.clock.Advance(time.Second)
		answer, err := h.addMembers(as("alice"), id, "agent-7")
		require.NoError(t, err)
		require.Equal(t, "agent-7", answer.GetMembers()[39])
	})
}

func TestRemoveFromListsOfOneIntent(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID, other := h.intent(t, "alice"), h.intent(t, "alice")
		create := func(intentID, name string, members ...string) *Rules {
			return h.stored(t, h.create(t, "alice", &createRequest{IntentId: intentID, Name: name, Members: members}).GetId())
		}
		lists, without := create(intentID, "lists", "x", "gone", "y"), create(intentID, "without", "x")
		over, elsewhere := create(intentID, "over", "gone"), create(other, "elsewhere", "gone")
		_, err := h.closeChannel(as("alice"), over.ID)
		require.NoError(t, err)
		departure := h.clock.Now()
		h.clock.Advance(time.Second)
		back := create(intentID, "back", "gone")
		listing(t, h, "gone", lists.IntentNo, elsewhere.IntentNo)
		h.takeChanges()

		remove := func() (open []Key) {
			require.NoError(t, h.onIntent(intentID, func(tx *database.Tx, head *intents.Head) (err error) {
				open, err = h.channels.RemoveFromLists(tx, head, "gone", departure)
				return err
			}))
			return open
		}
		require.Equal(t, []Key{lists.Key}, remove())
		require.ElementsMatch(t, []Key{lists.Key, over.Key}, h.takeChanges())
		require.Equal(t, []string{"x", "y"}, h.get(t, lists.ID).GetMembers())
		require.Equal(t, []string{"x"}, h.get(t, without.ID).GetMembers())
		require.Empty(t, h.get(t, over.ID).GetMembers())
		require.Equal(t, []string{"gone"}, h.get(t, back.ID).GetMembers(), "added after the departure")
		require.Equal(t, []string{"gone"}, h.get(t, elsewhere.ID).GetMembers())
		require.Empty(t, remove())
		require.Empty(t, h.takeChanges())
	})
}

// listing checks which intents have a channel that lists the agent.
func listing(t *testing.T, h *house, agent string, expected ...int64) {
	var found []int64
	require.NoError(t, h.db.Read(t.Context(), func(tx *database.Tx) (err error) {
		found, err = IntentsListing(tx, agent)
		return err
	}))
	require.ElementsMatch(t, expected, found)
}

func TestMembersOfUnknownChannels(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		_, err := h.addMembers(as("alice"), "chan_01ARZ3NDEKTSV4RRFFQ69G5FAV", "bob")
		faulttest.Require(t, err, fault.NotFound, "CHANNEL_NOT_FOUND")
		_, err = h.removeMember(t.Context(), "chan_01ARZ3NDEKTSV4RRFFQ69G5FAV", "bob")
		faulttest.Require(t, err, fault.Unauthenticated, "UNAUTHENTICATED")
	})
}

// additions returns when the listed agents were added.
func additions(rules *Rules) map[string]time.Time {
	added := make(map[string]time.Time)
	for agent, m := range rules.listed {
		added[agent] = m.addedAt
	}
	return added
}
