package conversation

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

// add sets a signal and describes all reactions to the message.
func (h *studio) add(ctx context.Context, m *openintentv1.Message, signal, note string) ([]string, error) {
	response, err := h.conversation.AddReaction(ctx, &openintentv1.AddReactionRequest{
		ChannelId: m.GetChannelId(), MessageId: m.GetId(), Signal: signal, Note: ptr(note),
	})
	return described(response), err
}

func (h *studio) remove(ctx context.Context, m *openintentv1.Message, signal string) ([]string, error) {
	response, err := h.conversation.RemoveReaction(ctx, &openintentv1.RemoveReactionRequest{
		ChannelId: m.GetChannelId(), MessageId: m.GetId(), Signal: signal,
	})
	return described(response), err
}

func described(response *openintentv1.ListReactionsResponse) (all []string) {
	for _, r := range response.GetReactions() {
		all = append(all, fmt.Sprintf("%s %s %s", r.GetAgentId(), r.GetSignal(), r.GetNote()))
	}
	return all
}

func TestReactionsAreThereOnceAndToldOnce(t *testing.T) {
	eachStudio(t, func(t *testing.T, h *studio) {
		id, _ := h.Channel(t, &openintentv1.CreateChannelRequest{})
		m := h.send(t, "ann", id, nil)
		steps := []struct {
			agent, signal, note string
			remove              bool
			expected            []string
			annotations         int
		}{
			{"bob", "working", "soon", false, []string{"bob working soon"}, 1},
			{"bob", "working", "soon", false, []string{"bob working soon"}, 1},
			{"ann", "agree", "", false, []string{"bob working soon", "ann agree "}, 2},
			{"bob", "working", "sooner", false, []string{"bob working sooner", "ann agree "}, 3},
			{"bob", "done", "", true, []string{"bob working sooner", "ann agree "}, 3},
			{"bob", "working", "", true, []string{"ann agree "}, 4},
			{"bob", "working", "", true, []string{"ann agree "}, 4},
			{"bob", "working", "again", false, []string{"ann agree ", "bob working again"}, 5},
		}
		for i, step := range steps {
			var all []string
			var err error
			if step.remove {
				all, err = h.remove(as(step.agent), m, step.signal)
			} else {
				all, err = h.add(as(step.agent), m, step.signal, step.note)
			}
			require.NoError(t, err)
			require.Equal(t, step.expected, all, "step %d", i)
			require.Equal(t, step.annotations, h.rows(t, "annotations"), "step %d", i)
		}
		response, err := h.conversation.AddReaction(as("bob"), &openintentv1.AddReactionRequest{
			ChannelId: id, MessageId: m.GetId(), Signal: "working", Note: ptr("again"), Eta: ptr("in 5 minutes"),
		})
		require.NoError(t, err)
		require.Equal(t, "in 5 minutes", response.GetReactions()[1].GetEta(), "another time is a change")
		require.Equal(t, 6, h.rows(t, "annotations"))
	})
}

func TestWhoSeesAMessageMayReact(t *testing.T) {
	eachStudio(t, func(t *testing.T, h *studio) {
		id, _ := h.Explicit(t, "ann", "bob", "eve")
		m := h.send(t, "ann", id, ptr("bob"))
		for name, do := range map[string]func(agent string) error{
			"adds":    func(agent string) error { _, err := h.add(as(agent), m, "seen", ""); return err },
			"removes": func(agent string) error { _, err := h.remove(as(agent), m, "seen"); return err },
			"lists": func(agent string) error {
				_, err := h.conversation.ListReactions(as(agent), &openintentv1.ListReactionsRequest{ChannelId: id, MessageId: m.GetId()})
				return err
			},
		} {
			require.NoError(t, do("ann"), name)
			require.NoError(t, do("bob"), name)
			faulttest.Require(t, do("eve"), fault.NotFound, "MESSAGE_NOT_FOUND")
			faulttest.Require(t, do("mallory"), fault.Denied, "NOT_A_MEMBER")
		}
		_, err := h.conversation.AddReaction(as("ann"), &openintentv1.AddReactionRequest{
			ChannelId: id, MessageId: m.GetId(), Signal: "seen", AgentId: ptr("bob"),
		})
		faulttest.Require(t, err, fault.Denied, "SENDER_MISMATCH")
		_, err = h.conversation.AddReaction(asOperator(), &openintentv1.AddReactionRequest{
			ChannelId: id, MessageId: m.GetId(), Signal: "done", AgentId: ptr("bob"),
		})
		require.NoError(t, err)
		_, err = h.conversation.AddReaction(asOperator(), &openintentv1.AddReactionRequest{
			ChannelId: id, MessageId: m.GetId(), Signal: "done", AgentId: ptr("eve"),
		})
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
	})
}

