package messaging

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/wake"
)

// waitedFor is what a call that waits for an inbox has come to.
type waitedFor struct {
	page *wireInbox
	err  error
}

// awaitInbox begins to wait for an inbox, and returns once the call listens for what may come.
func (h *house) awaitInbox(ctx context.Context, t require.TestingT, agent string) <-chan waitedFor {
	done := make(chan waitedFor, 1)
	go func() {
		page, err := h.tryInbox(ctx, &inboxRequest{AgentId: agent, WaitSeconds: ptr(float64(600))})
		done <- waitedFor{page, err}
	}()
	eventually(t, func() bool {
		return len(done) > 0 || h.listensFor(wake.AgentTopic(agent))
	}, "nobody waits")
	return done
}

// received waits until the call has ended, and gives the ids in the inbox.
func received(t require.TestingT, done <-chan waitedFor) []string {
	select {
	case waited := <-done:
		require.NoError(t, waited.err)
		return idsIn(waited.page)
	case <-time.After(patience):
		require.Fail(t, "the wait has not ended")
		return nil
	}
}

// In all these the slow timer is an hour away: only wake-ups end the wait.
func TestInboxWaitIsWoken(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.open(t)
		done := h.awaitInbox(as("b"), t, "b")
		asked := h.asks(t, "a", channelID, "b") // from an intent that never reached the agent before
		require.Equal(t, []string{asked.GetId()}, received(t, done))
		h.reply(t, "b", channelID, asked.GetId(), "")

		done = h.awaitInbox(as("b"), t, "b")
		h.asks(t, "a", channelID, "c") // which is none of b's business
		everyone := h.say(t, "a", channelID, "")
		require.Equal(t, []string{everyone.GetId()}, received(t, done))
		_, err := h.markInbox(as("b"), "b", everyone.GetId())
		require.NoError(t, err)

		asked = h.asks(t, "a", channelID, "role:judge")
		done = h.awaitInbox(as("b"), t, "b")
		h.register(t, "b", "judge")
		require.Equal(t, []string{asked.GetId()}, received(t, done))
		h.reply(t, "b", channelID, asked.GetId(), "")

		done = h.awaitInbox(as("b"), t, "b")
		asked = h.asks(t, "a", h.open(t), "role:judge")
		require.Equal(t, []string{asked.GetId()}, received(t, done))
	})
}

func TestInboxWaitIsWokenByAccess(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.open(t)
		asked := h.asks(t, "a", channelID, "b")
		h.admit(t, h.channel(t, channelID).GetIntentId(), "a")
		done := h.awaitInbox(as("b"), t, "b")
		h.admit(t, h.channel(t, channelID).GetIntentId(), "a", "b")
		require.Equal(t, []string{asked.GetId()}, received(t, done))
	})
}

// A wait that brings nothing gives an empty page, with the counts of what lies before its cursor.
func TestInboxWaitRunsOut(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		for range 2 {
			h.asks(t, "a", h.open(t), "b")
		}
		first, err := h.tryInbox(as("b"), &inboxRequest{AgentId: "b", Limit: ptr(int32(1))})
		require.NoError(t, err)
		rest, err := h.tryInbox(as("b"), &inboxRequest{AgentId: "b", Cursor: first.NextCursor, WaitSeconds: ptr(600.0)})
		require.NoError(t, err)
		require.Len(t, rest.GetItems(), 1)

		last := rest.GetItems()[0].GetMessage()
		place := inboxPlace{last.GetCreatedAt().AsTime().UnixMicro(), h.key(t, last.GetChannelId()).IntentNo, 1 << 40}
		done := make(chan waitedFor, 1)
		go func() {
			page, err := h.tryInbox(as("b"), &inboxRequest{AgentId: "b", Cursor: ptr(place.cursor()), WaitSeconds: ptr(600.0)})
			done <- waitedFor{page, err}
		}()
		eventually(t, func() bool { return h.listensFor(wake.AgentTopic("b")) }, "nobody waits")
		h.clock.Advance(time.Hour)
		waited := <-done
		require.NoError(t, waited.err)
		require.Empty(t, waited.page.GetItems())
		require.Equal(t, int64(2), waited.page.GetUnansweredCount())
		require.Nil(t, waited.page.NextCursor)
	}, restless)
}

