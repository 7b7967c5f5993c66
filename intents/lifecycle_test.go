package intents

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

var allStatuses = []Status{
	StatusDraft, StatusActive, StatusBlocked, StatusCompleted, StatusAbandoned, StatusSuspended,
}

func TestTransitions(t *testing.T) {
	type step struct{ from, to Status }
	legal := map[step]bool{
		{StatusDraft, StatusActive}: true, {StatusDraft, StatusAbandoned}: true,
		{StatusActive, StatusBlocked}: true, {StatusActive, StatusCompleted}: true,
		{StatusActive, StatusAbandoned}: true, {StatusActive, StatusSuspended}: true,
		{StatusBlocked, StatusActive}: true, {StatusBlocked, StatusAbandoned}: true,
		{StatusSuspended, StatusActive}: true, {StatusSuspended, StatusAbandoned}: true,
	}
	for _, from := range allStatuses {
		for _, to := range allStatuses {
			err := from.mayBecome(to, false)
			if legal[step{from, to}] {
				require.NoError(t, err, "%s to %s", from, to)
				continue
			}
			faulttest.Require(t, err, fault.Invalid, "INVALID_TRANSITION")
		}
	}
	require.NoError(t, StatusDraft.mayBecome(StatusBlocked, true))
	require.NoError(t, StatusActive.mayBecome(StatusAbandoned, true))
	faulttest.Require(t, StatusActive.mayBecome(StatusCompleted, true), fault.Invalid, "UNMET_DEPENDENCIES")
}

func TestTransitionsThroughTheService(t *testing.T) {
	paths := map[Status][]Status{
		StatusDraft:     {},
		StatusActive:    {StatusActive},
		StatusBlocked:   {StatusActive, StatusBlocked},
		StatusCompleted: {StatusActive, StatusCompleted},
		StatusAbandoned: {StatusAbandoned},
		StatusSuspended: {StatusActive, StatusSuspended},
	}
	eachEngine(t, func(t *testing.T, h *house) {
		for _, from := range allStatuses {
			for _, to := range allStatuses {
				intent := h.createIntent(t, "ann", &openintentv1.CreateIntentRequest{Title: "T"})
				for _, through := range paths[from] {
					_, err := h.setStatus("ann", intent.GetId(), through)
					require.NoError(t, err)
				}
				before := h.head(t, intent.GetId())
				require.Equal(t, from, before.Status)
				changed, err := h.setStatus("ann", intent.GetId(), to)
				if from.mayBecome(to, false) != nil {
					faulttest.Require(t, err, fault.Invalid, "INVALID_TRANSITION")
					require.Equal(t, before.LastPosition, h.head(t, intent.GetId()).LastPosition)
					continue
				}
				require.NoError(t, err)
				require.Equal(t, statusNumbers[to], changed.GetStatus())
				require.EqualValues(t, len(paths[from])+2, changed.GetVersion())
				after := h.head(t, intent.GetId())
				require.Equal(t, to.Terminal(), after.Ended())
				require.Equal(t, to.Terminal(), !after.EndedAt.IsZero())
				require.Equal(t, from == StatusSuspended, !after.ResumedAt.IsZero())
			}
		}
	})
}

func TestStatusChangeIsLogged(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intent := h.newIntent(t)
		reason := "done"
		changed, err := h.SetIntentStatus(as("ann"), &openintentv1.SetIntentStatusRequest{
			IntentId: intent.GetId(), ExpectedVersion: pointer(int64(1)), Reason: &reason,
			Status: openintentv1.IntentStatus_INTENT_STATUS_COMPLETED,
		})
		require.NoError(t, err)
		events := h.log(t, intent.GetId())
		require.Len(t, events, 2)
		require.Equal(t, "intent_created", events[0].GetEventType())
		require.Equal(t, "T", events[0].GetPayload().AsMap()["title"])
		require.Equal(t, "status_changed", events[1].GetEventType())
		require.Equal(t, "ann", events[1].GetActor())
		require.Equal(t, map[string]any{
			"from": "active", "to": "completed", "status": "completed", "version": 2.0, "reason": "done",
		}, events[1].GetPayload().AsMap())
		require.Equal(t, changed.GetUpdatedAt().AsTime(), events[1].GetCreatedAt().AsTime())
		require.Equal(t, h.head(t, intent.GetId()).EndedAt, events[1].GetCreatedAt().AsTime())
	})
}

func TestStatusNeedsTheCurrentVersion(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intent := h.newIntent(t)
		request := &openintentv1.SetIntentStatusRequest{
			IntentId: intent.GetId(), Status: openintentv1.IntentStatus_INTENT_STATUS_COMPLETED,
		}
		_, err := h.SetIntentStatus(as("ann"), request)
		faulttest.Require(t, err, fault.Invalid, "EXPECTED_VERSION_REQUIRED")
		request.ExpectedVersion = pointer(int64(7))
		_, err = h.SetIntentStatus(as("ann"), request)
		refusal := faulttest.Require(t, err, fault.VersionMismatch, "VERSION_MISMATCH")
		require.Equal(t, "1", refusal.Metadata["current_version"])
	})
}