func TestReactionsAreBoundedForEachAgentAndMessage(t *testing.T) {
	eachStudio(t, func(t *testing.T, h *studio) {
		id, _ := h.Channel(t, &openintentv1.CreateChannelRequest{})
		m := h.send(t, "ann", id, nil)
		for i := range maxSignals {
			_, err := h.add(as("bob"), m, fmt.Sprint("x-", i), "")
			require.NoError(t, err)
		}
		_, err := h.add(as("bob"), m, "seen", "")
		faulttest.Require(t, err, fault.Quota, "TOO_MANY_REACTIONS")
		changes := maxSignals
		for _, step := range []struct {
			signal, note string
			remove       bool
		}{
			{"x-1", "changed", false}, {"x-3", "", true}, {"seen", "in its place", false}, {"x-3", "is one too many", false},
			{"seen", "", true}, {"x-3", "is back", false},
		} {
			if step.remove {
				_, err = h.remove(as("bob"), m, step.signal)
			} else {
				_, err = h.add(as("bob"), m, step.signal, step.note)
			}
			if step.note == "is one too many" {
				faulttest.Require(t, err, fault.Quota, "TOO_MANY_REACTIONS")
				continue
			}
			require.NoError(t, err, "%v", step)
			changes++
		}
		_, err = h.add(as("bob"), h.send(t, "ann", id, nil), "seen", "")
		require.NoError(t, err, "each message has bounds of its own")
		for i := changes; i < maxReactionChanges; i++ {
			_, err := h.add(as("bob"), m, "x-1", fmt.Sprint(i))
			require.NoError(t, err)
		}
		_, err = h.add(as("bob"), m, "x-1", "once more")
		faulttest.Require(t, err, fault.Quota, "TOO_MANY_REACTIONS")
		_, err = h.add(as("bob"), m, "x-1", fmt.Sprint(maxReactionChanges-1))
		require.NoError(t, err, "what is there already is there")
		_, err = h.remove(as("bob"), m, "x-1")
		require.NoError(t, err, "one may always take back what one said")
		_, err = h.add(as("eve"), m, "seen", "")
		require.NoError(t, err, "the others do not pay for it")
	})
}

func TestReactionsEndWithTheirChannelAndMessage(t *testing.T) {
	eachStudio(t, func(t *testing.T, h *studio) {
		id, _ := h.Channel(t, &openintentv1.CreateChannelRequest{})
		m, another := h.send(t, "ann", id, nil), h.send(t, "ann", id, nil)
		for i := range 5 {
			_, err := h.add(as(fmt.Sprint("agent", i)), m, "agree", "")
			require.NoError(t, err)
		}
		_, err := h.add(as("bob"), another, "seen", "")
		require.NoError(t, err)
		request := &openintentv1.ListReactionsRequest{ChannelId: id, MessageId: m.GetId(), Limit: ptr(int32(2))}
		var all []string
		for {
			page, err := h.conversation.ListReactions(as("ann"), request)
			require.NoError(t, err)
			all = append(all, described(page)...)
			if request.Cursor = page.NextCursor; page.NextCursor == nil {
				break
			}
		}
		require.Equal(t, []string{"agent0 agree ", "agent1 agree ", "agent2 agree ", "agent3 agree ", "agent4 agree "}, all)
		_, err = h.Channels.UpdateChannel(asOperator(), &openintentv1.UpdateChannelRequest{
			Channel:    &openintentv1.Channel{Id: id, Status: openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"status"}},
		})
		require.NoError(t, err)
		_, err = h.add(as("bob"), m, "seen", "")
		faulttest.Require(t, err, fault.Conflict, "CHANNEL_CLOSED")
		_, err = h.remove(as("agent0"), m, "agree")
		faulttest.Require(t, err, fault.Conflict, "CHANNEL_CLOSED")
		page, err := h.conversation.ListReactions(as("ann"), &openintentv1.ListReactionsRequest{ChannelId: id, MessageId: m.GetId()})
		require.NoError(t, err)
		require.Len(t, page.GetReactions(), 5, "they can still be read")

		_, err = h.Channels.DeleteChannel(asOperator(), &openintentv1.DeleteChannelRequest{ChannelId: id})
		require.NoError(t, err)
		require.NoError(t, h.messaging.Sweep(context.Background()))
		require.Zero(t, h.rows(t, "reactions"))
		require.Zero(t, h.rows(t, "annotations"))
	})
}
