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
	"openintent/messaging/claim"
	"openintent/messaging/message"
)

// holds lets an agent hold a claim on a message, and tells others.
func (h *house) holds(t require.TestingT, agent string, m *wireMessage) {
	by, err := caller.Known(as(agent))
	require.NoError(t, err)
	err = h.messaging.HoldMessage(as(agent), by, agent, m.GetChannelId(), m.GetId(), message.Current, func(s *Sighting) error {
		of := s.Message
		made := &claim.Claim{
			IntentNo: of.IntentNo, ChannelNo: of.ChannelNo, MessagePosition: of.Position, MessageID: of.ID,
			AgentID: agent, Fence: database.Micros(s.Head().Tick()),
		}
		made.Extend(of, s.Head().Now(), time.Minute)
		if err := claim.Insert(s.Tx, made); err != nil {
			return err
		}
		return s.Annotate(message.AnnotationClaim, agent, message.AnnotationDetails{For: []string{agent}})
	})
	require.NoError(t, err)
}

// attending is a request for a stream that includes attention.
func attending(scope *openintentv1.SubscribeRequest, after *int64) *openintentv1.SubscribeRequest {
	scope.Include, scope.AfterPosition = []string{"attention"}, after
	return scope
}

// reasons receives as many deliveries and returns what each asks, with a dash for nothing.
func (f *streaming) reasons(t require.TestingT, count int) (found []string) {
	for range count {
		reason := "-"
		if block := f.next(t).GetAttention(); block != nil {
			reason = block.GetReason()
		}
		found = append(found, reason)
	}
	return found
}

// Streams of a channel and of an intent say what messages ask: as they are stored, and when they are read later.
func TestStreamsSayWhatMessagesAsk(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.open(t)
		intentID := h.channel(t, channelID).GetIntentId()
		h.register(t, "b", "judge")
		begin := func(scope *openintentv1.SubscribeRequest, after *int64) *streaming {
			f, err := h.trySubscribe(as("b"), attending(scope, after))
			require.NoError(t, err)
			t.Cleanup(f.cancel)
			return f
		}
		live := []*streaming{begin(ofChannel(channelID), nil), begin(ofIntent(intentID), nil)}
		from := live[0].marks[0]
		plain := h.follow(t, "b", channelID, nil)

		h.asks(t, "a", channelID, "b")
		h.say(t, "b", channelID, "one's own")
		root := h.say(t, "a", channelID, "to all")
		_, err := h.messaging.SendMessage(as("b"), &sendRequest{ChannelId: channelID, ParentId: ptr(root.GetId())})
		require.NoError(t, err)
		_, err = h.messaging.SendMessage(as("a"), &sendRequest{ChannelId: channelID, ParentId: ptr(root.GetId())})
		require.NoError(t, err)
		h.say(t, "a", channelID, "text for all")
		h.send(t, "a", &sendRequest{ChannelId: channelID, To: ptr("c")})
		h.asks(t, "a", channelID, "role:judge")
		want := []string{"direct_request", "-", "ambient", "-", "thread", "ambient", "role_request"}
		for _, f := range live {
			require.Equal(t, want, f.reasons(t, len(want)))
		}
		for range want {
			require.Nil(t, plain.next(t).Attention, "who does not ask for it gets none")
		}
		for _, scope := range []*openintentv1.SubscribeRequest{ofChannel(channelID), ofIntent(intentID)} {
			require.Equal(t, want, begin(scope, &from).reasons(t, len(want)), "read later")
			scope.Include = []string{"attention", "annotations"}
			both, err := h.trySubscribe(as("b"), scope)
			require.NoError(t, err)
			require.Equal(t, want, both.reasons(t, len(want)))
			both.cancel()
		}
	})
}

// A claim changes what later deliveries say. Its fence goes to the holder alone, also where followers share what was read.
func TestStreamsSayWhoClaims(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.open(t)
		for _, agent := range []string{"b", "c"} {
			h.register(t, agent, "judge")
		}
		slow, err := h.trySubscribe(as("c"), attending(ofChannel(channelID), nil))
		require.NoError(t, err)
		defer slow.cancel()
		asked := h.asks(t, "a", channelID, "role:judge")
		second := h.asks(t, "a", channelID, "role:judge")
		require.Equal(t, "role_request", slow.next(t).GetAttention().GetReason())
		require.Equal(t, "role_request", slow.next(t).GetAttention().GetReason())
		h.holds(t, "b", asked)
		third := h.asks(t, "a", channelID, "role:judge")
		require.Equal(t, third.GetId(), slow.next(t).GetMessage().GetId())
		after := int64(0)
		for _, row := range []struct{ agent, reason string }{{"b", "role_request"}, {"c", "claimed_by_other"}} {
			f, err := h.trySubscribe(as(row.agent), attending(ofChannel(channelID), &after))
			require.NoError(t, err)
			d := f.next(t)
			require.Equal(t, asked.GetId(), d.GetMessage().GetId())
			require.Equal(t, row.reason, d.GetAttention().GetReason())
			require.Equal(t, "b", d.GetAttention().GetClaim().GetHolder())
			require.Equal(t, row.agent == "b", d.GetAttention().GetClaim().Fence != nil)
			d = f.next(t)
			require.Equal(t, second.GetId(), d.GetMessage().GetId())
			require.Nil(t, d.GetAttention().Claim)
			f.cancel()
		}
	})
}

// A stream that does not include attention runs no statement for it, even beside one that does.
func TestStreamsWithoutAttentionCostNothingMore(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			var claims atomic.Int64
			h := newHouse(t, engine, withHooks(database.Hooks{Statement: func(_ context.Context, sql string) func() {
				if strings.Contains(sql, "FROM claims") {
					claims.Add(1)
				}
				return nil
			}}))
			channelID := h.open(t)
			read := func(req *openintentv1.SubscribeRequest) int64 {
				before := claims.Load()
				f, err := h.trySubscribe(as("b"), req)
				require.NoError(t, err)
				defer f.cancel()
				h.say(t, "a", channelID, "live")
				for f.next(t).GetMessage() == nil {
				}
				return claims.Load() - before
			}
			require.Zero(t, read(ofChannel(channelID)))
			require.EqualValues(t, 1, read(attending(ofChannel(channelID), nil)))
		})
	}
}

// Whoever follows with attention is shown nothing of messages to others.
func TestAttentionShowsNothingOfUnseenMessages(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.open(t)
		intentID := h.channel(t, channelID).GetIntentId()
		h.say(t, "stranger", channelID, "begins")
		hidden := h.asks(t, "a", channelID, "b")
		h.holds(t, "b", hidden)
		h.say(t, "a", channelID, "end")
		for _, scope := range []*openintentv1.SubscribeRequest{ofChannel(channelID), ofIntent(intentID)} {
			after := int64(0)
			f, err := h.trySubscribe(as("stranger"), attending(scope, &after))
			require.NoError(t, err)
			require.Equal(t, "begins", textOf(f.messages(t)))
			d := f.messages(t)
			require.Equal(t, "end", textOf(d))
			f.cancel()
		}
	})
}

// messages receives the next message, and passes over logged events.
func (f *streaming) messages(t require.TestingT) *wireMessage {
	for {
		if d := f.next(t); d.GetMessage() != nil {
			return d.GetMessage()
		}
	}
}