func TestOfRacingStatusChangesOneWins(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intent := h.newIntent(t)
		targets := []Status{StatusCompleted, StatusAbandoned, StatusBlocked, StatusSuspended, StatusCompleted, StatusAbandoned}
		outcomes := make(chan error, len(targets))
		var group sync.WaitGroup
		for _, to := range targets {
			group.Go(func() {
				_, err := h.SetIntentStatus(as("ann"), &openintentv1.SetIntentStatusRequest{
					IntentId: intent.GetId(), ExpectedVersion: pointer(int64(1)), Status: statusNumbers[to],
				})
				outcomes <- err
			})
		}
		group.Wait()
		won := 0
		for range targets {
			if err := <-outcomes; err == nil {
				won++
			} else {
				faulttest.Require(t, err, fault.VersionMismatch, "VERSION_MISMATCH")
			}
		}
		require.Equal(t, 1, won)
		require.Equal(t, []string{"intent_created", "status_changed"}, h.eventTypes(t, intent.GetId()))
	})
}

func TestCompletionWaitsForDependenciesAndParts(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		dependency := h.newIntent(t)
		active := openintentv1.IntentStatus_INTENT_STATUS_ACTIVE
		whole := h.createIntent(t, "ann", &openintentv1.CreateIntentRequest{
			Title: "whole", Status: &active, DependsOn: []string{dependency.GetId()},
		})
		part := h.createIntent(t, "ann", &openintentv1.CreateIntentRequest{
			Title: "part", Status: &active, ParentIntentId: pointer(whole.GetId()),
		})
		require.Equal(t, whole.GetId(), part.GetParentIntentId())
		_, err := h.setStatus("ann", whole.GetId(), StatusCompleted)
		faulttest.Require(t, err, fault.Invalid, "UNMET_DEPENDENCIES")
		_, err = h.setStatus("ann", dependency.GetId(), StatusCompleted)
		require.NoError(t, err)
		_, err = h.setStatus("ann", whole.GetId(), StatusCompleted)
		faulttest.Require(t, err, fault.Invalid, "UNMET_DEPENDENCIES")
		_, err = h.setStatus("ann", part.GetId(), StatusCompleted)
		require.NoError(t, err)
		_, err = h.setStatus("ann", whole.GetId(), StatusCompleted)
		require.NoError(t, err)
	})
}

// An intent cannot be completed while one that it depends on was abandoned.
func TestCompletionWaitsForWhatWasAbandoned(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		dependency := h.newIntent(t)
		active := openintentv1.IntentStatus_INTENT_STATUS_ACTIVE
		waiting := h.createIntent(t, "ann", &openintentv1.CreateIntentRequest{
			Title: "waiting", Status: &active, DependsOn: []string{dependency.GetId()},
		})
		_, err := h.setStatus("ann", dependency.GetId(), StatusAbandoned)
		require.NoError(t, err)
		_, err = h.setStatus("ann", waiting.GetId(), StatusCompleted)
		faulttest.Require(t, err, fault.Invalid, "UNMET_DEPENDENCIES")
	})
}

func TestADraftIsBlockedOnlyByUnmetDependencies(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		blocked := openintentv1.IntentStatus_INTENT_STATUS_BLOCKED
		_, err := h.CreateIntent(as("ann"), &openintentv1.CreateIntentRequest{Title: "T", Status: &blocked})
		faulttest.Require(t, err, fault.Invalid, "INVALID_TRANSITION")
		dependency := h.newIntent(t)
		request := &openintentv1.CreateIntentRequest{Title: "T", Status: &blocked, DependsOn: []string{dependency.GetId()}}
		require.Equal(t, blocked, h.createIntent(t, "ann", request).GetStatus())
		request.Status = nil
		waiting := h.createIntent(t, "ann", request)
		_, err = h.setStatus("ann", dependency.GetId(), StatusCompleted)
		require.NoError(t, err)
		_, err = h.setStatus("ann", waiting.GetId(), StatusBlocked)
		faulttest.Require(t, err, fault.Invalid, "INVALID_TRANSITION")
	})
}

