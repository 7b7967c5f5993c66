package messaging

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/reading"
)

// What reaches an agent: what is to it or to its role, its own messages, what is to everyone where it takes part, and its
// assignments.
func TestFeedOfWhatReachesAnAgent(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		open := h.open(t)
		intentID := h.channel(t, open).GetIntentId()
		secret := h.explicitIn(t, intentID, "secret", "member", "alice", "former")
		h.register(t, "tess", "tester")
		h.register(t, "former", "")
		h.clock.Advance(time.Second)
		h.deregister(t, "former")
		h.clock.Advance(time.Second)
		begin := h.positionOf(t, open)
		send := func(agent, channelID, to, text string) {
			h.send(t, agent, &sendRequest{ChannelId: channelID, To: &to, Payload: content(text)})
		}
		send("alice", open, "*", "all")
		send("alice", open, "bob", "bob")
		send("alice", open, "role:tester", "testers")
		send("bob", open, "carol", "carol")
		send("alice", secret, "*", "members")
		assign := func(agent string) {
			_, err := h.intents.AssignAgent(asOperator(), &openintentv1.AssignAgentRequest{IntentId: intentID, AgentId: agent})
			require.NoError(t, err)
		}
		assign("dora")
		_, err := h.intents.UnassignAgent(asOperator(), &openintentv1.UnassignAgentRequest{IntentId: intentID, AgentId: "dora"})
		require.NoError(t, err)
		assign("erna")
		h.log(t, intentID, "thought")
		_, err = h.intents.AppendEvent(asOperator(), &openintentv1.AppendEventRequest{IntentId: intentID, EventType: "agent_assigned"})
		require.NoError(t, err)
		send("alice", open, "*", "again")
		for agent, said := range map[string]string{
			"alice":    "all bob testers members again", // its own, and it has sent there
			"bob":      "all bob carol again",           // it has sent there
			"carol":    "carol",
			"tess":     "testers",
			"creator":  "all again",
			"member":   "all members again",
			"former":   "",
			"dora":     "[agent_assigned] [agent_unassigned]",
			"erna":     "all [agent_assigned] again",
			"stranger": "",
		} {
			feed := h.feedOf(t, open, agent)
			feed.Reaching = true
			require.Equal(t, strings.Fields(said), words(t, h.readAll(t, feed, begin, 2)), agent)
		}
		feed := h.feedOf(t, open, "erna")
		feed.Reaching, feed.Filter = true, reading.Filter{EventTypes: []string{"agent_assigned"}}
		require.Equal(t, []string{"[agent_assigned]"}, words(t, h.readAll(t, feed, begin, 2)))

		_, err = h.intents.SetAccessControl(asOperator(), &openintentv1.SetAccessControlRequest{
			IntentId: intentID, DefaultPolicy: openintentv1.AccessPolicy_ACCESS_POLICY_OPEN,
			Entries: []*openintentv1.AccessEntryInput{{
				PrincipalId: "named", Permission: openintentv1.Permission_PERMISSION_READ, ExpiresAt: h.in(time.Minute),
			}},
		})
		require.NoError(t, err)
		feed = h.feedOf(t, open, "named")
		feed.Reaching = true
		require.Equal(t, []string{"all", "again"}, words(t, h.readAll(t, feed, begin, 2)))
		h.clock.Advance(time.Hour)
		require.Empty(t, h.readAll(t, feed, begin, 2))
	})
}

func TestFeedOfOneChannel(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, &createRequest{Options: &optionsInput{Audit: ptr(true)}})
		intentID := h.channel(t, id).GetIntentId()
		other := h.create(t, &createRequest{IntentId: intentID, Name: "other"})
		feed := h.feedOf(t, id, "bob")
		feed.ChannelNo = h.key(t, id).ChannelNo
		h.say(t, "alice", id, "one")
		h.say(t, "alice", other, "elsewhere")
		h.log(t, intentID, "thought")
		h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("carol"), Payload: content("not for bob")})
		h.say(t, "alice", id, "two")
		read := func(after int64, limit int) FeedPage {
			page, err := h.messaging.ReadFeed(context.Background(), feed, after, limit)
			require.NoError(t, err)
			return page
		}
		last := h.positionOf(t, id)
		page := read(0, 100)
		require.Equal(t, []string{"one", "two"}, words(t, page.Entries), "no events, and no copies")
		require.Equal(t, FeedPage{Entries: page.Entries, Through: last, Log: page.Log, End: page.End}, page)
		require.Equal(t, last, page.Log.Position)
		page = read(0, 1)
		require.Equal(t, []string{"one"}, words(t, page.Entries))
		require.Equal(t, page.Entries[0].Position, page.Through)
		h.closeChannel(t, id)
		last = h.positionOf(t, id)
		require.False(t, read(0, 1).Ended)
		page = read(0, 100)
		require.True(t, page.Ended)
		require.Equal(t, []string{"one", "two"}, words(t, page.Entries))
		require.True(t, read(last, 100).Ended)
		h.deleteChannel(t, id)
		page = read(0, 100)
		require.Empty(t, page.Entries)
		require.True(t, page.Ended)
	})
}

