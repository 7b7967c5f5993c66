package agents

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

func (h *house) refuse(ctx context.Context, agent, sender string) (*openintentv1.RefusedSender, error) {
	return h.RefuseSender(ctx, &openintentv1.RefuseSenderRequest{AgentId: agent, Sender: sender})
}

func (h *house) allow(ctx context.Context, agent, sender string) error {
	_, err := h.AllowSender(ctx, &openintentv1.AllowSenderRequest{AgentId: agent, Sender: sender})
	return err
}

// refused lists the senders that an agent refuses, a page at a time.
func (h *house) refused(t *testing.T, agent string, limit int32) (senders []string) {
	t.Helper()
	req := &openintentv1.ListRefusedSendersRequest{AgentId: agent, Limit: &limit}
	for {
		page, err := h.ListRefusedSenders(as(agent), req)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.GetRefused()), int(limit))
		for _, one := range page.GetRefused() {
			senders = append(senders, one.GetSender())
		}
		if page.NextCursor == nil {
			return senders
		}
		req.Cursor = page.NextCursor
	}
}

// tag reads the number that an agent's refusals have.
func (h *house) tag(t *testing.T, agent string) (tag int64) {
	t.Helper()
	require.NoError(t, h.db.Read(t.Context(), func(tx *database.Tx) error {
		presences, err := LoadPresences(tx, []string{agent})
		tag = presences[agent].Refusals
		return err
	}))
	return tag
}

func TestRefusing(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "bob")
		require.Zero(t, h.tag(t, "bob"))
		first, err := h.refuse(as("bob"), "bob", "mallory")
		require.NoError(t, err)
		tag := h.tag(t, "bob")
		require.NotZero(t, tag)
		h.clock.Advance(time.Minute)
		again, err := h.refuse(as("bob"), "bob", "mallory")
		require.NoError(t, err)
		require.Equal(t, first.GetCreatedAt().AsTime(), again.GetCreatedAt().AsTime(), "to refuse again changes nothing")
		require.Equal(t, tag, h.tag(t, "bob"))
		_, err = h.refuse(asOperator(), "bob", "guest-zoe")
		require.NoError(t, err)
		require.NotEqual(t, tag, h.tag(t, "bob"))
		require.Equal(t, []string{"guest-zoe", "mallory"}, h.refused(t, "bob", 1))

		for range 2 {
			require.NoError(t, h.allow(as("bob"), "bob", "mallory"))
			require.Equal(t, []string{"guest-zoe"}, h.refused(t, "bob", 10))
		}
		require.NotZero(t, h.tag(t, "bob"))
		require.NoError(t, h.allow(asOperator(), "bob", "guest-zoe"))
		require.Zero(t, h.tag(t, "bob"), "it refuses nobody any more")
	})
}

func TestWhatCannotBeRefused(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "bob")
		for _, sender := range []string{"", "bob", "operator", "system", "*", "role:tester", "a/b", "a\x00"} {
			_, err := h.refuse(as("bob"), "bob", sender)
			refusal := faulttest.Require(t, err, fault.Invalid, "INVALID_FIELD")
			require.Equal(t, "sender", refusal.Fields[0].Path, "%q", sender)
		}
		_, err := h.refuse(as("carol"), "carol", "mallory")
		faulttest.Require(t, err, fault.NotFound, "AGENT_NOT_FOUND")
		faulttest.Require(t, h.allow(as("carol"), "carol", "mallory"), fault.NotFound, "AGENT_NOT_FOUND")
		_, err = h.ListRefusedSenders(as("carol"), &openintentv1.ListRefusedSendersRequest{AgentId: "carol"})
		faulttest.Require(t, err, fault.NotFound, "AGENT_NOT_FOUND")
	})
}

func TestOnlyTheAgentAndTheOperatorRefuse(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "bob")
		_, err := h.refuse(as("mallory"), "bob", "alice")
		faulttest.Require(t, err, fault.Denied, "NOT_AGENT_OWNER")
		faulttest.Require(t, h.allow(as("mallory"), "bob", "mallory"), fault.Denied, "NOT_AGENT_OWNER")
		_, err = h.ListRefusedSenders(as("mallory"), &openintentv1.ListRefusedSendersRequest{AgentId: "bob"})
		faulttest.Require(t, err, fault.Denied, "NOT_AGENT_OWNER")
	})
}

func TestHowManyAnAgentRefuses(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "bob")
		_, err := h.refuse(as("bob"), "bob", "first")
		require.NoError(t, err)
		var senders, agents []string
		var times []int64
		for n := range maxRefusals - 1 {
			senders, agents, times = append(senders, fmt.Sprintf("sender-%04d", n)), append(agents, "bob"), append(times, 1)
		}
		require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(tx.Insert("refusals", database.Column{Name: "agent_id", Values: agents},
				database.Column{Name: "sender", Values: senders}, database.Column{Name: "created_at", Values: times})...)
		}))
		_, err = h.refuse(as("bob"), "bob", "one too many")
		faulttest.Require(t, err, fault.Quota, "TOO_MANY_REFUSALS")
		_, err = h.refuse(as("bob"), "bob", "first")
		require.NoError(t, err, "it refuses this one already")
		require.NoError(t, h.allow(as("bob"), "bob", "first"))
		_, err = h.refuse(as("bob"), "bob", "one too many")
		require.NoError(t, err)
		require.Len(t, h.refused(t, "bob", 999), maxRefusals)
	})
}

func TestAnErasureForgetsRefusals(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "bob")
		h.register(t, "carol")
		_, err := h.refuse(as("bob"), "bob", "mallory")
		require.NoError(t, err)
		_, err = h.refuse(as("carol"), "carol", "bob")
		require.NoError(t, err)
		_, err = h.DeregisterAgent(as("bob"), &openintentv1.DeregisterAgentRequest{AgentId: "bob"})
		require.NoError(t, err)
		_, erased, err := h.Erase(t.Context(), "bob")
		require.NoError(t, err)
		require.True(t, erased)
		require.Empty(t, h.refused(t, "bob", 10))
		require.Zero(t, h.tag(t, "bob"))
		require.Equal(t, []string{"bob"}, h.refused(t, "carol", 10), "what others said stays")
	})
}
