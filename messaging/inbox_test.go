package messaging

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

type (
	inboxRequest    = openintentv1.GetInboxRequest
	markReadRequest = openintentv1.MarkInboxReadRequest
	wireInbox       = openintentv1.Inbox
)

func (h *house) tryInbox(ctx context.Context, req *inboxRequest) (*wireInbox, error) {
	return h.messaging.GetInbox(ctx, req)
}

// inbox reads an agent's inbox as the agent.
func (h *house) inbox(t require.TestingT, agent string) *wireInbox {
	page, err := h.tryInbox(as(agent), &inboxRequest{AgentId: agent})
	require.NoError(t, err)
	return page
}

func idsIn(page *wireInbox) []string {
	ids := make([]string, len(page.GetItems()))
	for i, item := range page.GetItems() {
		ids[i] = item.GetMessage().GetId()
	}
	return ids
}

func (h *house) markInbox(ctx context.Context, agent string, ids ...string) ([]*wireMessage, error) {
	answer, err := h.messaging.MarkInboxRead(ctx, &markReadRequest{AgentId: agent, MessageIds: ids})
	return answer.GetMessages(), err
}

func (h *house) requireCounts(t require.TestingT, agent string, unread, unanswered int64) {
	page := h.inbox(t, agent)
	require.Equal(t, [2]int64{unread, unanswered}, [2]int64{page.GetUnreadCount(), page.GetUnansweredCount()})
}

// What is unread or unanswered stands in the inbox across intents, oldest first, and says where it is from.
func TestInboxAcrossIntents(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		one, other := h.open(t), h.create(t, &createRequest{Name: "other talk"})
		h.register(t, "b", "judge")
		asked := h.asks(t, "a", one, "b")
		told := h.send(t, "a", &sendRequest{ChannelId: other, To: ptr("b"), Payload: content("told")})
		toRole := h.send(t, "a", &sendRequest{ChannelId: one, To: ptr("role:judge")})
		askedRole := h.asks(t, "a", other, "role:judge")
		elsewhere := h.say(t, "a", one, "to everyone, among whom b is not")
		h.asks(t, "a", one, "c")

		require.Equal(t, idsOf([]*wireMessage{asked, told, toRole, askedRole}), idsIn(h.inbox(t, "b")))
		h.requireCounts(t, "b", 4, 2)
		item := h.inbox(t, "b").GetItems()[1]
		require.Equal(t, "told", textOf(item.GetMessage()))
		require.Equal(t, h.channel(t, other).GetIntentId(), item.GetIntentId())
		require.Equal(t, "other talk", item.GetChannelName())
		require.False(t, item.GetRead())

		reply := h.reply(t, "b", one, asked.GetId(), "done") // with that b takes part in the intent
		require.Equal(t, idsOf([]*wireMessage{told, toRole, askedRole, elsewhere}), idsIn(h.inbox(t, "b")))
		require.Equal(t, []string{reply.GetId()}, idsIn(h.inbox(t, "a")))
		_, err := h.tryRead(as("b"), other, askedRole.GetId())
		require.NoError(t, err)
		require.True(t, h.inbox(t, "b").GetItems()[2].GetRead(), "read and not answered")
		h.requireCounts(t, "b", 3, 1)
		require.Empty(t, idsIn(h.inbox(t, "stranger")))
	})
}

// The inbox is a state: a role gained now shows the requests that are open for it, one lost takes them away.
func TestInboxFollowsRoles(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.open(t)
		open, answered := h.asks(t, "a", channelID, "role:judge"), h.asks(t, "a", channelID, "role:judge")
		h.register(t, "first", "judge")
		h.reply(t, "first", channelID, answered.GetId(), "")
		require.Empty(t, idsIn(h.inbox(t, "b")))
		h.register(t, "b", "judge")
		require.Equal(t, []string{open.GetId()}, idsIn(h.inbox(t, "b")))
		h.register(t, "b", "clerk")
		require.Empty(t, idsIn(h.inbox(t, "b")))
		h.register(t, "b", "judge")
		h.deregister(t, "b")
		require.Empty(t, idsIn(h.inbox(t, "b")))
	})
}

func TestInboxFollowsAccess(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		members := h.explicit(t, "a", "b")
		asked := h.asks(t, "a", members, "b")
		said := h.say(t, "a", members, "to the members")
		require.Equal(t, []string{asked.GetId(), said.GetId()}, idsIn(h.inbox(t, "b")))
		h.removeMember(t, members, "b")
		require.Empty(t, idsIn(h.inbox(t, "b")))
		h.addMember(t, members, "b")
		h.admit(t, h.channel(t, members).GetIntentId(), "a")
		require.Empty(t, idsIn(h.inbox(t, "b")))
		h.admit(t, h.channel(t, members).GetIntentId(), "a", "b")
		require.Equal(t, []string{asked.GetId(), said.GetId()}, idsIn(h.inbox(t, "b")))
		h.deregisterAndReturn(t, "b")
		require.Empty(t, idsIn(h.inbox(t, "b")), "a departure ends memberships and requests")
	})
}

