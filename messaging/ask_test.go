package messaging

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

// asked is a call of Ask under way.
type asked struct {
	request *wireMessage
	ended   chan answered
}

type answered struct {
	message *wireMessage
	err     error
}

// askMeanwhile begins an Ask of alice's for bob and returns once the request is stored.
func (h *house) askMeanwhile(ctx context.Context, t require.TestingT, channelID string, seconds float64) asked {
	ended := make(chan answered, 1)
	go func() {
		m, err := h.messaging.Ask(ctx, &askRequest{
			ChannelId: channelID, To: "bob", Payload: content("?"), TimeoutSeconds: &seconds,
		})
		ended <- answered{m, err}
	}()
	return asked{request: h.awaitRequest(t, channelID), ended: ended}
}

// awaitRequest waits until the channel has an unanswered request whose time has not run out, and gives it.
func (h *house) awaitRequest(t require.TestingT, channelID string) *wireMessage {
	var id string
	key := h.key(t, channelID)
	eventually(t, func() bool {
		err := h.db.ReadStatement(context.Background(), func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{
				SQL: "SELECT m.id FROM open_requests q JOIN messages m ON m.intent_no = q.intent_no AND m.position = q.position" +
					" WHERE q.intent_no = ? AND q.channel_no = ? AND (q.expires_at IS NULL OR q.expires_at > ?)",
				Args: []any{key.IntentNo, key.ChannelNo, database.Micros(h.clock.Now())},
				Scan: func(row database.Row) error { return row.Scan(&id) },
			})
		})
		return err == nil && id != ""
	}, "nobody has asked")
	return h.get(t, channelID, id)
}

// result waits for the end of the call.
func (a asked) result(t require.TestingT) answered {
	select {
	case out := <-a.ended:
		return out
	case <-time.After(patience):
		require.Fail(t, "the call does not end")
		return answered{}
	}
}

// requireTimeout checks that the wait ran out and which request that was.
func requireTimeout(t require.TestingT, out answered, request *wireMessage) {
	f := faulttest.Require(t, out.err, fault.TimedOut, "MESSAGE_TIMEOUT")
	require.Equal(t, request.GetId(), f.Metadata["message_id"])
}

func TestAskGivesTheFirstResponse(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		asking := h.askMeanwhile(as("alice"), t, id, 30)
		require.Equal(t, request, asking.request.GetMessageType())
		require.Equal(t, "alice", asking.request.GetSender())
		require.Equal(t, "bob", asking.request.GetTo())
		require.Equal(t, asking.request.GetCreatedAt().AsTime().Add(30*time.Second), asking.request.GetExpiresAt().AsTime())
		h.say(t, "bob", id, "thinking")
		first := h.reply(t, "bob", id, asking.request.GetId(), "one")
		h.reply(t, "bob", id, asking.request.GetId(), "two")
		out := asking.result(t)
		require.NoError(t, out.err)
		require.Empty(t, cmpMessages(first, out.message))
	})
}

func TestAskOfARole(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		ended := make(chan answered, 1)
		go func() {
			m, err := h.messaging.Ask(as("alice"), &askRequest{ChannelId: id, To: "role:tester", Timeout: ptr(5.0)})
			ended <- answered{m, err}
		}()
		request := h.awaitRequest(t, id)
		require.Equal(t, 5*time.Second, request.GetExpiresAt().AsTime().Sub(request.GetCreatedAt().AsTime()))
		h.register(t, "late", "tester")
		require.Equal(t, []string{request.GetId()}, idsOf(h.list(t, "late", &listRequest{ChannelId: id})),
			"a role without a holder waits for one")
		h.reply(t, "late", id, request.GetId(), "here")
		out := asked{request, ended}.result(t)
		require.NoError(t, out.err)
		require.Equal(t, "here", textOf(out.message))
	})
}

func TestAskHasABoundedTime(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		_, err := h.messaging.Ask(as("alice"), &askRequest{
			ChannelId: id, To: "bob", Timeout: ptr(1.0), TimeoutSeconds: ptr(1.0),
		})
		faulttest.RequireBadField(t, err, "timeout")
		_, err = h.messaging.Ask(as("alice"), &askRequest{ChannelId: id, To: "*"})
		faulttest.RequireBadField(t, err, "to")
		_, err = h.messaging.Ask(as("alice"), &askRequest{ChannelId: id, To: "alice"})
		faulttest.RequireBadField(t, err, "to")
		require.Zero(t, h.channel(t, id).GetMessageCount())
		ctx, cancel := context.WithCancel(as("alice"))
		defer cancel()
		ended := make(chan error, 1)
		go func() {
			_, err := h.messaging.Ask(ctx, &askRequest{ChannelId: id, To: "bob"})
			ended <- err
		}()
		m := h.awaitRequest(t, id)
		require.Equal(t, 30*time.Second, m.GetExpiresAt().AsTime().Sub(m.GetCreatedAt().AsTime()), "30 s when it is not said")
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
}

func TestAskThatRunsOutExpiresItsRequest(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		asking := h.askMeanwhile(as("alice"), t, id, 30)
		h.clock.Advance(time.Minute)
		requireTimeout(t, asking.result(t), asking.request)
		key := h.key(t, id)
		require.Zero(t, h.rows(t, "open_requests", "intent_no = ?", key.IntentNo), "the expiry is lasting")
		require.Equal(t, expired, h.get(t, id, asking.request.GetId()).GetStatus())
		_, err := h.tryReply(as("bob"), id, asking.request.GetId(), "late")
		faulttest.Require(t, err, fault.Conflict, "MESSAGE_EXPIRED")
	}, restless)
}