// A page ends at 3 MiB, and its cursor then stands before what did not fit.
func TestFeedPagesAreBoundedInBytes(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, &createRequest{Options: &optionsInput{Audit: ptr(true)}})
		intentID, begin := h.channel(t, id).GetIntentId(), h.positionOf(t, id)
		large := strings.Repeat("x", 200<<10)
		const count = 12
		for range count {
			h.say(t, "alice", id, large) // and its copy
			_, err := h.intents.AppendEvent(asOperator(), &openintentv1.AppendEventRequest{
				IntentId: intentID, EventType: "large", Payload: content(large),
			})
			require.NoError(t, err)
		}
		feed, pages, after := h.feedOf(t, id, "bob"), 0, begin
		var all []reading.Entry
		for {
			page, err := h.messaging.ReadFeed(context.Background(), feed, after, 1000)
			require.NoError(t, err)
			size := 0
			for _, entry := range page.Entries {
				size += reading.Item{Message: entry.Message, Event: entry.Event, Audit: entry.Audit}.Size()
			}
			require.LessOrEqual(t, size, reading.MaxPageBytes)
			require.Equal(t, page.Entries[len(page.Entries)-1].Position, page.Through)
			all, after, pages = append(all, page.Entries...), page.Through, pages+1
			if page.Through == page.Log.Position {
				break
			}
		}
		require.Len(t, all, 2*count)
		for i, entry := range all {
			require.Equal(t, begin+int64(i)+1, entry.Position)
			require.Equal(t, i%2 == 0, entry.Audit != nil)
		}
		require.Equal(t, 3, pages)
		f := h.subscribeIntent(as("bob"), t, intentID, &begin)
		require.Len(t, f.untilCaughtUp(t), 2*count)
		entries, err := h.messaging.ReadEntries(context.Background(), feed, positionsOf(all))
		require.NoError(t, err)
		require.Equal(t, positionsOf(all), positionsOf(entries), "these are all wanted, however large")
		requireInParts(t, h, feed, all)
	})
}

// requireInParts requires that entries are read in parts of a few bytes each, and, as facts, all at once and without contents.
func requireInParts(t *testing.T, h *house, feed Feed, all []reading.Entry) {
	var found []reading.Entry
	for left := positionsOf(all); len(left) > 0; {
		some, through, err := h.messaging.ReadSome(context.Background(), feed, left, 1)
		require.NoError(t, err)
		require.NotEmpty(t, some)
		size := 0
		for _, entry := range some {
			size += entry.Size()
		}
		require.LessOrEqual(t, size, 2*reading.MaxPageBytes, "messages and events")
		require.Equal(t, some[len(some)-1].Position, through)
		found, left = append(found, some...), left[len(some):]
	}
	require.Equal(t, positionsOf(all), positionsOf(found))
	feed.Facts = true
	facts, through, err := h.messaging.ReadSome(context.Background(), feed, positionsOf(all), 1<<20)
	require.NoError(t, err)
	require.Len(t, facts, len(all)/2, "no events")
	require.Equal(t, all[len(all)-1].Position, through)
	for _, entry := range facts {
		require.Empty(t, entry.Message.Payload)
		require.Empty(t, entry.Message.Metadata)
		require.Nil(t, entry.Audit)
	}
}

func positionsOf(entries []reading.Entry) []int64 {
	positions := make([]int64, len(entries))
	for i, entry := range entries {
		positions[i] = entry.Position
	}
	return positions
}

