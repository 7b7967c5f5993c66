package messaging

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/attention"
	"openintent/messaging/message"
)

// converse gives a stored message what it carries beyond RFC-0021.
func (h *house) converse(t require.TestingT, m *wireMessage, c message.Conversation) {
	thread, fields := c.Columns()
	require.NoError(t, h.db.Write(context.Background(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL:  "UPDATE messages SET conversation = ?, thread_position = ? WHERE id = ?",
			Args: []any{fields, thread, m.GetId()},
		})
	}))
}

// under puts a message into the thread that another one begins.
func (h *house) under(t require.TestingT, m, root *wireMessage) {
	h.converse(t, m, message.Conversation{
		ParentID: root.GetId(), ThreadID: root.GetId(), ThreadPosition: h.placeOf(t, root),
	})
}

// attends reads an agent's inbox with what its messages ask.
func (h *house) attends(t require.TestingT, agent string, policies ...openintentv1.ResponsePolicy) *wireInbox {
	page, err := h.tryInbox(as(agent), &inboxRequest{AgentId: agent, Include: []string{"attention"}, Policy: policies})
	require.NoError(t, err)
	return page
}

// reasonsIn returns the reasons in a page of an inbox, by message.
func reasonsIn(page *wireInbox) map[string]string {
	reasons := make(map[string]string)
	for _, item := range page.GetItems() {
		reasons[item.GetMessage().GetId()] = item.GetAttention().GetReason()
	}
	return reasons
}

// without leaves a message out.
func without(reasons map[string]string, id string) map[string]string {
	delete(reasons, id)
	return reasons
}

// asksOf judges what a message asks of an agent as another one may know it, and returns the reason and the rules.
func (h *house) asksOf(asker context.Context, t require.TestingT, m *wireMessage, agent string) (reason string, rules []attention.Rule) {
	by, err := caller.Known(asker)
	require.NoError(t, err)
	err = h.messaging.SeeMessage(asker, by, by.Agent, m.GetChannelId(), m.GetId(), message.ByID, func(s *Sighting) error {
		judged, found, err := s.Attention(agent)
		if rules = found; judged != nil {
			reason = judged.Reason
		}
		return err
	})
	require.NoError(t, err)
	return reason, rules
}

const (
	mustRespond    = openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_RESPOND
	mayRespond     = openintentv1.ResponsePolicy_RESPONSE_POLICY_MAY_RESPOND
	ackOnly        = openintentv1.ResponsePolicy_RESPONSE_POLICY_ACK_ONLY
	mustNotRespond = openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_NOT_RESPOND
)

func TestInboxSaysWhatMessagesAsk(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.open(t)
		h.register(t, "b", "judge")
		h.say(t, "b", channelID, "b takes part")
		asked := h.asks(t, "a", channelID, "b")
		thanked := h.send(t, "a", &sendRequest{ChannelId: channelID, To: ptr("b"), Payload: content("Thanks!")})
		askedRole := h.asks(t, "a", channelID, "role:judge")
		said := h.say(t, "a", channelID, "a word to all")
		named, roleNamed := h.say(t, "a", channelID, "@b"), h.say(t, "a", channelID, "@role:judge")
		h.converse(t, named, message.Conversation{Mentions: []string{"c", "b"}})
		h.converse(t, roleNamed, message.Conversation{Mentions: []string{"role:judge", "role:clerk"}})
		others := h.say(t, "a", channelID, "@c")
		h.converse(t, others, message.Conversation{Mentions: []string{"c", "role:clerk"}, Kind: "log"})

		page := h.attends(t, "b")
		require.Equal(t, map[string]string{
			asked.GetId(): "direct_request", thanked.GetId(): "direct_notify", askedRole.GetId(): "role_request",
			said.GetId(): "ambient", named.GetId(): "mention", roleNamed.GetId(): "role_mention", others.GetId(): "status",
		}, reasonsIn(page))
		for _, item := range page.GetItems() {
			if id := item.GetMessage().GetId(); id == thanked.GetId() {
				require.Equal(t, "notify in talk", item.GetAttention().GetKnock().GetTopic(), "thanks come as a knock")
			}
		}
		for _, item := range h.inbox(t, "b").GetItems() {
			require.Nil(t, item.Attention, "who does not ask for attention gets none")
		}
	})
}

