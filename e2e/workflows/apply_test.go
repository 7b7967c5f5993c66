package workflows

import (
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/clients/workflows"
	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

func TestTheExampleOfTheRFC(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann := h.As("ann")
		file := example(t, "rfc-0021.yaml")
		made := apply(t, ann, file, workflows.Options{})
		require.Equal(t, []string{
			"+ intent ID (Research Q1 Financials)",
			"+ channel data-clarification (explicit, 2 members, audit)",
			"+ channel progress (intent)",
		}, lines(made))
		require.Equal(t, []string{
			"data-clarification by ann [research-agent data-agent] explicit audit=true ttl=0 max=1000 task=",
			"progress by ann [] intent audit=false ttl=0 max=1000 task=",
		}, channels(t, ann, made.Intent.ID))
		intent, err := ann.Intents.GetIntent(t.Context(), &openintentv1.GetIntentRequest{IntentId: made.Intent.ID})
		require.NoError(t, err)
		require.Equal(t, openintentv1.IntentStatus_INTENT_STATUS_ACTIVE, intent.GetStatus())
		require.Equal(t, map[string]any{"workflow": map[string]any{"name": "Research Q1 Financials"}}, intent.GetConstraints().AsMap())

		before := snapshot(t, h)
		again := apply(t, ann, file, workflows.Options{})
		require.Equal(t, []string{
			"= intent ID (Research Q1 Financials)", "= channel data-clarification", "= channel progress",
		}, lines(again))
		require.Equal(t, made.Intent.ID, again.Intent.ID)
		require.Equal(t, before, snapshot(t, h), "the second time changes nothing")
	})
}

func TestTheOtherHeaderOnItsOwnIntentAndOnAPhases(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann := h.As("ann")
		file := example(t, "phases.yaml")
		want := []string{
			"hand-over by ann [research-agent writer] explicit audit=false ttl=86400 max=50 task=",
			"review by ann [research-agent writer] intent audit=true ttl=0 max=1000 task=",
			"open house by ann [] intent audit=false ttl=0 max=1000 task=",
		}
		made := apply(t, ann, file, workflows.Options{})
		require.Equal(t, "+ intent ID (Quarterly report)", lines(made)[0])
		require.Equal(t, want, channels(t, ann, made.Intent.ID))
		intent, err := ann.Intents.GetIntent(t.Context(), &openintentv1.GetIntentRequest{IntentId: made.Intent.ID})
		require.NoError(t, err)
		require.Equal(t, "Figures, then words.", intent.GetDescription())

		phase := newIntent(t, ann, "Gather the figures")
		onPhase := apply(t, ann, file, workflows.Options{IntentID: phase})
		require.Equal(t, "= intent ID (Gather the figures)", lines(onPhase)[0])
		require.Equal(t, want, channels(t, ann, phase))

		before := snapshot(t, h)
		apply(t, ann, file, workflows.Options{})
		apply(t, ann, file, workflows.Options{IntentID: phase})
		require.Equal(t, before, snapshot(t, h))
	})
}

func TestAFileThatNamesItsIntent(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann := h.As("ann")
		named, other := newIntent(t, ann, "Named"), newIntent(t, ann, "Other")
		file := parse(t, "version: '1.0'\nintent: {id: "+named+", title: Ignored}\nchannels: {a: }\n")
		require.Equal(t, named, apply(t, ann, file, workflows.Options{}).Intent.ID)
		require.Equal(t, other, apply(t, ann, file, workflows.Options{IntentID: other}).Intent.ID, "the argument takes precedence")
		require.Len(t, channels(t, ann, named), 1)
		require.Len(t, channels(t, ann, other), 1)

		_, err := workflows.Apply(t.Context(), clients(ann), parse(t, "version: '1.0'\nchannels: {a: }\n"), workflows.Options{})
		require.ErrorContains(t, err, "w.yaml:1:1: the file names no intent")
	})
}

func TestChangesOfTheFileAndNothingElse(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann := h.As("ann")
		first := parse(t, begin+"  a: {members: [x, y], member_policy: explicit, ttl_seconds: 600}\n  b: {max_messages: 5}\n  c: {audit: true}\n")
		second := parse(t, begin+"  a: {members: [y, z]}\n  c: {audit: false, ttl_seconds: 60, max_messages: 7}\n  d: {}\n")
		intentID := apply(t, ann, first, workflows.Options{}).Intent.ID
		newChannel(t, ann, intentID, "not in the file", "x")

		planned := apply(t, ann, second, workflows.Options{DryRun: true})
		done := apply(t, ann, second, workflows.Options{})
		require.Equal(t, []string{
			"= intent ID (Report)",
			"~ channel a: member_policy explicit -> intent; ttl_seconds 600 -> none; members +z -x",
			"~ channel c: audit true -> false; ttl_seconds none -> 60; max_messages 1000 -> 7",
			"+ channel d (intent)",
		}, lines(done))
		require.Equal(t, lines(done), lines(planned))
		require.Equal(t, []string{
			"a by ann [y z] intent audit=false ttl=0 max=1000 task=",
			"b by ann [] intent audit=false ttl=0 max=5 task=",
			"c by ann [] intent audit=false ttl=60 max=7 task=",
			"not in the file by ann [x] intent audit=false ttl=0 max=1000 task=",
			"d by ann [] intent audit=false ttl=0 max=1000 task=",
		}, channels(t, ann, intentID))
	})
}