// A reply and the deadline race. Either the reply is stored and the asker gets it, or it is refused and the asker learns
// that the time ran out.
func TestAReplyRacesTheDeadline(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		services := []*Service{h.messaging, h.messaging}
		if h.db.Engine() == database.PostgreSQL {
			services[1] = h.replica(t).messaging
		}
		id := h.open(t)
		outcomes := make(map[bool]int)
		for round := range 60 {
			asking := h.askMeanwhile(as("alice"), t, id, 10)
			deadline := asking.request.GetExpiresAt().AsTime()
			h.clock.Set(deadline.Add(-time.Microsecond))
			var begin, done sync.WaitGroup
			begin.Add(1)
			var replyErr error
			done.Go(func() {
				begin.Wait()
				_, replyErr = services[round%2].ReplyMessage(as("bob"), &replyRequest{
					ChannelId: id, MessageId: asking.request.GetId(),
				})
			})
			done.Go(func() {
				begin.Wait()
				h.clock.Set(deadline)
			})
			begin.Done()
			done.Wait()
			out := asking.result(t)
			if replyErr == nil {
				require.NoError(t, out.err, "round %d: the reply was acknowledged", round)
				require.Equal(t, asking.request.GetId(), out.message.GetCorrelationId())
				require.True(t, out.message.GetCreatedAt().AsTime().Before(deadline))
			} else {
				faulttest.Require(t, replyErr, fault.Conflict, "MESSAGE_EXPIRED")
				requireTimeout(t, out, asking.request)
			}
			outcomes[replyErr == nil]++
		}
		t.Logf("%d answered, %d refused", outcomes[true], outcomes[false])
	}, restless)
}

func TestAskEndsWhenItsChannelCloses(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		for name, end := range map[string]func(channel *openintentv1.Channel){
			"by its manager":  func(c *openintentv1.Channel) { h.closeChannel(t, c.GetId()) },
			"with its intent": func(c *openintentv1.Channel) { h.setStatus(t, c.GetIntentId(), completed) },
			"by deletion":     func(c *openintentv1.Channel) { h.deleteChannel(t, c.GetId()) },
		} {
			id := h.open(t)
			asking := h.askMeanwhile(as("alice"), t, id, 600)
			end(h.channel(t, id))
			f := faulttest.Require(t, asking.result(t).err, fault.Conflict, "CHANNEL_CLOSED")
			require.Equal(t, asking.request.GetId(), f.Metadata["message_id"], name)
		}
	})
}

func TestAskEndsWhenItsCallerLosesAccess(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		asking := h.askMeanwhile(as("alice"), t, id, 600)
		h.admit(t, h.channel(t, id).GetIntentId(), "bob")
		f := faulttest.Require(t, asking.result(t).err, fault.Denied, "FORBIDDEN")
		require.Equal(t, asking.request.GetId(), f.Metadata["message_id"])
		require.Equal(t, delivered, h.get(t, id, asking.request.GetId()).GetStatus(), "the request stays asked")

		private := h.explicit(t, "alice", "bob")
		asking = h.askMeanwhile(as("alice"), t, private, 600)
		h.removeMember(t, private, "alice")
		f = faulttest.Require(t, asking.result(t).err, fault.Denied, "NOT_A_MEMBER")
		require.Equal(t, asking.request.GetId(), f.Metadata["message_id"])
	})
}

func TestCallerThatGoesAwayLeavesItsRequestAsked(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(as("alice"))
		asking := h.askMeanwhile(ctx, t, id, 600)
		cancel(gone)
		require.ErrorIs(t, asking.result(t).err, gone)
		require.Equal(t, delivered, h.get(t, id, asking.request.GetId()).GetStatus())
		answer := h.reply(t, "bob", id, asking.request.GetId(), "still")
		got, err := h.messaging.AwaitResponses(as("alice"), &awaitRequest{ChannelId: id, MessageId: asking.request.GetId()})
		require.NoError(t, err)
		require.Equal(t, []string{answer.GetId()}, idsOf(got.GetResponses()))
	})
}

// The operator asks for an agent: the agent's rights count, as with everything it sends.
func TestOperatorAsksForAnAgent(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.explicit(t, "alice", "bob")
		_, err := h.messaging.Ask(asOperator(), &askRequest{ChannelId: id, Sender: ptr("carol"), To: "bob"})
		faulttest.Require(t, err, fault.Denied, "NOT_A_MEMBER")
		ended := make(chan answered, 1)
		go func() {
			m, err := h.messaging.Ask(asOperator(), &askRequest{ChannelId: id, Sender: ptr("alice"), To: "bob"})
			ended <- answered{m, err}
		}()
		request := h.awaitRequest(t, id)
		require.Equal(t, "alice", request.GetSender())
		answer := h.reply(t, "bob", id, request.GetId(), "yes")
		require.Equal(t, "alice", answer.GetTo())
		out := asked{request, ended}.result(t)
		require.NoError(t, out.err)
		require.Equal(t, answer.GetId(), out.message.GetId())
	})
}

// The answer that another replica stores is found without a wake-up.
func TestAnAnswerWithoutAWakeUpIsFound(t *testing.T) {
	t.Parallel()
	one, other := newReplicas(t, restless)
	id := one.open(t)
	asking := one.askMeanwhile(as("alice"), t, id, 600)
	answer := other.reply(t, "bob", id, asking.request.GetId(), "yes")
	out := asking.result(t)
	require.NoError(t, out.err)
	require.Equal(t, answer.GetId(), out.message.GetId())
}