func TestInboxSiftsByPolicy(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.open(t)
		h.say(t, "b", channelID, "b takes part")
		var asked []string
		for range 5 {
			h.say(t, "a", channelID, "a word to all")
			asked = append(asked, h.asks(t, "a", channelID, "b").GetId())
			h.send(t, "a", &sendRequest{ChannelId: channelID, To: ptr("b")})
		}
		page := h.attends(t, "b", mustRespond)
		require.Equal(t, asked, idsIn(page))
		require.Equal(t, [2]int64{15, 5}, [2]int64{page.GetUnreadCount(), page.GetUnansweredCount()}, "the counts are of all")
		require.Len(t, h.attends(t, "b", ackOnly, mustNotRespond).GetItems(), 10)
		require.Empty(t, h.attends(t, "b", mayRespond).GetItems())

		var paged []string
		for request := (&inboxRequest{AgentId: "b", Limit: ptr(int32(2)), Policy: []openintentv1.ResponsePolicy{mustRespond}}); ; {
			page, err := h.tryInbox(as("b"), request)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page.GetItems()), 2)
			if paged = append(paged, idsIn(page)...); page.NextCursor == nil {
				break
			}
			request.Cursor = page.NextCursor
		}
		require.Equal(t, asked, paged)
	})
}

// A page of an inbox with more messages than are counted is sifted beyond them too.
func TestInboxSiftsBeyondWhatItCounts(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.create(t, &createRequest{Options: &optionsInput{MaxMessages: ptr(int64(100_000)), TurnBudget: ptr(int64(0))}})
		h.say(t, "b", channelID, "b takes part")
		h.fill(t, channelID, "a", maxCounted+700)
		told := h.send(t, "a", &sendRequest{ChannelId: channelID, To: ptr("b")})
		found := h.readOn(t, "b", &inboxRequest{Policy: []openintentv1.ResponsePolicy{ackOnly}}, nothing)
		require.Equal(t, []string{told.GetId()}, found)
	})
}

// A call that waits for messages with a policy is not ended by others.
func TestInboxWaitsForAPolicy(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.open(t)
		h.say(t, "b", channelID, "b takes part")
		h.say(t, "a", channelID, "a word to all")
		done := make(chan waitedFor, 1)
		go func() {
			page, err := h.tryInbox(as("b"), &inboxRequest{
				AgentId: "b", WaitSeconds: ptr(float64(600)), Policy: []openintentv1.ResponsePolicy{mustRespond},
			})
			done <- waitedFor{page, err}
		}()
		h.say(t, "a", channelID, "another word to all")
		asked := h.asks(t, "a", channelID, "b")
		require.Equal(t, []string{asked.GetId()}, received(t, done))
	})
}

func TestWhoWroteInAThread(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.open(t)
		greeting := h.say(t, "d", channelID, "d takes part, but not in the thread").GetId()
		root := h.say(t, "a", channelID, "the root")
		mine, reply, after := h.say(t, "b", channelID, "b's"), h.say(t, "c", channelID, "c's"), h.say(t, "a", channelID, "a's")
		for _, m := range []*wireMessage{mine, reply, after} {
			h.under(t, m, root)
		}
		require.Equal(t, map[string]string{root.GetId(): "ambient", reply.GetId(): "thread", after.GetId(): "thread"},
			without(reasonsIn(h.attends(t, "b")), greeting))
		require.Equal(t, map[string]string{mine.GetId(): "thread", reply.GetId(): "thread"}, without(reasonsIn(h.attends(t, "a")), greeting),
			"the author of the first message wrote in the thread")
		require.Equal(t, map[string]string{
			root.GetId(): "ambient", mine.GetId(): "ambient", reply.GetId(): "ambient", after.GetId(): "ambient",
		}, reasonsIn(h.attends(t, "d")))

		asked := h.asks(t, "a", channelID, "d")
		h.reply(t, "d", channelID, asked.GetId(), "an answer")
		further := h.say(t, "c", channelID, "on the question")
		h.under(t, further, asked)
		require.Equal(t, "thread", reasonsIn(h.attends(t, "d"))[further.GetId()], "an answer is written under its request")
	})
}

