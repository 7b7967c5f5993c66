package conversation

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

// Whatever takes a holder away ends its claim at once: others may take the place before the sweep has looked.
func TestWhatEndsAClaim(t *testing.T) {
	ends := map[string]func(t *testing.T, h *house){
		"agent_dead": func(t *testing.T, h *house) {
			h.clock.Advance(10 * time.Second)
			require.NoError(t, h.kill(t, "bob"))
		},
		"agent_left": func(t *testing.T, h *house) {
			_, err := h.agents.DeregisterAgent(as("bob"), &openintentv1.DeregisterAgentRequest{AgentId: "bob"})
			require.NoError(t, err)
		},
		"agent_left, and is back": func(t *testing.T, h *house) {
			h.clock.Advance(time.Second)
			_, err := h.agents.DeregisterAgent(as("bob"), &openintentv1.DeregisterAgentRequest{AgentId: "bob"})
			require.NoError(t, err)
			h.hire(t, "bob")
		},
		"role_lost": func(t *testing.T, h *house) {
			name, role := "bob", "writer"
			_, err := h.agents.UpsertAgent(as(name), &openintentv1.RegisterAgentRequest{AgentId: &name, RoleId: &role})
			require.NoError(t, err)
		},
		"access_lost": func(t *testing.T, h *house) {
			_, err := h.intents.SetAccessControl(asOperator(), &openintentv1.SetAccessControlRequest{
				IntentId: h.intent, DefaultPolicy: openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED,
				Entries: []*openintentv1.AccessEntryInput{{PrincipalId: "carol", Permission: openintentv1.Permission_PERMISSION_READ}},
			})
			require.NoError(t, err)
		},
		"expired": func(_ *testing.T, h *house) { h.clock.Advance(2 * time.Minute) },
	}
	for name, happens := range ends {
		reason, _, _ := strings.Cut(name, ",")
		t.Run(name, func(t *testing.T) {
			eachHouse(t, func(t *testing.T, h *house) {
				h.hire(t, "bob", "carol")
				unswept, swept := h.asks(t, one()), h.asks(t, one())
				h.claims(t, "bob", unswept)
				h.claims(t, "bob", swept)
				happens(t, h)
				first := h.claims(t, "carol", unswept)
				require.Equal(t, []string{"message_claimed bob", "claim_released bob " + reason, "message_claimed carol"}, h.heard(t, unswept))
				h.sweep(t)
				require.Equal(t, []string{"message_claimed bob", "claim_released bob " + reason}, h.heard(t, swept))
				h.sweep(t)
				require.Len(t, h.heard(t, swept), 2, "it is announced once")
				require.NoError(t, h.answer("carol", swept, h.claims(t, "carol", swept).GetFence()))
				require.NoError(t, h.answer("carol", unswept, first.GetFence()))
				require.Zero(t, h.rows(t))
			})
		})
	}
}

// The sweep judges all claims on a message together. It announces the end of each once, also if one keeps its place while another ends.
func TestEachClaimOfAQuorumEndsOnce(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob", "carol")
		asked := h.asks(t, quorum(2))
		h.claims(t, "bob", asked)
		h.clock.Advance(time.Minute)
		h.claims(t, "carol", asked)
		for range 2 {
			h.clock.Advance(time.Minute)
			h.sweep(t)
		}
		require.Equal(t, []string{
			"message_claimed bob", "message_claimed carol", "claim_released bob expired", "claim_released carol expired",
		}, h.heard(t, asked))
	})
}

// kill marks an agent as dead, as the sweep of agents does after missed heartbeats.
func (h *house) kill(t *testing.T, agent string) error {
	t.Helper()
	return h.db.Write(context.Background(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{SQL: "UPDATE agents SET status = 'dead', version = version + 1 WHERE agent_id = ?", Args: []any{agent}})
	})
}

// The sweep goes on where its last run stopped, so it comes to every claim, however many there are.
func TestTheSweepComesToEveryClaim(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob", "carol")
		first := h.asks(t, nil)
		h.claims(t, "bob", first)
		h.copyClaim(t, first, 6_000)
		last := h.asks(t, nil)
		h.claims(t, "carol", last)
		require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{SQL: "UPDATE claims SET message_position = message_position + 9000000 WHERE agent_id = 'carol'"})
		}))
		require.NoError(t, h.kill(t, "carol"))
		h.sweep(t)
		require.Equal(t, 6_002, h.rows(t), "the first run does not come to the last claim")
		h.sweep(t)
		require.Equal(t, 6_001, h.rows(t))
	})
}

func TestClosingEndsClaims(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob")
		asked, note := h.asks(t, one()), h.note(t)
		got := h.claims(t, "bob", asked)
		h.claims(t, "bob", note)
		_, err := h.channels.UpdateChannel(asOperator(), &openintentv1.UpdateChannelRequest{
			Channel:    &openintentv1.Channel{Id: h.channel, Status: openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"status"}},
		})
		require.NoError(t, err)
		faulttest.Require(t, h.release("bob", asked, got.GetFence()), fault.Conflict, "CHANNEL_CLOSED")
		_, err = h.claim("bob", note, 0)
		faulttest.Require(t, err, fault.Conflict, "CHANNEL_CLOSED")
		h.sweep(t)
		require.Zero(t, h.rows(t))
		for _, id := range []string{asked, note} {
			require.Equal(t, []string{"message_claimed bob", "claim_released bob channel_closed"}, h.heard(t, id))
		}
	})
}

