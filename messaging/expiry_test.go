package messaging

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/message"
)

// Statuses and lists at the instant of expiry, before any sweep and after it.
func TestExpiryByTime(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		send := func(kind openintentv1.MessageType) *wireMessage {
			to := "bob"
			return h.send(t, "alice", &sendRequest{ChannelId: id, To: &to, MessageType: &kind, ExpiresAt: h.in(time.Minute)})
		}
		mark := func(m *wireMessage) {
			_, err := h.tryRead(as("bob"), id, m.GetId())
			require.NoError(t, err)
		}
		note, readNote := send(notify), send(notify)
		open, openRead := send(request), send(request)
		answered, answeredRead := send(request), send(request)
		lasting := h.asks(t, "alice", id, "bob")
		mark(readNote)
		mark(openRead)
		mark(answeredRead)
		h.reply(t, "bob", id, answered.GetId(), "")
		h.reply(t, "bob", id, answeredRead.GetId(), "")
		all := []*wireMessage{note, readNote, open, openRead, answered, answeredRead, lasting}

		check := func(when string, statuses []openintentv1.MessageStatus, seenByRecipient []bool) {
			for i, m := range all {
				require.Equal(t, statuses[i], h.get(t, id, m.GetId()).GetStatus(), "%s, message %d", when, i)
				for _, agent := range []string{"alice", "bob"} {
					got, err := h.tryGet(as(agent), id, m.GetId())
					require.NoError(t, err, "GET shows it to all who see it")
					require.Equal(t, statuses[i], got.GetStatus())
				}
				require.True(t, h.sees(t, "alice", m), "%s: its sender sees message %d listed", when, i)
				require.Equal(t, seenByRecipient[i], h.sees(t, "bob", m), "%s: its recipient and message %d", when, i)
				require.False(t, h.sees(t, "carol", m))
			}
			byID := make(map[string]openintentv1.MessageStatus)
			for _, m := range h.listIn(asOperator(), t, &listRequest{ChannelId: id}) {
				byID[m.GetId()] = m.GetStatus()
			}
			for i, m := range all {
				require.Equal(t, statuses[i], byID[m.GetId()], "%s: the operator sees message %d listed so", when, i)
			}
		}
		h.clock.Set(note.GetExpiresAt().AsTime().Add(-time.Microsecond))
		before := []openintentv1.MessageStatus{delivered, read, delivered, read, delivered, read, delivered}
		check("a microsecond before", before, []bool{true, true, true, true, true, true, true})
		h.sweep(t)
		check("swept a microsecond before", before, []bool{true, true, true, true, true, true, true})

		h.clock.Advance(time.Microsecond)
		after := []openintentv1.MessageStatus{expired, read, expired, expired, delivered, read, delivered}
		check("at the instant", after, []bool{false, true, false, false, true, true, true})
		key := h.key(t, id)
		require.Equal(t, 3, h.rows(t, "open_requests", "intent_no = ?", key.IntentNo))
		h.sweep(t)
		require.Equal(t, 1, h.rows(t, "open_requests", "intent_no = ?", key.IntentNo))
		require.Equal(t, 2, h.rows(t, "messages", "intent_no = ? AND ended_at IS NOT NULL", key.IntentNo))
		check("swept", after, []bool{false, true, false, false, true, true, true})
		h.clock.Advance(-time.Hour)
		check("expiry once made lasting does not depend on the clock", []openintentv1.MessageStatus{
			delivered, read, expired, expired, delivered, read, delivered,
		}, []bool{true, true, false, false, true, true, true})
	})
}

// Whether a recipient still gets an expired broadcast depends on whether that recipient has read it.
func TestExpiryIsPerRecipient(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		m := h.send(t, "alice", &sendRequest{ChannelId: id, ExpiresAt: h.in(time.Minute)})
		_, err := h.tryRead(as("bob"), id, m.GetId())
		require.NoError(t, err)
		h.clock.Advance(time.Minute)
		require.True(t, h.sees(t, "bob", m))
		require.False(t, h.sees(t, "carol", m))
		require.True(t, h.sees(t, "alice", m))
		require.Equal(t, read, h.get(t, id, m.GetId()).GetStatus(), "the status goes by the first acknowledgement")
		_, err = h.tryGet(as("carol"), id, m.GetId())
		require.NoError(t, err)
	})
}