func (h *house) deregisterAndReturn(t require.TestingT, agent string) {
	h.register(t, agent, "")
	h.deregister(t, agent)
	h.clock.Advance(time.Second)
	h.register(t, agent, "")
}

// Time, closing, deletion and eviction take away what can no longer be read or answered.
func TestInboxForgets(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.create(t, &createRequest{Options: &optionsInput{MaxMessages: ptr(int64(2))}})
		evicted := h.asks(t, "a", channelID, "b")
		passed := h.send(t, "a", &sendRequest{ChannelId: channelID, To: ptr("b"), ExpiresAt: h.in(time.Minute)})
		soon := h.send(t, "a", &sendRequest{ChannelId: channelID, To: ptr("b"), MessageType: ptr(request), ExpiresAt: h.in(time.Minute)})
		require.Equal(t, idsOf([]*wireMessage{evicted, passed, soon}), idsIn(h.inbox(t, "b")),
			"a request that eviction has passed by can still be answered")
		h.clock.Advance(time.Minute)
		require.Equal(t, []string{evicted.GetId()}, idsIn(h.inbox(t, "b")))
		for range 2 {
			h.send(t, "a", &sendRequest{ChannelId: channelID, To: ptr("b")})
		}
		h.requireCounts(t, "b", 3, 1)
		h.say(t, "a", channelID, "")
		h.requireCounts(t, "b", 2, 1)
		h.closeChannel(t, channelID)
		h.requireCounts(t, "b", 1, 0)
		h.deleteChannel(t, channelID)
		h.requireCounts(t, "b", 0, 0)
	})
}

func TestInboxIsItsOwners(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		asked := h.asks(t, "a", h.open(t), "b")
		bound := caller.NewContext(context.Background(), caller.Caller{Agent: "c", KeyAgents: []string{"b", "c"}})
		for _, ctx := range []context.Context{as("b"), asOperator(), bound} {
			page, err := h.tryInbox(ctx, &inboxRequest{AgentId: "b"})
			require.NoError(t, err)
			require.Equal(t, []string{asked.GetId()}, idsIn(page))
		}
		_, err := h.tryInbox(as("a"), &inboxRequest{AgentId: "b"})
		faulttest.Require(t, err, fault.Denied, "NOT_AGENT_OWNER")
		_, err = h.markInbox(as("a"), "b", asked.GetId())
		faulttest.Require(t, err, fault.Denied, "NOT_AGENT_OWNER")
		_, err = h.tryInbox(context.Background(), &inboxRequest{AgentId: "b"})
		faulttest.Require(t, err, fault.Unauthenticated, "UNAUTHENTICATED")
		_, err = h.tryInbox(asOperator(), &inboxRequest{AgentId: "b\x00"})
		faulttest.RequireBadField(t, err, "agent_id")

		_, err = h.tryInbox(asOperator(), &inboxRequest{})
		faulttest.RequireBadField(t, err, "agent_id")
		page, err := h.tryInbox(as("b"), &inboxRequest{})
		require.NoError(t, err, "the caller need not name itself")
		require.Equal(t, []string{asked.GetId()}, idsIn(page))
		_, err = h.markInbox(as("b"), "", asked.GetId())
		require.NoError(t, err)
	})
}

// The operator's own inbox holds what is said to everyone where it takes part, and not what it might look at.
func TestOperatorsOwnInbox(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID, other := h.explicit(t, "a", "b"), h.open(t)
		h.asks(t, "a", channelID, "b")
		said := h.say(t, "a", channelID, "to everyone")
		h.say(t, "a", other, "where the operator has no part")
		_, err := h.messaging.SendMessage(asOperator(), &sendRequest{ChannelId: channelID})
		require.NoError(t, err)
		h.send(t, "a", &sendRequest{ChannelId: channelID, ExpiresAt: h.in(time.Minute)})
		h.clock.Advance(time.Hour)
		page, err := h.tryInbox(asOperator(), &inboxRequest{AgentId: caller.Operator})
		require.NoError(t, err)
		require.Equal(t, []string{said.GetId()}, idsIn(page))
	})
}