// A deletion takes the claims of that channel alone.
func TestClaimsGoWithTheirChannel(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		claimsForAnHour := func() {
			_, err := h.ClaimMessage(as("bob"), &openintentv1.ClaimMessageRequest{
				ChannelId: h.channel, MessageId: h.note(t), TtlSeconds: ptr(int32(3600)),
			})
			require.NoError(t, err)
		}
		doomed := h.channel
		h.claims(t, "bob", h.note(t))
		other, err := h.channels.CreateChannel(as("creator"), &openintentv1.CreateChannelRequest{IntentId: h.intent, Name: "other"})
		require.NoError(t, err)
		h.channel = other.GetId()
		claimsForAnHour()
		_, err = h.channels.DeleteChannel(asOperator(), &openintentv1.DeleteChannelRequest{ChannelId: doomed})
		require.NoError(t, err)
		h.clock.Advance(2 * time.Minute)
		h.sweep(t)
		require.Equal(t, 1, h.rows(t))
	})
}

// note sends a message to everyone.
func (h *house) note(t *testing.T) string {
	t.Helper()
	sent, err := h.talk.SendMessage(as("alice"), &openintentv1.SendMessageRequest{ChannelId: h.channel})
	require.NoError(t, err)
	return sent.GetId()
}

// A claim outlives the eviction of its message. Fences go on rising, and an open request that was evicted can still be claimed
// and answered.
func TestClaimsOutliveEviction(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob", "carol")
		asked, thread := h.asksWithin(t, one(), time.Hour), h.note(t)
		got := h.claims(t, "bob", asked)
		h.claims(t, "bob", thread)
		most := int64(1)
		_, err := h.channels.UpdateChannel(asOperator(), &openintentv1.UpdateChannelRequest{
			Channel:    &openintentv1.Channel{Id: h.channel, Options: &openintentv1.ChannelOptions{MaxMessages: &most}},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"options.max_messages"}},
		})
		require.NoError(t, err)
		h.note(t)
		require.NoError(t, h.talk.Sweep(t.Context()))
		h.sweep(t)
		require.Equal(t, 2, h.rows(t))
		_, err = h.claim("carol", asked, 0)
		faulttest.Require(t, err, fault.AlreadyExists, "CLAIMED")
		_, err = h.claim("carol", thread, 0)
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		h.clock.Advance(2 * time.Minute)
		h.sweep(t)
		next := h.claims(t, "carol", asked)
		require.Greater(t, next.GetFence(), got.GetFence())
		require.NoError(t, h.answer("carol", asked, next.GetFence()))
		require.Zero(t, h.rows(t))
	})
}

// A message whose time is over is claimed no more, by nobody who finds it by its id.
func TestALateMessageIsNotClaimed(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob")
		sent, err := h.talk.SendMessage(as("alice"), &openintentv1.SendMessageRequest{ChannelId: h.channel, ExpiresInSeconds: ptr(1.0)})
		require.NoError(t, err)
		got := h.claims(t, "bob", sent.GetId())
		h.clock.Advance(time.Second)
		for _, agent := range []string{"alice", "bob"} {
			_, err := h.claim(agent, sent.GetId(), 0)
			faulttest.Require(t, err, fault.Conflict, "MESSAGE_EXPIRED")
		}
		faulttest.Require(t, h.release("bob", sent.GetId(), got.GetFence()), fault.Conflict, "CLAIM_LOST")
	})
}

// commits fails after a commit that succeeded, as often as it is told to.
type commits struct{ lost atomic.Int64 }

func (c *commits) hooks() database.Hooks {
	return database.Hooks{AfterCommit: func(context.Context) error {
		if c.lost.Load() == 0 {
			return nil
		}
		c.lost.Add(-1)
		return errors.New("injected")
	}}
}

// The acknowledgement of a commit is lost. The claim or the answer that is repeated under its key is the same one.
func TestLostAcknowledgements(t *testing.T) {
	eachFaultyHouse(t, func(t *testing.T, h *house, after *commits) {
		h.hire(t, "bob", "carol")
		asked, key := h.asks(t, one()), "k"
		claiming := &openintentv1.ClaimMessageRequest{ChannelId: h.channel, MessageId: asked, IdempotencyKey: &key}
		after.lost.Store(1)
		_, err := h.ClaimMessage(as("bob"), claiming)
		require.Error(t, err)
		got, err := h.ClaimMessage(as("bob"), claiming)
		require.NoError(t, err)
		require.Len(t, h.heard(t, asked), 1)

		fence := got.GetFence()
		answering := &openintentv1.ReplyMessageRequest{ChannelId: h.channel, MessageId: asked, IdempotencyKey: &key, Fence: &fence}
		after.lost.Store(1)
		first, err := h.talk.ReplyMessage(as("bob"), answering)
		require.NoError(t, err, "the writer finds out")
		again, err := h.talk.ReplyMessage(as("bob"), answering)
		require.NoError(t, err)
		require.Equal(t, first.GetId(), again.GetId())
		faulttest.Require(t, h.answer("carol", asked, 0), fault.Conflict, "ANSWERED")
		require.Equal(t, []string{"message_claimed bob", "claim_released bob responded"}, h.heard(t, asked))
	})
}
