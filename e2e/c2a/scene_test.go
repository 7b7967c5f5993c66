package c2a

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/c2a/played"
	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// object is a value whose form a test does not spell out.
type object = map[string]any

// collectOne asks for one answer.
var collectOne = structpb.NewStringValue("one")

// scene is a channel on which ann and others talk to bob, whose harness the test plays.
type scene struct {
	*harness.Server
	intent, channel string
}

func newScene(t *testing.T, h *harness.Server) *scene {
	t.Helper()
	ann := h.As("ann")
	intent, err := ann.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "Release"})
	require.NoError(t, err)
	channel, err := ann.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{IntentId: intent.GetId(), Name: "talk"})
	require.NoError(t, err)
	s := &scene{h, intent.GetId(), channel.GetId()}
	s.takesPart(t, "bob")
	return s
}

// takesPart makes an agent one of those whom broadcasts reach.
func (s *scene) takesPart(t *testing.T, agent string) {
	t.Helper()
	_, err := s.As("ann").Intents.AssignAgent(t.Context(), &openintentv1.AssignAgentRequest{IntentId: s.intent, AgentId: agent})
	require.NoError(t, err)
}

// message is what a test sends; change may be nil.
func (s *scene) message(t *testing.T, from, to, text string, change func(*openintentv1.SendMessageRequest)) *openintentv1.Message {
	t.Helper()
	request := &openintentv1.SendMessageRequest{
		ChannelId: s.channel, Payload: &structpb.Struct{Fields: map[string]*structpb.Value{"text": structpb.NewStringValue(text)}},
	}
	if to != "" {
		request.To = &to
	}
	if change != nil {
		change(request)
	}
	sent, err := s.As(from).Messages.SendMessage(t.Context(), request)
	require.NoError(t, err)
	return sent
}

// asks sends a request.
func (s *scene) asks(t *testing.T, from, to, text string) *openintentv1.Message {
	t.Helper()
	return s.message(t, from, to, text, func(r *openintentv1.SendMessageRequest) {
		r.MessageType = openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum()
	})
}

// role gives an agent a role.
func (s *scene) role(t *testing.T, agent, role string) {
	t.Helper()
	_, err := s.As(agent).Agents.RegisterAgent(t.Context(), &openintentv1.RegisterAgentRequest{RoleId: &role})
	require.NoError(t, err)
}

// ready sends bob's harness a first message, which the harness acknowledges.
func (s *scene) ready(t *testing.T, bob *played.Harness) {
	t.Helper()
	s.message(t, "ann", "bob", "are you there?", nil)
	d := bob.Next(t)
	require.Equal(t, []string{"are you there?"}, d.Content())
	bob.Accept(t, d)
}