// Pages lead through the whole inbox once, whatever is read, answered or sent meanwhile.
func TestInboxPages(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		one, other := h.open(t), h.open(t)
		var sent []string
		for i := range 20 {
			h.clock.Advance(time.Millisecond)
			channelID := one
			if i%3 == 0 {
				channelID = other
			}
			if i%2 == 0 {
				sent = append(sent, h.asks(t, "a", channelID, "b").GetId())
				continue
			}
			sent = append(sent, h.send(t, "a", &sendRequest{ChannelId: channelID, To: ptr("b")}).GetId())
		}
		var seen []string
		req := &inboxRequest{AgentId: "b", Limit: ptr(int32(3))}
		for {
			page, err := h.tryInbox(as("b"), req)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page.GetItems()), 3)
			seen = append(seen, idsIn(page)...)
			if page.NextCursor == nil {
				break
			}
			require.Len(t, page.GetItems(), 3)
			req.Cursor = page.NextCursor
			_, err = h.markInbox(as("b"), "b", idsIn(page)...) // what lies behind the cursor does not move it
			require.NoError(t, err)
			if len(seen) < 10 {
				h.clock.Advance(time.Millisecond)
				sent = append(sent, h.asks(t, "a", one, "b").GetId())
			}
		}
		require.Equal(t, sent, seen)
	})
}

func TestInboxRefusesMalformedCursors(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		good := inboxPlace{1, 2, 3}.cursor()
		for _, cursor := range []string{
			"x", "!", strings.Repeat("A", 256), good + "A", good[:len(good)-1], good + "=", "aW5ib3g6MTox", "aW5ib3g6KzE6MjoxMA",
		} {
			_, err := h.tryInbox(as("b"), &inboxRequest{AgentId: "b", Cursor: &cursor})
			faulttest.RequireBadField(t, err, "cursor")
		}
		_, err := h.tryInbox(as("b"), &inboxRequest{AgentId: "b", Cursor: &good})
		require.NoError(t, err)
	})
}

// A page ends at its bound in bytes and at the latest with what a reading holds; no message is too large to be given.
func TestInboxPagesAreBoundedInBytes(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.open(t)
		large := strings.Repeat("x", 200<<10)
		var sent []string
		for range 20 {
			sent = append(sent, h.send(t, "a", &sendRequest{ChannelId: channelID, To: ptr("b"), Payload: content(large)}).GetId())
		}
		req := &inboxRequest{AgentId: "b", Limit: ptr(int32(1000))}
		page, err := h.tryInbox(as("b"), req)
		require.NoError(t, err)
		require.Equal(t, sent[:15], idsIn(page))
		require.Equal(t, int64(20), page.GetUnreadCount())
		req.Cursor = page.NextCursor
		rest, err := h.tryInbox(as("b"), req)
		require.NoError(t, err)
		require.Equal(t, sent[15:], idsIn(rest))
		require.Nil(t, rest.NextCursor)

		_, err = h.markInbox(as("b"), "b", sent...)
		faulttest.RequireBadField(t, err, "message_ids")
		require.Zero(t, h.rows(t, "receipts", "1 = 1"))
		_, err = h.markInbox(as("b"), "b", idsIn(page)...)
		require.NoError(t, err, "a page can be marked at once")
	})
}

// The counts end at their bound, and the pages do not.
func TestInboxLargerThanItsCounts(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.create(t, &createRequest{Options: &optionsInput{MaxMessages: ptr(int64(20_000))}})
		h.send(t, "a", &sendRequest{ChannelId: channelID, To: ptr("b"), Payload: content("first")})
		h.sendMany(t, channelID, "a", "b", 10_500)
		page, err := h.tryInbox(as("b"), &inboxRequest{AgentId: "b", Limit: ptr(int32(1000))})
		require.NoError(t, err)
		require.Equal(t, int64(maxCounted), page.GetUnreadCount())
		require.True(t, page.GetCountsBounded())
		require.Len(t, page.GetItems(), 1000)
		rows := h.storedOf(t, h.key(t, channelID).IntentNo)
		for _, last := range []int{maxCounted - 5, len(rows) - 3} { // what is counted ends between, or before
			place := inboxPlace{rows[last].createdAt, h.key(t, channelID).IntentNo, rows[last].position}
			page, err = h.tryInbox(as("b"), &inboxRequest{AgentId: "b", Limit: ptr(int32(10)), Cursor: ptr(place.cursor())})
			require.NoError(t, err)
			following := rows[last+1 : min(last+11, len(rows))]
			require.Len(t, page.GetItems(), len(following))
			for n, row := range following {
				require.Equal(t, row.id, page.GetItems()[n].GetMessage().GetId())
			}
			require.Equal(t, last+11 < len(rows), page.NextCursor != nil)
		}
	})
}

// sendMany sends messages to an agent, many at once.
func (h *house) sendMany(t require.TestingT, channelID, sender, target string, count int) {
	sent := make([]*submitted, count)
	for i := range sent {
		d := h.draftFor(t, channelID, sender, "")
		d.Target = target
		sent[i] = h.enqueue(t, d)
	}
	for _, s := range sent {
		require.NoError(t, (<-s.done).Err)
	}
}