func TestADryRunChangesNothing(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann := h.As("ann")
		file := example(t, "rfc-0021.yaml")
		before := snapshot(t, h)
		planned := apply(t, ann, file, workflows.Options{DryRun: true})
		require.Empty(t, planned.Intent.ID)
		require.True(t, planned.DryRun)
		require.Equal(t, []string{
			"+ intent (Research Q1 Financials)", "+ channel data-clarification (explicit, 2 members, audit)", "+ channel progress (intent)",
		}, lines(planned))
		require.Equal(t, before, snapshot(t, h))

		apply(t, ann, file, workflows.Options{})
		before = snapshot(t, h)
		changed := parse(t, "version: '1.0'\nintent: {title: Research Q1 Financials}\nchannels: {progress: {audit: true, members: [x]}, new: }\n")
		require.Equal(t, []string{
			"= intent ID (Research Q1 Financials)", "~ channel progress: audit false -> true; members +x", "+ channel new (intent)",
		}, lines(apply(t, ann, changed, workflows.Options{DryRun: true})))
		require.Equal(t, before, snapshot(t, h))
	})
}

func TestAClosedChannelIsMadeAnew(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann := h.As("ann")
		file := parse(t, begin+"  a: {}\n")
		made := apply(t, ann, file, workflows.Options{})
		_, err := ann.Channels.UpdateChannel(t.Context(), closing(made.Channels[0].ID))
		require.NoError(t, err)
		again := apply(t, ann, file, workflows.Options{})
		require.Equal(t, []string{"= intent ID (Report)", "+ channel a (intent)"}, lines(again))
		require.NotEqual(t, made.Channels[0].ID, again.Channels[0].ID)
	})
}

func TestAnEndedIntent(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann := h.As("ann")
		file := parse(t, begin+"  a: {}\n")
		first := apply(t, ann, file, workflows.Options{})
		version := int64(1)
		_, err := ann.Intents.SetIntentStatus(t.Context(), &openintentv1.SetIntentStatusRequest{
			IntentId: first.Intent.ID, ExpectedVersion: &version, Status: openintentv1.IntentStatus_INTENT_STATUS_COMPLETED,
		})
		require.NoError(t, err)
		before := snapshot(t, h)
		for _, dry := range []bool{true, false} {
			_, err = workflows.Apply(t.Context(), clients(ann), file, workflows.Options{IntentID: first.Intent.ID, DryRun: dry})
			require.ErrorIs(t, err, workflows.ErrIntentEnded)
		}
		require.Equal(t, before, snapshot(t, h))

		second := apply(t, ann, file, workflows.Options{})
		require.Equal(t, []string{"+ intent ID (Report)", "+ channel a (intent)"}, lines(second), "its work is over; the next run begins anew")
		require.Equal(t, second.Intent.ID, apply(t, ann, file, workflows.Options{}).Intent.ID)
	})
}

func TestTasksOfChannels(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann := h.As("ann")
		intentID := newIntent(t, ann, "Report")
		task, err := ann.Tasks.CreateTask(t.Context(), &openintentv1.CreateTaskRequest{IntentId: intentID, Name: "Draw"})
		require.NoError(t, err)
		scoped := parse(t, begin+"  a: {task_id: "+task.GetId()+"}\n")
		made := apply(t, ann, scoped, workflows.Options{IntentID: intentID})
		require.Equal(t, "+ channel a (intent, task "+task.GetId()+")", made.Channels[0].String())
		require.Equal(t, "= channel a", apply(t, ann, scoped, workflows.Options{IntentID: intentID}).Channels[0].String())

		before := snapshot(t, h)
		_, err = workflows.Apply(t.Context(), clients(ann), parse(t, begin+"  new: {}\n  a: {}\n"), workflows.Options{IntentID: intentID})
		require.ErrorContains(t, err, `w.yaml:5:3: the open channel "a" belongs to task `+task.GetId()+`, and in the file to no task`)
		require.Equal(t, before, snapshot(t, h), "a file that cannot be applied as a whole is not begun")
	})
}
