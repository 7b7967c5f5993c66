package mcp

import (
	"context"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// bobsKey makes a key that is bob's, and returns its secret and how to revoke it.
func bobsKey(t *testing.T, h *house) (secret string, revoke func()) {
	t.Helper()
	var made struct {
		Key    struct{ ID string }
		Secret string
	}
	answer := h.Operator().REST(t, "POST", "/v1/keys", `{"label":"bob's","agents":["bob"]}`)
	require.Equal(t, 201, answer.Status, "%s", answer.Body)
	answer.Decode(t, &made)
	return made.Secret, func() {
		answer := h.Operator().REST(t, "POST", "/v1/keys/"+made.Key.ID+"/revoke", `{}`)
		require.Equal(t, 200, answer.Status, "%s", answer.Body)
	}
}

// talks lets alice send to everyone in the channel until the test stops her.
func (s *scene) talks(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		for ctx.Err() == nil {
			_, err := s.alice.Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{
				ChannelId: s.channel, Payload: &structpb.Struct{}, // to everyone, because bob loses his access
			})
			if err != nil && ctx.Err() == nil {
				t.Errorf("alice cannot talk: %v", err)
				return
			}
		}
	}()
	return func() {
		cancel()
		<-over
	}
}

func (s *scene) closes(t *testing.T) {
	t.Helper()
	_, err := s.alice.Channels.UpdateChannel(t.Context(), &openintentv1.UpdateChannelRequest{
		Channel:    &openintentv1.Channel{Id: s.channel, Status: openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"status"}},
	})
	require.NoError(t, err)
}

// A listen ends when its key is revoked, whatever it listens to and while much happens there.
func TestAListenEndsWithItsKey(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		s := newScene(t, h)
		intent, channel, inbox := "openintent://intents/"+s.intent, "openintent://channels/"+s.channel, "openintent://agents/bob/inbox"
		secret, revoke := bobsKey(t, h)
		stop := s.talks(t)
		var heard []*listener
		for _, addresses := range [][]string{{intent}, {channel}, {inbox}, {intent, channel, inbox}} {
			l := listen(t, h, secret, "", addresses...)
			l.acknowledged(t)
			l.updated(t)
			heard = append(heard, l)
		}
		revoke()
		for _, l := range heard {
			end := l.ended(t)
			require.NotNil(t, end.Error)
			require.Equal(t, "API_KEY_REMOVED", end.Error.Data.Reason)
		}
		stop()
		refused := listen(t, h, secret, "", inbox).next(t)
		require.Equal(t, "API_KEY_UNKNOWN", refused.Error.Data.Reason)
	})
}

// A listen to an intent ends when the intent closes to its listener.
func TestAListenEndsWithItsAccess(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		s := newScene(t, h)
		defer s.talks(t)()
		bob := listen(t, h, harness.Key, "bob", "openintent://intents/"+s.intent)
		bob.acknowledged(t)
		_, err := s.alice.Access.SetAccessControl(t.Context(), &openintentv1.SetAccessControlRequest{
			IntentId: s.intent, DefaultPolicy: openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED,
		})
		require.NoError(t, err)
		end := bob.ended(t)
		require.NotNil(t, end.Error)
		require.Equal(t, "FORBIDDEN", end.Error.Data.Reason)
	})
}

// A listen that has nothing left to hear ends once it has told of the last change; otherwise it would outlive its key.
func TestAListenEndsWithItsLastChannel(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		s := newScene(t, h)
		first := s.channel
		other, err := s.alice.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{IntentId: s.intent, Name: "other"})
		require.NoError(t, err)
		bob := listen(t, h, harness.Key, "bob", "openintent://channels/"+first, "openintent://channels/"+other.GetId())
		bob.acknowledged(t)
		s.closes(t)
		require.Equal(t, "openintent://channels/"+first, bob.updated(t))
		s.channel = other.GetId()
		s.closes(t)
		require.Equal(t, "openintent://channels/"+other.GetId(), bob.updated(t))
		end := bob.ended(t)
		require.Nil(t, end.Error)
		require.NotEmpty(t, end.Result)
	})
}

// An agent that was removed from a channel and is added again hears of the channel when it subscribes again.
func TestWhoComesBackHearsAgain(t *testing.T) {
	h := &house{harness.Start(t, harness.Options{})}
	s := newScene(t, h)
	bob := start(t, h, h.GRPCAddress(), "bob", older)
	channel := "openintent://channels/" + s.channel
	require.NoError(t, bob.Subscribe(t.Context(), &sdk.SubscribeParams{URI: channel}))
	s.removes(t, "bob")
	bob.hears(t, channel)
	_, err := s.alice.Channels.AddChannelMembers(t.Context(), &openintentv1.AddChannelMembersRequest{ChannelId: s.channel, Members: []string{"bob"}})
	require.NoError(t, err)
	require.NoError(t, bob.Subscribe(t.Context(), &sdk.SubscribeParams{URI: channel}))
	s.says(t, "welcome back")
	bob.hears(t, channel)
}
