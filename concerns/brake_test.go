package concerns

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/fault"
)

// ring lets agents ask each other in a ring until they are braked, in a thread unless parent is nil.
func (h *house) ring(t *testing.T, channel string, parent *string) {
	t.Helper()
	agents := []string{"ann", "ben", "cem"}
	for i := range 30 {
		_, err := h.talk.SendMessage(as(agents[i%3]), &sendForm{
			ChannelId: channel, To: &agents[(i+1)%3], ParentId: parent, MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum(),
		})
		if err != nil {
			require.Equal(t, "CONVERSATION_BRAKED", fault.From(err).Reason)
			return
		}
		h.clock.Advance(time.Second)
	}
	t.Fatal("nobody was braked")
}

func (h *house) budgeted(t *testing.T) string {
	t.Helper()
	return h.newChannel(t, "dora", &openintentv1.CreateChannelRequest{
		IntentId: h.intent, Name: "ring", Options: &openintentv1.ChannelOptions{ConversationBudget: pointer(int64(5)), TurnBudget: pointer(int64(0))},
	})
}

func TestABrake(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		channel := h.budgeted(t)
		_, err := h.talk.SendMessage(as("dora"), &sendForm{ChannelId: channel}) // it takes part
		require.NoError(t, err)
		began := h.clock.Now()
		h.ring(t, channel, nil)
		one := h.only(t, as("dora"), isBrake)
		require.WithinDuration(t, h.clock.Now(), one.GetSince().AsTime(), time.Second)
		require.Equal(t, []string{h.intent, channel}, []string{one.GetIntentId(), one.GetChannelId()})
		require.Nil(t, one.MessageId)
		require.Nil(t, one.AgentId)
		require.Contains(t, one.GetSummary(), `Agents have set each other to work too often on channel "ring", and are braked until `)
		require.Equal(t, []string{"LIFT"}, words(one), "it made the channel")
		require.Empty(t, words(h.only(t, as("alice"), isBrake)), "admin access does not suffice")
		require.Equal(t, []string{"LIFT"}, words(h.only(t, asOperator(), isBrake)))
		require.Equal(t, []string{"LIFT"}, words(h.only(t, asCaller(caller.Caller{Agent: "alice", Human: true}), isBrake)))
		require.Empty(t, words(h.only(t, asCaller(caller.Caller{Agent: "alice", Human: true, Relayed: true}), isBrake)))
		require.Empty(t, words(h.only(t, asCaller(caller.Caller{Agent: "dora", ReadOnly: true}), isBrake)))
		for _, other := range []string{"ann", "carol"} {
			h.none(t, as(other), isBrake)
		}
		ofChannel := func(agent, id string) context.Context {
			return asCaller(caller.Caller{Agent: agent, Scope: caller.NewScope(nil, []string{id})})
		}
		h.only(t, ofChannel("dora", channel), isBrake)
		h.none(t, ofChannel("dora", h.channel), isBrake)
		h.none(t, ofChannel("alice", channel), isBrake)
		h.clock.Set(began.Add(time.Minute))
		require.Equal(t, one.GetId(), h.only(t, as("alice"), isBrake).GetId())
		_, err = h.talk.LiftBrake(as("dora"), &openintentv1.LiftBrakeRequest{ChannelId: channel})
		require.NoError(t, err)
		h.none(t, as("alice"), isBrake)
		h.none(t, asOperator(), isBrake)
	})
}

func TestWhatEndsABrake(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, h *house, channel string, root *string){
		"time": func(_ *testing.T, h *house, _ string, _ *string) { h.clock.Advance(10 * time.Minute) },
		"a person": func(t *testing.T, h *house, channel string, root *string) {
			_, err := h.talk.SendMessage(asCaller(caller.Caller{Agent: "pam", Human: true}), &sendForm{ChannelId: channel, ParentId: root, Payload: &structpb.Struct{}})
			require.NoError(t, err)
		},
		"the channel's end": func(t *testing.T, h *house, channel string, _ *string) {
			_, err := h.channels.DeleteChannel(as("dora"), &openintentv1.DeleteChannelRequest{ChannelId: channel})
			require.NoError(t, err)
		},
		"the channel's closing": func(t *testing.T, h *house, channel string, _ *string) {
			_, err := h.channels.UpdateChannel(as("dora"), &openintentv1.UpdateChannelRequest{
				Channel:    &openintentv1.Channel{Id: channel, Status: openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED},
				UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"status"}},
			})
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachHouse(t, func(t *testing.T, h *house) {
				channel := h.budgeted(t)
				root, err := h.talk.SendMessage(as("alice"), &sendForm{ChannelId: channel})
				require.NoError(t, err)
				h.ring(t, channel, pointer(root.GetId()))
				one := h.only(t, as("alice"), isBrake)
				require.Equal(t, root.GetId(), one.GetMessageId())
				require.Contains(t, one.GetSummary(), "in a thread on channel")
				end(t, h, channel, pointer(root.GetId()))
				h.none(t, as("alice"), isBrake)
				h.none(t, asOperator(), isBrake)
			})
		})
	}
}

// A brake in a thread whose first message is for others names no message, so that it is lifted by somebody else.
func TestABrakeInAThreadOfOthers(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		channel := h.newChannel(t, "ann", &openintentv1.CreateChannelRequest{
			IntentId: h.intent, Name: "ring", Options: &openintentv1.ChannelOptions{ConversationBudget: pointer(int64(5)), TurnBudget: pointer(int64(0))},
			Members: []string{"ann", "ben", "cem"}, MemberPolicy: openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT.Enum(),
		})
		root, err := h.talk.SendMessage(as("ann"), &sendForm{ChannelId: channel})
		require.NoError(t, err)
		h.ring(t, channel, pointer(root.GetId()))
		one := h.only(t, asCaller(caller.Caller{Agent: "alice", Human: true}), isBrake)
		require.Nil(t, one.MessageId)
		require.Empty(t, words(one))
		require.NotContains(t, one.GetSummary(), root.GetId())
		require.Equal(t, root.GetId(), h.only(t, as("ann"), isBrake).GetMessageId())
		h.ring(t, channel, nil)
		found := h.of(t, asCaller(caller.Caller{Agent: "alice", Human: true}), isBrake)
		require.Len(t, found, 2)
		require.Empty(t, words(found[1]), "who is not on the channel lifts none there")
	})
}