// However a channel closes, its unanswered requests expire with it; everything else keeps its status.
func TestClosingExpiresOpenRequests(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		task := func(intentID string) *string {
			task, err := h.tasks.CreateTask(asOperator(), &openintentv1.CreateTaskRequest{IntentId: intentID, Name: "A step"})
			require.NoError(t, err)
			return &task.Id
		}
		for name, end := range map[string]struct {
			options *optionsInput
			close   func(channel *openintentv1.Channel)
		}{
			"by its manager":          {nil, func(c *openintentv1.Channel) { h.closeChannel(t, c.GetId()) }},
			"with its intent":         {nil, func(c *openintentv1.Channel) { h.setStatus(t, c.GetIntentId(), completed) }},
			"with its task":           {nil, func(c *openintentv1.Channel) { h.cancelTask(t, c.GetTaskId()) }},
			"by time, before any run": {&optionsInput{TtlSeconds: ptr(int64(60))}, func(*openintentv1.Channel) { h.clock.Advance(2 * time.Minute) }},
			"by time, swept": {&optionsInput{TtlSeconds: ptr(int64(60))}, func(*openintentv1.Channel) {
				h.clock.Advance(2 * time.Minute)
				require.NoError(t, h.channels.Sweep(t.Context()))
			}},
		} {
			intentID := h.intent(t)
			id := h.create(t, &createRequest{IntentId: intentID, TaskId: task(intentID), Options: end.options})
			sibling := h.create(t, &createRequest{IntentId: intentID, Name: "sibling"})
			open, openRead := h.asks(t, "alice", id, "bob"), h.asks(t, "alice", id, "bob")
			answered, note := h.asks(t, "alice", id, "bob"), h.say(t, "alice", id, "")
			elsewhere := h.asks(t, "alice", sibling, "bob")
			_, err := h.tryRead(as("bob"), id, openRead.GetId())
			require.NoError(t, err)
			h.reply(t, "bob", id, answered.GetId(), "")
			end.close(h.channel(t, id))

			require.Equal(t, openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED, h.channel(t, id).GetStatus(), name)
			require.Equal(t, expired, h.get(t, id, open.GetId()).GetStatus(), name)
			require.Equal(t, expired, h.get(t, id, openRead.GetId()).GetStatus(), name)
			require.Equal(t, delivered, h.get(t, id, answered.GetId()).GetStatus(), name)
			require.Equal(t, delivered, h.get(t, id, note.GetId()).GetStatus(), name)
			require.False(t, h.sees(t, "bob", open), name)
			require.True(t, h.sees(t, "alice", open), name)
			require.True(t, h.sees(t, "bob", note), name)
			_, err = h.tryRead(as("bob"), id, open.GetId())
			require.ErrorIs(t, err, message.ErrMessageExpired, name)
			if name == "with its intent" {
				require.Equal(t, expired, h.get(t, sibling, elsewhere.GetId()).GetStatus(), name)
			} else {
				require.Equal(t, delivered, h.get(t, sibling, elsewhere.GetId()).GetStatus(), name)
			}
		}
	})
}

// The messages of another intent have the same positions.
func TestAnExpiryEndsNothingOfAnotherIntent(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		here, there := h.open(t), h.open(t)
		timed := h.send(t, "alice", &sendRequest{ChannelId: here, To: ptr("bob"), MessageType: ptr(request), ExpiresAt: h.in(time.Minute)})
		asked := h.asks(t, "alice", there, "bob")
		require.Equal(t, h.placeOf(t, timed), h.placeOf(t, asked))
		h.clock.Advance(time.Minute)
		h.sweep(t)
		require.Equal(t, []string{asked.GetId()}, idsIn(h.inbox(t, "bob")))
		require.Equal(t, 1, h.rows(t, "messages", "ended_at IS NOT NULL"))
	})
}

func (h *house) cancelTask(t require.TestingT, taskID string) {
	task, err := h.tasks.GetTask(asOperator(), &openintentv1.GetTaskRequest{TaskId: taskID})
	require.NoError(t, err)
	_, err = h.tasks.UpdateTask(asOperator(), &openintentv1.UpdateTaskRequest{
		TaskId: taskID, ExpectedVersion: &task.Version, Status: ptr(openintentv1.TaskStatus_TASK_STATUS_CANCELLED),
	})
	require.NoError(t, err)
}
