package workflows

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"openintent/clients/workflows"
	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

func closing(channelID string) *openintentv1.UpdateChannelRequest {
	return &openintentv1.UpdateChannelRequest{
		Channel:    &openintentv1.Channel{Id: channelID, Status: openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"status"}},
	}
}

func TestAgentsHaveTheirOwnIntents(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		file := parse(t, begin+"  a: {}\n")
		ann := apply(t, h.As("ann"), file, workflows.Options{})
		require.Equal(t, ann.Intent.ID, apply(t, h.Operator(), file, workflows.Options{}).Intent.ID,
			"a caller that names no agent takes the only intent")
		bob := apply(t, h.As("bob"), file, workflows.Options{})
		require.Equal(t, workflows.ActionCreate, bob.Intent.Action)
		require.NotEqual(t, ann.Intent.ID, bob.Intent.ID)
		require.Equal(t, ann.Intent.ID, apply(t, h.As("ann"), file, workflows.Options{}).Intent.ID)
		require.Equal(t, bob.Intent.ID, apply(t, h.As("bob"), file, workflows.Options{}).Intent.ID)

		before := snapshot(t, h)
		_, err := workflows.Apply(t.Context(), clients(h.Operator()), file, workflows.Options{})
		require.ErrorContains(t, err, `several agents have made intents from workflow "Report" (`+ann.Intent.ID+" of ann, "+bob.Intent.ID+" of bob)")
		require.Equal(t, before, snapshot(t, h))
	})
}

func TestAnotherIntentOfTheSameTitleIsNotTheWorkflows(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann := h.As("ann")
		byHand := newIntent(t, ann, "Report")
		made := apply(t, ann, parse(t, begin+"  a: {}\n"), workflows.Options{})
		require.Equal(t, workflows.ActionCreate, made.Intent.Action)
		require.NotEqual(t, byHand, made.Intent.ID)
		require.Empty(t, channels(t, ann, byHand))
	})
}

func TestTheIntentIsFoundBehindManyOthers(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann := h.As("ann")
		for i := range 205 {
			newIntent(t, ann, fmt.Sprintf("Other %d", i))
		}
		file := parse(t, begin+"  a: {}\n")
		made := apply(t, ann, file, workflows.Options{})
		again := apply(t, ann, file, workflows.Options{})
		require.Equal(t, []string{"= intent ID (Report)", "= channel a"}, lines(again))
		require.Equal(t, made.Intent.ID, again.Intent.ID)
	})
}

func TestAServersRefusalNamesThePlaceInTheFile(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann, bob := h.As("ann"), h.As("bob")
		intentID := newIntent(t, ann, "Report")
		newChannel(t, ann, intentID, "b")
		file := parse(t, begin+"  a: {}\n  b: {audit: true}\n")
		result, err := workflows.Apply(t.Context(), clients(bob), file, workflows.Options{IntentID: intentID})
		require.EqualError(t, err,
			`w.yaml:5:3: channel "b": Only the channel's creator, the intent's coordinator and the operator may change this channel.`)
		require.Equal(t, codes.PermissionDenied, harness.Code(err))
		require.Equal(t, []string{"= intent ID (Report)", "+ channel a (intent)"}, lines(result), "what was done before")

		_, err = workflows.Apply(t.Context(), clients(bob), file, workflows.Options{IntentID: "nowhere"})
		require.ErrorContains(t, err, `intent "nowhere": `)
		require.Equal(t, codes.NotFound, harness.Code(err))
	})
}

func TestARunThatFailsHalfWayIsFinishedByTheNext(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann := h.As("ann")
		before := parse(t, begin+"  a: {members: [x, y]}\n")
		intentID := apply(t, ann, before, workflows.Options{}).Intent.ID
		file := parse(t, begin+"  a: {members: [z, w], audit: true}\n  b: {}\n  c: {}\n")
		lost := status.Error(codes.Unavailable, "the connection was lost")
		for _, step := range []struct {
			fails string
			said  []string
		}{
			{"add z,w", nil},
			{"update options.audit", []string{"~ channel a: members +z +w"}},
			{"remove y", []string{"~ channel a: audit false -> true; members -x"}},
			{"create b", []string{"~ channel a: members -y"}},
			{"create c", []string{"= channel a", "+ channel b (intent)"}},
			{"nothing", []string{"= channel a", "= channel b", "+ channel c (intent)"}},
			{"anything", []string{"= channel a", "= channel b", "= channel c"}},
		} {
			through := clients(ann)
			through.Channels = disturbed{ann.Channels, func(call string) error {
				if call == step.fails || step.fails == "anything" {
					return lost
				}
				return nil
			}}
			result, err := workflows.Apply(t.Context(), through, file, workflows.Options{Agent: "ann"})
			require.Equal(t, append([]string{"= intent ID (Report)"}, step.said...), lines(result), step.fails)
			if step.fails == "nothing" || step.fails == "anything" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, ": the connection was lost", step.fails)
				require.Equal(t, codes.Unavailable, harness.Code(err))
			}
		}
		require.Equal(t, []string{
			"a by ann [z w] intent audit=true ttl=0 max=1000 task=",
			"b by ann [] intent audit=false ttl=0 max=1000 task=",
			"c by ann [] intent audit=false ttl=0 max=1000 task=",
		}, channels(t, ann, intentID))
	})
}

func TestWhatOthersDoAtTheSameTimeStays(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann := h.As("ann")
		intentID := apply(t, ann, parse(t, begin+"  old: {members: [x]}\n"), workflows.Options{}).Intent.ID
		file := parse(t, begin+"  old: {members: [y]}\n  new: {members: [m], ttl_seconds: 60}\n")
		listed, err := ann.Channels.ListChannels(t.Context(), &openintentv1.ListChannelsRequest{IntentId: intentID})
		require.NoError(t, err)
		old := listed.GetChannels()[0].GetId()
		through := clients(ann)
		through.Channels = disturbed{ann.Channels, func(call string) error {
			switch call {
			case "add y":
				_, err := ann.Channels.AddChannelMembers(t.Context(), &openintentv1.AddChannelMembersRequest{ChannelId: old, Members: []string{"late"}})
				return err
			case "create new":
				newChannel(t, ann, intentID, "new", "n")
			}
			return nil
		}}
		result, err := workflows.Apply(t.Context(), through, file, workflows.Options{Agent: "ann"})
		require.NoError(t, err)
		require.Equal(t, []string{
			"= intent ID (Report)", "~ channel old: members +y -x", "~ channel new: ttl_seconds none -> 60; members +m -n",
		}, lines(result), "a channel that somebody opened meanwhile is made to match the file")
		require.Equal(t, []string{
			"old by ann [late y] intent audit=false ttl=0 max=1000 task=",
			"new by ann [m] intent audit=false ttl=60 max=1000 task=",
		}, channels(t, ann, intentID), "a member that somebody added meanwhile stays")
	})
}