func TestInboxWaitEndsWithItsCall(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		ctx, cancel := context.WithCancelCause(as("b"))
		done := h.awaitInbox(ctx, t, "b")
		gone := errors.New("the server stops")
		cancel(gone)
		require.ErrorIs(t, (<-done).err, gone)
		require.False(t, h.listensFor(wake.AgentTopic("b")))
	})
}

// A lost wake-up delays and does not lose.
func TestInboxWaitLooksWithoutBeingWoken(t *testing.T) {
	t.Parallel()
	one, other := newReplicas(t, restless)
	done := one.awaitInbox(as("b"), t, "b")
	asked := other.asks(t, "a", other.open(t), "b")
	require.Equal(t, []string{asked.GetId()}, received(t, done))
}

// An agent that comes to be named by an intent is told what was said to everyone there.
func TestInboxOfOneThatIsAssigned(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.open(t)
		said := h.send(t, "a", &sendRequest{ChannelId: channelID, Payload: &structpb.Struct{}})
		require.Empty(t, idsIn(h.inbox(t, "b")))
		done := h.awaitInbox(as("b"), t, "b")
		_, err := h.intents.AssignAgent(asOperator(), &openintentv1.AssignAgentRequest{
			IntentId: h.channel(t, channelID).GetIntentId(), AgentId: "b",
		})
		require.NoError(t, err)
		require.Equal(t, []string{said.GetId()}, received(t, done))
	})
}

func TestInboxWaitIsWokenByTheOtherReplica(t *testing.T) {
	eachWay(t, func(t *testing.T, one, other *house) {
		done := one.awaitInbox(as("b"), t, "b")
		asked := other.asks(t, "a", other.open(t), "b")
		require.Equal(t, []string{asked.GetId()}, received(t, done))
		other.reply(t, "b", asked.GetChannelId(), asked.GetId(), "")
		done = one.awaitInbox(as("b"), t, "b")
		said := other.say(t, "a", asked.GetChannelId(), "")
		require.Equal(t, []string{said.GetId()}, received(t, done))
	})
}

// watchInbox watches an inbox by hand. The watch has looked once.
func (h *house) watchInbox(t *testing.T, agent string) *inboxWatch {
	watch := &inboxWatch{agent: agent, service: h.messaging, watch: h.messaging.Watch(Watched{Agent: agent})}
	t.Cleanup(watch.watch.Close)
	require.NoError(t, watch.look(context.Background()))
	require.True(t, watch.differs)
	return watch
}

// A waiting call reads its inbox again when something may have come, and is not held up by what others say to each other.
func TestInboxMayDiffer(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.open(t)
		h.register(t, "b", "judge")
		h.reply(t, "b", channelID, h.asks(t, "a", channelID, "b").GetId(), "")
		watch := h.watchInbox(t, "b")
		differs := func() bool {
			watch.differs = false
			require.NoError(t, watch.look(context.Background()))
			return watch.differs
		}
		require.False(t, differs())
		for what, happens := range map[string]func(){
			"a message between others":  func() { h.asks(t, "a", channelID, "c") },
			"one's own message":         func() { h.say(t, "b", channelID, "") },
			"another intent":            func() { h.asks(t, "a", h.open(t), "c") },
			"a message to another role": func() { h.asks(t, "a", channelID, "role:clerk") },
		} {
			happens()
			require.False(t, differs(), what)
		}
		for what, happens := range map[string]func(){
			"a message":                   func() { h.asks(t, "a", channelID, "b") },
			"a message to the role":       func() { h.asks(t, "a", channelID, "role:judge") },
			"a message to everyone":       func() { h.say(t, "a", channelID, "") },
			"a first message elsewhere":   func() { h.asks(t, "a", h.open(t), "b") },
			"one's own message elsewhere": func() { h.say(t, "b", h.open(t), "") },
			"a change of access":          func() { h.admit(t, h.channel(t, channelID).GetIntentId(), "a", "b") },
			"a change of the agent":       func() { h.register(t, "b", "clerk"); h.register(t, "b", "judge") },
		} {
			h.clock.Advance(time.Second)
			happens()
			require.True(t, differs(), what)
		}
		h.closeChannel(t, channelID)
		require.True(t, differs(), "a change of channels")
	})
}