// A reader of whom little is seen gets there in small pages, without being shown anything else.
func TestFeedPagesMoveOverWhatIsNotSeen(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		begin := h.positionOf(t, id)
		h.fillTo(t, id, "alice", "carol", 3*feedPage)
		h.say(t, "alice", id, "end")
		last := h.positionOf(t, id)
		feed := h.feedOf(t, id, "bob")
		page, err := h.messaging.ReadFeed(context.Background(), feed, begin, 10)
		require.NoError(t, err)
		require.Equal(t, []string{"end"}, words(t, page.Entries), "the query leaves out what is for others")
		require.Equal(t, [...]int64{last, last}, [...]int64{page.Through, page.Log.Position})
		feed.Filter.EventTypes = []string{"none"}
		page, err = h.messaging.ReadFeed(context.Background(), feed, begin, 10)
		require.NoError(t, err)
		require.Equal(t, FeedPage{Through: last, Log: page.Log, End: page.End}, page)
		page, err = h.messaging.ReadFeed(context.Background(), feed, last+5, 10)
		require.NoError(t, err)
		require.Equal(t, FeedPage{Through: last + 5, Log: page.Log, End: page.End}, page, "a cursor never goes back")
		carol := h.readAll(t, h.feedOf(t, id, "carol"), begin, 1000)
		require.Len(t, carol, 3*feedPage+1)
		var moved []int64
		for after := begin; after < last; {
			page, err := h.messaging.ReadFeed(context.Background(), h.feedOf(t, id, "carol"), after, 1000)
			require.NoError(t, err)
			after = page.Through
			moved = append(moved, after-begin)
		}
		require.Equal(t, []int64{feedPage, 2 * feedPage, 3 * feedPage, 3*feedPage + 1}, moved)
	})
}

// fillTo stores messages to one agent, many at once.
func (h *house) fillTo(t require.TestingT, channelID, sender, target string, count int) {
	var submissions []*submitted
	for i := range count {
		d := h.draftFor(t, channelID, sender, fmt.Sprint(i+1))
		d.Target = target
		submissions = append(submissions, h.enqueue(t, d))
	}
	for _, s := range submissions {
		require.NoError(t, (<-s.done).Err)
	}
}

func TestEntriesAtPositions(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		open := h.open(t)
		intentID := h.channel(t, open).GetIntentId()
		audited := h.create(t, &createRequest{
			IntentId: intentID, Name: "audited", Options: &optionsInput{Audit: ptr(true), MaxMessages: ptr(int64(2))},
		})
		begin := h.positionOf(t, open)
		h.say(t, "alice", audited, "evicted") // + 1
		h.say(t, "alice", open, "two")
		h.log(t, intentID, "three")
		h.send(t, "alice", &sendRequest{ChannelId: open, To: ptr("carol"), Payload: content("four")})
		h.say(t, "alice", audited, "five")
		h.send(t, "alice", &sendRequest{ChannelId: open, Payload: content("six"), ExpiresAt: h.in(time.Minute)})
		h.askFor(t, "alice", audited, "role:tester", "seven")
		feed := h.feedOf(t, open, "bob")
		at := func(places ...int64) []string {
			for i := range places {
				places[i] += begin
			}
			entries, err := h.messaging.ReadEntries(context.Background(), feed, places)
			require.NoError(t, err)
			return words(t, entries)
		}
		require.Equal(t, []string{"two", "[three]", "five+", "six"}, at(1, 2, 3, 4, 5, 6, 7, 8, 900))
		require.Equal(t, []string{"two", "five+"}, at(5, 2, 5), "in order, each once")
		require.Empty(t, at())
		h.register(t, "bob", "tester")
		require.Equal(t, []string{"seven+"}, at(7, 4))
		h.clock.Advance(time.Hour)
		require.Empty(t, at(6))
		many := make([]int64, 3*feedPage)
		for i := range many {
			many[i] = int64(len(many) - i)
		}
		require.Equal(t, []string{"two", "[three]", "five+", "seven+"}, at(many...))
	})
}

func TestFiltersAreChecked(t *testing.T) {
	require.NoError(t, reading.Filter{}.Check())
	faulttest.RequireBadField(t, reading.Filter{EventTypes: []string{"a", "\xff"}}.Check(), "event_types")
	faulttest.RequireBadField(t, reading.Filter{CorrelationID: "\x00"}.Check(), "correlation_id")
}