func TestHooksRunInTheTransactionOfTheirStatus(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		type call struct {
			hook   string
			status Status
			at     time.Time
		}
		var calls []call
		var failure error
		h.OnSuspending(func(_ *database.Tx, head *Head, at time.Time) error {
			calls = append(calls, call{"suspending", head.Status, at})
			return failure
		})
		h.OnTerminal(func(tx *database.Tx, head *Head, at time.Time) error {
			calls = append(calls, call{"terminal", head.Status, at})
			require.True(t, head.Ended())
			require.Equal(t, at, head.EndedAt)
			if _, err := head.Log(EventDraft{Type: "comment", Actor: "system"}); err != nil {
				return err
			}
			return failure
		})
		intent := h.newIntent(t)
		_, err := h.setStatus("ann", intent.GetId(), StatusSuspended)
		require.NoError(t, err)
		suspendedAt := h.head(t, intent.GetId()).LastAt
		require.Equal(t, []call{{"suspending", StatusActive, suspendedAt}}, calls)

		resumedAt := h.clock.Advance(time.Hour)
		_, err = h.setStatus("ann", intent.GetId(), StatusActive)
		require.NoError(t, err)
		require.Len(t, calls, 1)
		require.Equal(t, resumedAt, h.head(t, intent.GetId()).ResumedAt)

		failure = errors.New("no")
		before := h.head(t, intent.GetId())
		_, err = h.setStatus("ann", intent.GetId(), StatusAbandoned)
		require.ErrorIs(t, err, failure)
		after := h.head(t, intent.GetId())
		require.Equal(t, StatusActive, after.Status)
		require.Equal(t, before.LastPosition, after.LastPosition)

		failure, calls = nil, nil
		_, err = h.setStatus("ann", intent.GetId(), StatusAbandoned)
		require.NoError(t, err)
		ended := h.head(t, intent.GetId())
		require.Equal(t, []call{{"terminal", StatusAbandoned, ended.EndedAt}}, calls)
		require.Equal(t, ended.EndedAt.Add(time.Microsecond), ended.LastAt, "the hook's event follows")
	})
}

func TestAnEndedIntentTakesNoMoreChanges(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		_, err := h.AssignAgent(as("ann"), &openintentv1.AssignAgentRequest{IntentId: id, AgentId: "bob"})
		require.NoError(t, err)
		_, err = h.setStatus("ann", id, StatusCompleted)
		require.NoError(t, err)

		_, err = h.PatchIntentState(as("ann"), &openintentv1.PatchIntentStateRequest{
			IntentId: id, ExpectedVersion: pointer(int64(2)), State: object(t, map[string]any{"a": 1}),
		})
		faulttest.Require(t, err, fault.Conflict, "INTENT_ENDED")
		_, err = h.AssignAgent(as("ann"), &openintentv1.AssignAgentRequest{IntentId: id, AgentId: "eve"})
		faulttest.Require(t, err, fault.Conflict, "INTENT_ENDED")
		_, err = h.UnassignAgent(as("ann"), &openintentv1.UnassignAgentRequest{IntentId: id, AgentId: "bob"})
		faulttest.Require(t, err, fault.Conflict, "INTENT_ENDED")
		_, err = h.CreateCoordinator(as("ann"), &openintentv1.CreateCoordinatorRequest{IntentId: &id})
		faulttest.Require(t, err, fault.Conflict, "INTENT_ENDED")

		_, err = h.CreateIntent(as("ann"), &openintentv1.CreateIntentRequest{Title: "part", ParentIntentId: &id})
		faulttest.Require(t, err, fault.Conflict, "INTENT_ENDED")

		_, err = h.AppendEvent(as("ann"), &openintentv1.AppendEventRequest{IntentId: id, EventType: "comment"})
		require.NoError(t, err)
		h.closeList(t, id)
		_, err = h.GetIntent(as("ann"), &openintentv1.GetIntentRequest{IntentId: id})
		require.NoError(t, err)
	})
}

// TestOfACompletedIntentEveryPartIsCompleted lets the completion of an intent race with the creation of new parts.
func TestOfACompletedIntentEveryPartIsCompleted(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		for range 5 {
			id := h.newIntent(t).GetId()
			outcomes := make(chan error, 4)
			var group sync.WaitGroup
			for range cap(outcomes) - 1 {
				group.Go(func() {
					_, err := h.CreateIntent(as("ann"), &openintentv1.CreateIntentRequest{Title: "part", ParentIntentId: &id})
					outcomes <- err
				})
			}
			group.Go(func() {
				_, err := h.setStatus("ann", id, StatusCompleted)
				outcomes <- err
			})
			group.Wait()
			head, succeeded := h.head(t, id), 0
			for range cap(outcomes) {
				switch err := <-outcomes; {
				case err == nil:
					succeeded++
				case head.Ended():
					faulttest.Require(t, err, fault.Conflict, "INTENT_ENDED")
				default:
					faulttest.Require(t, err, fault.Invalid, "UNMET_DEPENDENCIES")
				}
			}
			if head.Ended() {
				require.Equal(t, 1, succeeded, "only the completion itself succeeded")
			} else {
				require.Equal(t, 3, succeeded)
			}
		}
	})
}