// What was evicted of a thread makes nobody a participant any more.
func TestAnEvictedWordInAThreadIsForgotten(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.create(t, &createRequest{Options: &optionsInput{MaxMessages: ptr(int64(2))}})
		root := h.say(t, "a", channelID, "the root")
		below := func(agent string) *wireMessage {
			return h.send(t, agent, &sendRequest{ChannelId: channelID, ParentId: ptr(root.GetId()), Payload: content("below")})
		}
		below("b")
		reply := below("a")
		reason, _ := h.asksOf(as("b"), t, reply, "b")
		require.Equal(t, "thread", reason, "the word of b is the oldest one that is left")
		h.say(t, "a", channelID, "one more")
		reason, _ = h.asksOf(as("b"), t, reply, "b")
		require.Equal(t, "ambient", reason)
	})
}

// A sender that was let in later is not told that others wrote in the thread before.
func TestASenderIsNotToldOfWordsFromBeforeItCame(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.create(t, &createRequest{
			MemberPolicy: ptr(openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT), Members: []string{"b", "c"},
			Options: &optionsInput{History: ptr(openintentv1.ChannelHistory_CHANNEL_HISTORY_FROM_JOIN)},
		})
		root := h.say(t, "c", channelID, "the root")
		below := func(agent string, parent *wireMessage) *wireMessage {
			return h.send(t, agent, &sendRequest{ChannelId: channelID, ParentId: ptr(parent.GetId()), Payload: content("below")})
		}
		below("b", root)
		_, err := h.channels.AddChannelMembers(asOperator(), &openintentv1.AddChannelMembersRequest{ChannelId: channelID, Members: []string{"a"}})
		require.NoError(t, err)
		reply := below("a", below("c", root))
		reason, _ := h.asksOf(as("b"), t, reply, "b")
		require.Equal(t, "thread", reason)
		reason, _ = h.asksOf(as("a"), t, reply, "b")
		require.Equal(t, "ambient", reason)
		below("b", root)
		reason, _ = h.asksOf(as("a"), t, reply, "b")
		require.Equal(t, "thread", reason)
	})
}

func TestAQuietPageNeedsNoStatement(t *testing.T) {
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			var statements atomic.Int64
			h := newHouse(t, engine, withHooks(database.Hooks{Statement: func(_ context.Context, sql string) func() {
				if strings.Contains(sql, "max(m.ordinal)") || strings.Contains(sql, "min(m.created_at)") {
					statements.Add(1)
				}
				return nil
			}}))
			channelID := h.open(t)
			h.say(t, "b", channelID, "b takes part")
			root := h.say(t, "a", channelID, "the root")
			h.asks(t, "a", channelID, "b")
			require.Len(t, h.attends(t, "b").GetItems(), 2)
			require.Zero(t, statements.Load())
			h.under(t, h.say(t, "a", channelID, "a reply"), root)
			h.attends(t, "b")
			require.EqualValues(t, 1, statements.Load(), "one for the whole page")
		})
	}
}

func TestARequestThatWasEditedAfterItsAnswer(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.register(t, "b", "judge")
		h.register(t, "c", "judge")
		channelID := h.open(t)
		asked := h.asks(t, "a", channelID, "role:judge")
		editedAt := h.clock.Advance(time.Second)
		h.converse(t, asked, message.Conversation{Revision: 2, EditedAt: editedAt})
		h.clock.Advance(time.Second)
		h.reply(t, "b", channelID, asked.GetId(), "yes")
		reason, _ := h.asksOf(as("c"), t, asked, "c")
		require.Equal(t, "role_request", reason, "the edit came first")
		h.converse(t, asked, message.Conversation{Revision: 3, EditedAt: h.clock.Advance(time.Second)})
		reason, _ = h.asksOf(as("c"), t, asked, "c")
		require.Equal(t, "edited_after_response", reason)
	})
}

