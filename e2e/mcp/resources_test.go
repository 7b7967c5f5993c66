package mcp

import (
	"encoding/json"
	"fmt"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// scene is an intent of alice's with a channel of alice and bob.
type scene struct {
	alice, bob      *harness.Caller
	intent, channel string
}

func newScene(t *testing.T, h *house) *scene {
	t.Helper()
	s := &scene{alice: h.As("alice"), bob: h.As("bob")}
	intent, err := s.alice.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{
		Title: "Research", Description: new("What the market wants."), Status: openintentv1.IntentStatus_INTENT_STATUS_ACTIVE.Enum(),
	})
	require.NoError(t, err)
	channel, err := s.alice.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{
		IntentId: intent.GetId(), Name: "data", Members: []string{"alice", "bob"},
		MemberPolicy: openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT.Enum(),
	})
	require.NoError(t, err)
	s.intent, s.channel = intent.GetId(), channel.GetId()
	return s
}

// says sends a message from alice to bob.
func (s *scene) says(t *testing.T, text string) *openintentv1.Message {
	t.Helper()
	payload, err := structpb.NewStruct(map[string]any{"text": text})
	require.NoError(t, err)
	sent, err := s.alice.Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{
		ChannelId: s.channel, To: new("bob"), Payload: payload,
		MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum(),
	})
	require.NoError(t, err)
	return sent
}

// removes takes a member out of the channel.
func (s *scene) removes(t *testing.T, member string) {
	t.Helper()
	_, err := s.alice.Channels.RemoveChannelMember(t.Context(), &openintentv1.RemoveChannelMemberRequest{
		ChannelId: s.channel, AgentId: member,
	})
	require.NoError(t, err)
}

// read reads a resource into a map.
func read(t *testing.T, by *agent, address string) object {
	t.Helper()
	result, err := by.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: address})
	require.NoError(t, err)
	require.Len(t, result.Contents, 1)
	require.Equal(t, "application/json", result.Contents[0].MIMEType)
	var content object
	require.NoError(t, json.Unmarshal([]byte(result.Contents[0].Text), &content))
	return content
}

func TestResourcesAreListedAndRead(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		s := newScene(t, h)
		sent := s.says(t, "which?")
		for _, revision := range []string{newest, older, "2025-06-18"} {
			bob := h.connect(t, harness.Key, "bob", revision, nil)
			listed, err := bob.ListResources(t.Context(), nil)
			require.NoError(t, err)
			require.Len(t, listed.Resources, 2)
			require.Equal(t, "openintent://agents/bob/inbox", listed.Resources[0].URI)
			require.Equal(t, "openintent://intents/"+s.intent, listed.Resources[1].URI)
			require.Equal(t, "Research", listed.Resources[1].Title)
			templates, err := bob.ListResourceTemplates(t.Context(), nil)
			require.NoError(t, err)
			require.Len(t, templates.ResourceTemplates, 3)

			intent := read(t, bob, "openintent://intents/"+s.intent)
			require.Equal(t, "Research", intent["title"])
			require.Equal(t, "active", intent["status"])
			channel := read(t, bob, "openintent://channels/"+s.channel)
			require.Equal(t, []any{"alice", "bob"}, channel["members"])
			last := list(t, channel, "newest")
			require.Len(t, last, 1)
			require.Equal(t, "which?", last[0]["text"])
			inbox := read(t, bob, "openintent://agents/bob/inbox")
			require.Equal(t, sent.GetId(), list(t, inbox, "messages")[0]["id"])
			require.NotContains(t, intent, "more_channels")
			require.NotContains(t, channel, "more_members")
		}

		bob, more := h.join(t, "bob"), &openintentv1.AddChannelMembersRequest{ChannelId: s.channel}
		for i := range 19 {
			more.Members = append(more.Members, fmt.Sprint("agent-", i))
			_, err := s.alice.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{IntentId: s.intent, Name: fmt.Sprint("room ", i)})
			require.NoError(t, err)
		}
		_, err := s.alice.Channels.AddChannelMembers(t.Context(), more)
		require.NoError(t, err)
		intent := read(t, bob, "openintent://intents/"+s.intent)
		require.Len(t, list(t, intent, "channels"), 10)
		require.Equal(t, true, intent["more_channels"])
		channel := read(t, bob, "openintent://channels/"+s.channel)
		require.Len(t, channel["members"], 20)
		require.Equal(t, true, channel["more_members"])
	})
}
