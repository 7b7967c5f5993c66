package mcp

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

func TestUpdatesTellOfWhatChanged(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		s := newScene(t, h)
		intent, channel, inbox := "openintent://intents/"+s.intent, "openintent://channels/"+s.channel, "openintent://agents/bob/inbox"
		bob := listen(t, h, harness.Key, "bob", intent, channel, inbox, channel)
		require.ElementsMatch(t, []string{intent, channel, inbox}, bob.acknowledged(t), "a repetition counts once")
		s.says(t, "which?")
		require.ElementsMatch(t, []string{intent, channel, inbox}, []string{bob.updated(t), bob.updated(t), bob.updated(t)})
	})
}

// Listening to an inbox is a path that others see, and makes the agent neither live nor wakeable: no harness is known that it wakes.
func TestListeningIsAPath(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		s := newScene(t, h)
		paths := func() (kinds []string) {
			reach, err := s.alice.Reach.GetReach(t.Context(), &openintentv1.GetReachRequest{AgentId: "bob"})
			require.NoError(t, err)
			require.Equal(t, openintentv1.ReachLevel_REACH_LEVEL_NONE, reach.GetLevel())
			for _, path := range reach.GetPaths() {
				kinds = append(kinds, path.GetKind())
			}
			return kinds
		}
		bob := listen(t, h, harness.Key, "bob", "openintent://agents/bob/inbox", "openintent://channels/"+s.channel)
		bob.acknowledged(t)
		require.Eventually(t, func() bool { return slices.Equal([]string{"listen"}, paths()) }, harness.Patience, 10*time.Millisecond)
		bob.close()
		require.Eventually(t, func() bool { return len(paths()) == 0 }, harness.Patience, 10*time.Millisecond)
	})
}

// nowhere is of the right form, and nothing is there.
const nowhere = "openintent://channels/chan_00000000000000000000000000"

// A caller without any relation learns nothing, and what it may not see is like what does not exist.
func TestStrangersFindNoResources(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		s := newScene(t, h)
		closed := openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED
		_, err := s.alice.Access.SetAccessControl(t.Context(), &openintentv1.SetAccessControlRequest{
			IntentId: s.intent, DefaultPolicy: closed,
			Entries: []*openintentv1.AccessEntryInput{{PrincipalId: "bob", Permission: openintentv1.Permission_PERMISSION_WRITE}},
		})
		require.NoError(t, err)
		lone := h.stranger(t)
		listed, err := lone.ListResources(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, listed.Resources, 1, "its own inbox")
		for _, address := range []string{
			"openintent://intents/" + s.intent, "openintent://channels/" + s.channel, "openintent://agents/bob/inbox", nowhere,
			"openintent://intents/x", "openintent://agents//inbox", "openintent://channels/%zz", "file:///etc/passwd", "nothing",
		} {
			_, err := lone.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: address})
			require.ErrorContains(t, err, "Resource not found", address)
			heard := listen(t, h, harness.BoundKey, "", address)
			refused := heard.next(t)
			require.NotNil(t, refused.Error, address)
			refused.Error.Data.URI = ""
			require.Equal(t, &rpcError{Code: -32602, Message: "Resource not found"}, refused.Error, address)
			require.Equal(t, http.StatusBadRequest, heard.status, address)
		}
	})
}

func TestAListenIsBounded(t *testing.T) {
	h := &house{harness.Start(t, harness.Options{})}
	many := make([]string, 21)
	for i := range many {
		many[i] = nowhere
	}
	refused := listen(t, h, harness.Key, "bob", many...).next(t)
	require.Equal(t, -32602, refused.Error.Code)
	require.Contains(t, refused.Error.Message, "at most 20 resources")
}

// A listen ends when the contract ends one of its streams, and says why.
func TestAListenEndsWithItsStreams(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		s := newScene(t, h)
		channel := "openintent://channels/" + s.channel
		removed, stays := listen(t, h, harness.Key, "bob", channel), listen(t, h, harness.Key, "alice", channel)
		removed.acknowledged(t)
		stays.acknowledged(t)
		s.removes(t, "bob")
		end := removed.ended(t)
		require.Equal(t, "NOT_A_MEMBER", end.Error.Data.Reason)

		require.NoError(t, h.Stop())
		end = stays.ended(t)
		require.Nil(t, end.Error, "a server that stops ends a listen as usual")
		require.NotEmpty(t, end.Result)
	})
}

// A closed channel changes once more, and does not take the other resources with it.
func TestAListenOutlivesAClosedChannel(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		s := newScene(t, h)
		channel, inbox := "openintent://channels/"+s.channel, "openintent://agents/bob/inbox"
		bob := listen(t, h, harness.Key, "bob", channel, inbox)
		bob.acknowledged(t)
		closed := openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED
		_, err := s.alice.Channels.UpdateChannel(t.Context(), &openintentv1.UpdateChannelRequest{
			Channel: &openintentv1.Channel{Id: s.channel, Status: closed}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"status"}},
		})
		require.NoError(t, err)
		require.Equal(t, channel, bob.updated(t))
		other, err := s.alice.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{IntentId: s.intent, Name: "other"})
		require.NoError(t, err)
		s.channel = other.GetId()
		s.says(t, "still there?")
		require.Equal(t, inbox, bob.updated(t))
	})
}

// What a listen began ends with it.
func TestAListenLeavesNothingBehind(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		s := newScene(t, h)
		hear := func() {
			bob := listen(t, h, harness.Key, "bob", "openintent://channels/"+s.channel, "openintent://agents/bob/inbox")
			bob.acknowledged(t)
			s.says(t, "hello")
			bob.updated(t)
			bob.close()
			for range bob.events { // until the answer has ended
				continue
			}
			h.HTTP.CloseIdleConnections()
		}
		hear()                                                                                                    // the first time begins what stays
		before, pools := goleak.IgnoreCurrent(), goleak.IgnoreTopFunction("database/sql.(*DB).connectionCleaner") // begins with a pool's use
		for range 20 {
			hear()
		}
		var left error
		assert.Eventually(t, func() bool {
			left = goleak.Find(before, pools)
			return left == nil
		}, harness.Patience, 10*time.Millisecond)
		require.NoError(t, left)
	})
}

// On a connection that lasts, the older revisions ask for updates of one resource after another. There is none over HTTP.
func TestTheOlderRevisionsHearOfNothingOverHTTP(t *testing.T) {
	h := &house{harness.Start(t, harness.Options{})}
	old := h.connect(t, harness.Key, "bob", older, nil)
	require.False(t, old.InitializeResult().Capabilities.Resources.Subscribe)
	err := old.Subscribe(context.WithoutCancel(t.Context()), &sdk.SubscribeParams{URI: "openintent://agents/bob/inbox"})
	require.ErrorContains(t, err, "method not found")
}