// The sender learns of recipients what the list of deliveries shows, and of a thread what it sees itself.
func TestWhatASenderIsTold(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.open(t)
		said := h.say(t, "a", channelID, "a word to all")
		unknown := func(agent string) {
			reason, rules := h.asksOf(as("a"), t, said, agent)
			require.Empty(t, reason)
			require.Equal(t, []attention.Rule{
				{Name: "own_message", Effect: "does not apply"},
				{Name: "no_recipient", Effect: "asks nothing: no delivery of the message to this agent is known"},
			}, rules)
		}
		unknown("b")
		unknown("nobody ever heard of it")
		_, err := h.tryRead(as("b"), channelID, said.GetId())
		require.NoError(t, err)
		reason, _ := h.asksOf(as("a"), t, said, "b")
		require.Equal(t, "ambient", reason, "b has left a trace")
		reason, _ = h.asksOf(asOperator(), t, said, "c")
		require.Equal(t, "ambient", reason, "the operator may know")
		_, rules := h.asksOf(as("a"), t, said, "a")
		require.Equal(t, "own_message", rules[0].Name)
		require.Len(t, rules, 1)

		secret, reply := h.send(t, "b", &sendRequest{ChannelId: channelID, To: ptr("c")}), h.say(t, "a", channelID, "a's")
		h.under(t, secret, said)
		h.under(t, reply, said)
		_, err = h.tryRead(as("b"), channelID, reply.GetId())
		require.NoError(t, err)
		reason, _ = h.asksOf(as("b"), t, reply, "b")
		require.Equal(t, "thread", reason)
		reason, _ = h.asksOf(as("a"), t, reply, "b")
		require.Equal(t, "ambient", reason, "a does not see that b wrote in the thread")
		h.under(t, h.say(t, "b", channelID, "b's"), said)
		reason, _ = h.asksOf(as("a"), t, reply, "b")
		require.Equal(t, "thread", reason)
	})
}

// What a message's time or its channel has ended asks nothing any more, and the explanation says so.
func TestWhatIsOverAsksNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.open(t)
		asked := h.send(t, "a", &sendRequest{
			ChannelId: channelID, To: ptr("b"), MessageType: ptr(request), ExpiresAt: h.in(time.Minute),
		})
		reason, _ := h.asksOf(as("b"), t, asked, "b")
		require.Equal(t, "direct_request", reason)
		h.clock.Advance(time.Minute)
		for _, asker := range []context.Context{as("b"), as("a"), asOperator()} {
			reason, rules := h.asksOf(asker, t, asked, "b")
			require.Empty(t, reason)
			require.Equal(t, attention.Rule{Name: "time_over", Effect: "asks nothing: the time of the message is over"}, rules[len(rules)-1])
		}
	})
}

// A mention lets nobody see a message, and nobody is told what it asks who may not see it.
func TestAMentionAsksNothingOfWhoCannotSeeIt(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.open(t)
		told := h.send(t, "a", &sendRequest{ChannelId: channelID, To: ptr("b")})
		h.converse(t, told, message.Conversation{Mentions: []string{"c"}})
		require.Empty(t, h.attends(t, "c").GetItems())
		by, err := caller.Known(as("c"))
		require.NoError(t, err)
		err = h.messaging.SeeMessage(as("c"), by, "c", channelID, told.GetId(), message.ByID, func(*Sighting) error { return nil })
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		reason, rules := h.asksOf(as("a"), t, told, "c")
		require.Empty(t, reason)
		require.Equal(t, "no_recipient", rules[len(rules)-1].Name)
	})
}

// A sender may ask about exactly those agents that the list of deliveries has.
func TestASenderMayAskAboutWhomTheListHas(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.register(t, "b", "judge")
		h.register(t, "c", "judge")
		open, members := h.open(t), h.explicit(t, "a", "b", "d")
		var sent []*wireMessage
		for _, channelID := range []string{open, members} {
			sent = append(sent, h.say(t, "a", channelID, ""), h.asks(t, "a", channelID, "role:judge"), h.asks(t, "a", channelID, "b"))
		}
		_, err := h.tryRead(as("d"), open, sent[0].GetId())
		require.NoError(t, err)
		h.list(t, "z", &listRequest{ChannelId: open}) // which offers z what is for everybody
		h.flushOffers(t)
		h.reply(t, "c", open, sent[1].GetId(), "yes")
		h.register(t, "c", "clerk")
		for i, m := range sent {
			listed, err := h.tryDeliveries(as("a"), m)
			require.NoError(t, err)
			for _, agent := range []string{"b", "c", "d", "e", "creator", "z"} {
				_, rules := h.asksOf(as("a"), t, m, agent)
				has := false
				for _, one := range listed {
					has = has || one.GetAgentId() == agent
				}
				if !has {
					require.Equal(t, "no_recipient", rules[len(rules)-1].Name, "message %d and %s", i, agent)
				}
				if has && agent != "c" { // which holds the role no more
					require.Greater(t, len(rules), 3, "message %d and %s", i, agent)
				}
			}
		}
	})
}
