package intents

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

func TestHandlersRefuseCallsWithoutACaller(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		_, err := h.CreateIntent(context.Background(), &openintentv1.CreateIntentRequest{Title: "T"})
		faulttest.Require(t, err, fault.Unauthenticated, "UNAUTHENTICATED")
		_, err = h.GetIntent(context.Background(), &openintentv1.GetIntentRequest{IntentId: "none"})
		faulttest.Require(t, err, fault.Unauthenticated, "UNAUTHENTICATED")
	})
}

func TestACreatedIntentComesBackAsItWas(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		other := h.newIntent(t)
		created := h.createIntent(t, "ann", &openintentv1.CreateIntentRequest{
			Title: "T\u2028é", Description: pointer("more"), DependsOn: []string{other.GetId()},
			ParentId:    pointer(other.GetId()),
			Constraints: object(t, map[string]any{"budget": 12.5}), State: object(t, map[string]any{"a": []any{1, nil}}),
			GovernancePolicy: object(t, map[string]any{"votes": 2}), Confidence: pointer(75.5),
		})
		require.Equal(t, openintentv1.IntentStatus_INTENT_STATUS_DRAFT, created.GetStatus())
		require.EqualValues(t, 1, created.GetVersion())
		require.Equal(t, "ann", created.GetCreatedBy())
		require.Equal(t, other.GetId(), created.GetParentIntentId())
		require.Equal(t, h.clock.Now(), created.GetCreatedAt().AsTime())
		found, err := h.GetIntent(as("ann"), &openintentv1.GetIntentRequest{IntentId: created.GetId()})
		require.NoError(t, err)
		require.Equal(t, created.String(), found.String())

		bare := h.createIntent(t, "ann", &openintentv1.CreateIntentRequest{Title: "T"})
		require.NotNil(t, bare.GetState())
		require.NotNil(t, bare.GetConstraints())
		require.NotNil(t, bare.GetDependsOn())
		require.Nil(t, bare.GetGovernancePolicy())
		require.Nil(t, bare.ParentIntentId)
	})
}

func TestCreateIntentRefuses(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		closed := h.newIntent(t)
		h.closeList(t, closed.GetId(), entryFor("bob", PermissionRead))
		completed := openintentv1.IntentStatus_INTENT_STATUS_COMPLETED
		for name, c := range map[string]struct {
			req    *openintentv1.CreateIntentRequest
			kind   fault.Kind
			reason string
		}{
			"a terminal status": {&openintentv1.CreateIntentRequest{Status: &completed}, fault.Invalid, "INVALID_FIELD"},
			"another creator":   {&openintentv1.CreateIntentRequest{CreatedBy: pointer("eve")}, fault.Denied, "SENDER_MISMATCH"},
			"two parents": {
				&openintentv1.CreateIntentRequest{ParentId: pointer("a"), ParentIntentId: pointer("b")},
				fault.Invalid, "INVALID_FIELD",
			},
			"an unknown parent":     {&openintentv1.CreateIntentRequest{ParentIntentId: pointer("a")}, fault.Invalid, "INVALID_FIELD"},
			"an unknown dependency": {&openintentv1.CreateIntentRequest{DependsOn: []string{"a\x00"}}, fault.Invalid, "INVALID_FIELD"},
			"a parent without admin access": {
				&openintentv1.CreateIntentRequest{ParentIntentId: &closed.Id}, fault.Denied, "FORBIDDEN",
			},
			"U+0000": {&openintentv1.CreateIntentRequest{Title: "a\x00"}, fault.Invalid, "INVALID_FIELD"},
			"too large a state": {
				&openintentv1.CreateIntentRequest{State: object(t, map[string]any{"a": strings.Repeat("x", maxStateBytes)})},
				fault.TooLarge, "TOO_LARGE",
			},
			"U+0000 in the state": {
				&openintentv1.CreateIntentRequest{State: &structpb.Struct{Fields: map[string]*structpb.Value{
					"a": structpb.NewStringValue("\x00"),
				}}}, fault.Invalid, "INVALID_FIELD",
			},
		} {
			t.Run(name, func(t *testing.T) {
				if c.req.Title == "" {
					c.req.Title = "T"
				}
				_, err := h.CreateIntent(as("bob"), c.req)
				refusal := faulttest.Require(t, err, c.kind, c.reason)
				if strings.HasPrefix(name, "an unknown") {
					require.Contains(t, []string{"parent_intent_id", "depends_on[0]"}, refusal.Fields[0].Path)
				}
			})
		}
		_, err := h.CreateIntent(as("bob"), &openintentv1.CreateIntentRequest{Title: "T", DependsOn: []string{closed.GetId()}})
		require.NoError(t, err, "reading is enough to depend on an intent")
		_, err = h.CreateIntent(as("eve"), &openintentv1.CreateIntentRequest{Title: "T", DependsOn: []string{closed.GetId()}})
		faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
	})
}

func TestTheOperatorCreatesForAnAgent(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intent, err := h.CreateIntent(asOperator(), &openintentv1.CreateIntentRequest{Title: "T", CreatedBy: pointer("bob")})
		require.NoError(t, err)
		require.Equal(t, "bob", intent.GetCreatedBy())
		require.Equal(t, "bob", h.log(t, intent.GetId())[0].GetActor())
		_, err = h.CreateIntent(asOperator(), &openintentv1.CreateIntentRequest{Title: "T", CreatedBy: pointer("system")})
		faulttest.Require(t, err, fault.Invalid, "INVALID_FIELD")
		own, err := h.CreateIntent(asOperator(), &openintentv1.CreateIntentRequest{Title: "T"})
		require.NoError(t, err)
		require.Equal(t, "operator", own.GetCreatedBy())
	})
}

func TestAbsentAndForbiddenIntentsAreToldApart(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intent := h.newIntent(t)
		h.closeList(t, intent.GetId())
		_, err := h.GetIntent(as("bob"), &openintentv1.GetIntentRequest{IntentId: "none"})
		faulttest.Require(t, err, fault.NotFound, "INTENT_NOT_FOUND")
		_, err = h.GetIntent(as("bob"), &openintentv1.GetIntentRequest{IntentId: intent.GetId()})
		refusal := faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
		require.Equal(t, "none", refusal.Metadata["current_permission"])
	})
}

func TestPatchIntentState(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intent := h.newIntent(t)
		h.clock.Advance(time.Second)
		patched, err := h.PatchIntentState(as("bob"), &openintentv1.PatchIntentStateRequest{
			IntentId: intent.GetId(), ExpectedVersion: pointer(int64(1)),
			Patches: []*openintentv1.StatePatch{
				{Op: "set", Path: "/a/b~1c", Value: structpb.NewNumberValue(1)},
				{Op: "append", Path: "list", Value: structpb.NewStringValue("x")},
				{Op: "append", Path: "list", Value: structpb.NewNullValue()},
				{Op: "set", Path: "gone", Value: structpb.NewBoolValue(true)},
				{Op: "remove", Path: "gone"},
			},
		})
		require.NoError(t, err)
		want := map[string]any{"a": map[string]any{"b/c": 1.0}, "list": []any{"x", nil}}
		require.Equal(t, want, patched.GetState().AsMap())
		require.EqualValues(t, 2, patched.GetVersion())
		require.Equal(t, h.clock.Now(), patched.GetUpdatedAt().AsTime())

		patched, err = h.PatchIntentState(as("bob"), &openintentv1.PatchIntentStateRequest{
			IntentId: intent.GetId(), ExpectedVersion: pointer(int64(2)),
			State: object(t, map[string]any{"list": 5, "~/": "odd"}),
		})
		require.NoError(t, err)
		want["list"], want["~/"] = 5.0, "odd"
		require.Equal(t, want, patched.GetState().AsMap())

		events := h.log(t, intent.GetId())
		require.Len(t, events, 3)
		require.Equal(t, map[string]any{"version": 3.0, "patches": []any{
			map[string]any{"op": "set", "path": "/list", "value": 5.0},
			map[string]any{"op": "set", "path": "/~0~1", "value": "odd"},
		}}, events[2].GetPayload().AsMap())
		require.Equal(t, map[string]any{"op": "remove", "path": "gone"},
			events[1].GetPayload().AsMap()["patches"].([]any)[4])
		requireValidChain(t, h, intent.GetId())
	})
}

func TestPatchIntentStateRefuses(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		set := &openintentv1.StatePatch{Op: "set", Path: "a", Value: structpb.NewNumberValue(1)}
		version := pointer(int64(1))
		for name, c := range map[string]struct {
			req    *openintentv1.PatchIntentStateRequest
			kind   fault.Kind
			reason string
		}{
			"no version": {
				&openintentv1.PatchIntentStateRequest{Patches: []*openintentv1.StatePatch{set}},
				fault.Invalid, "EXPECTED_VERSION_REQUIRED",
			},
			"an old version": {
				&openintentv1.PatchIntentStateRequest{ExpectedVersion: pointer(int64(0)), Patches: []*openintentv1.StatePatch{set}},
				fault.VersionMismatch, "VERSION_MISMATCH",
			},
			"nothing": {&openintentv1.PatchIntentStateRequest{ExpectedVersion: version}, fault.Invalid, "INVALID_FIELD"},
			"both": {
				&openintentv1.PatchIntentStateRequest{
					ExpectedVersion: version, Patches: []*openintentv1.StatePatch{set}, State: &structpb.Struct{},
				}, fault.Invalid, "INVALID_FIELD",
			},
			"no value": {
				&openintentv1.PatchIntentStateRequest{
					ExpectedVersion: version, Patches: []*openintentv1.StatePatch{{Op: "set", Path: "a"}},
				}, fault.Invalid, "INVALID_FIELD",
			},
			"a path through a number": {
				&openintentv1.PatchIntentStateRequest{
					ExpectedVersion: version, Patches: []*openintentv1.StatePatch{set, {Op: "remove", Path: "a/b"}},
				}, fault.Invalid, "INVALID_FIELD",
			},
			"too large a state": {
				&openintentv1.PatchIntentStateRequest{
					ExpectedVersion: version, State: object(t, map[string]any{"a": strings.Repeat("x", maxStateBytes)}),
				}, fault.TooLarge, "TOO_LARGE",
			},
		} {
			t.Run(name, func(t *testing.T) {
				c.req.IntentId = id
				_, err := h.PatchIntentState(as("ann"), c.req)
				faulttest.Require(t, err, c.kind, c.reason)
			})
		}
		h.closeList(t, id, entryFor("bob", PermissionRead))
		_, err := h.PatchIntentState(as("bob"), &openintentv1.PatchIntentStateRequest{
			IntentId: id, ExpectedVersion: version, Patches: []*openintentv1.StatePatch{set},
		})
		faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
		found, err := h.GetIntent(as("ann"), &openintentv1.GetIntentRequest{IntentId: id})
		require.NoError(t, err)
		require.EqualValues(t, 1, found.GetVersion())
		require.Empty(t, found.GetState().AsMap())
	})
}

func TestConcurrentPatchesAreAllThere(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		const writers = 6
		failures := make(chan error, writers)
		var group sync.WaitGroup
		for w := range writers {
			group.Go(func() { failures <- h.patchUntilDone(id, fmt.Sprint("key", w)) })
		}
		group.Wait()
		for range writers {
			require.NoError(t, <-failures)
		}
		found, err := h.GetIntent(as("ann"), &openintentv1.GetIntentRequest{IntentId: id})
		require.NoError(t, err)
		require.Len(t, found.GetState().GetFields(), writers)
		require.EqualValues(t, writers+1, found.GetVersion())
		require.Len(t, h.log(t, id), writers+1)
	})
}

// patchUntilDone sets a key as clients do: on a version mismatch it reads the intent again and repeats.
func (h *house) patchUntilDone(intentID, key string) error {
	for {
		found, err := h.GetIntent(as("ann"), &openintentv1.GetIntentRequest{IntentId: intentID})
		if err != nil {
			return err
		}
		_, err = h.PatchIntentState(as("ann"), &openintentv1.PatchIntentStateRequest{
			IntentId: intentID, ExpectedVersion: &found.Version,
			Patches: []*openintentv1.StatePatch{{Op: "set", Path: key, Value: structpb.NewBoolValue(true)}},
		})
		if err == nil || fault.From(err).Kind != fault.VersionMismatch {
			return err
		}
	}
}

func TestListIntentsPages(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		var ids []string
		for range 5 {
			ids = append(ids, h.newIntent(t).GetId())
		}
		h.closeList(t, ids[1])
		_, err := h.setStatus("ann", ids[3], StatusCompleted)
		require.NoError(t, err)
		list := func(agent string, req *openintentv1.ListIntentsRequest) ([]string, int64) {
			ctx := as(agent)
			if agent == "operator" {
				ctx = asOperator()
			}
			response, err := h.ListIntents(ctx, req)
			require.NoError(t, err)
			var listed []string
			for _, intent := range response.GetIntents() {
				listed = append(listed, intent.GetId())
			}
			return listed, response.GetTotal()
		}
		for _, c := range []struct {
			agent string
			req   *openintentv1.ListIntentsRequest
			want  []string
			total int64
		}{
			{"bob", &openintentv1.ListIntentsRequest{}, []string{ids[0], ids[2], ids[3], ids[4]}, 4},
			{"ann", &openintentv1.ListIntentsRequest{}, ids, 5},
			{"operator", &openintentv1.ListIntentsRequest{}, ids, 5},
			{"bob", &openintentv1.ListIntentsRequest{Limit: pointer(int32(2)), Offset: pointer(int32(1))}, []string{ids[2], ids[3]}, 4},
			{"bob", &openintentv1.ListIntentsRequest{Offset: pointer(int32(9))}, nil, 4},
			{
				"bob", &openintentv1.ListIntentsRequest{Status: openintentv1.IntentStatus_INTENT_STATUS_COMPLETED.Enum()},
				[]string{ids[3]}, 1,
			},
		} {
			listed, total := list(c.agent, c.req)
			require.Equal(t, c.want, listed)
			require.Equal(t, c.total, total)
		}
	})
}

func TestAPageOfIntentsEndsBeforeItGrowsTooLarge(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		large := object(t, map[string]any{"a": strings.Repeat("x", maxStateBytes-100)})
		for range 4 {
			h.createIntent(t, "ann", &openintentv1.CreateIntentRequest{Title: "T", State: large})
		}
		response, err := h.ListIntents(as("ann"), &openintentv1.ListIntentsRequest{})
		require.NoError(t, err)
		require.Len(t, response.GetIntents(), 2)
		require.EqualValues(t, 4, response.GetTotal())
		rest, err := h.ListIntents(as("ann"), &openintentv1.ListIntentsRequest{Cursor: response.NextCursor})
		require.NoError(t, err)
		require.Len(t, rest.GetIntents(), 2)
		require.EqualValues(t, 4, rest.GetTotal())
		require.Nil(t, rest.NextCursor)
		_, err = h.ListIntents(as("ann"), &openintentv1.ListIntentsRequest{Cursor: response.NextCursor, Offset: pointer(int32(1))})
		faulttest.Require(t, err, fault.Invalid, "INVALID_FIELD")
		_, err = h.ListIntents(as("ann"), &openintentv1.ListIntentsRequest{Cursor: pointer("x")})
		faulttest.Require(t, err, fault.Invalid, "INVALID_FIELD")
	})
}

func TestAssignments(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		h.closeList(t, id)
		before := h.head(t, id)
		assign := func(agent, assigned string, role *string) (*openintentv1.Assignment, error) {
			return h.AssignAgent(as(agent), &openintentv1.AssignAgentRequest{IntentId: id, AgentId: assigned, Role: role})
		}
		_, err := assign("bob", "bob", nil)
		faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
		for _, name := range []string{"operator", "system", "*", "role:x", "a/b", "a\n", ""} {
			_, err := assign("ann", name, nil)
			faulttest.Require(t, err, fault.Invalid, "INVALID_FIELD")
		}
		first, err := assign("ann", "bob", nil)
		require.NoError(t, err)
		require.Equal(t, "worker", first.GetRole())
		require.Greater(t, h.head(t, id).Epoch, before.Epoch)
		_, err = assign("ann", "abe", pointer("reviewer"))
		require.NoError(t, err)

		again, err := assign("ann", "bob", nil)
		require.NoError(t, err)
		require.Equal(t, first.String(), again.String())
		changed, err := assign("ann", "bob", pointer("lead"))
		require.NoError(t, err)
		require.Equal(t, first.GetId(), changed.GetId())
		require.Equal(t, "lead", changed.GetRole())

		listed, err := h.ListAssignments(as("bob"), &openintentv1.ListAssignmentsRequest{IntentId: id})
		require.NoError(t, err)
		require.Len(t, listed.GetAssignments(), 2)
		require.Equal(t, changed.String(), listed.GetAssignments()[0].String())
		_, err = h.AppendEvent(as("bob"), &openintentv1.AppendEventRequest{IntentId: id, EventType: "comment"})
		require.NoError(t, err, "an assigned agent may write")

		unassign := &openintentv1.UnassignAgentRequest{IntentId: id, AgentId: "bob"}
		_, err = h.UnassignAgent(as("bob"), unassign)
		faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
		_, err = h.UnassignAgent(as("ann"), unassign)
		require.NoError(t, err)
		_, err = h.UnassignAgent(as("ann"), unassign)
		faulttest.Require(t, err, fault.NotFound, "ASSIGNMENT_NOT_FOUND")
		_, err = h.UnassignAgent(as("ann"), &openintentv1.UnassignAgentRequest{IntentId: id, AgentId: "b\x00"})
		faulttest.Require(t, err, fault.Invalid, "INVALID_FIELD")
		_, err = h.ListAssignments(as("bob"), &openintentv1.ListAssignmentsRequest{IntentId: id})
		faulttest.Require(t, err, fault.Denied, "FORBIDDEN")

		types := h.eventTypes(t, id)
		require.Equal(t, []string{"agent_assigned", "agent_assigned", "agent_assigned", "comment", "agent_unassigned"},
			types[len(types)-5:])
		require.Equal(t, before.Epoch>>32+4, h.head(t, id).Epoch>>32, "four changes")
	})
}

// TestNumbersAreRemembered checks that an id is looked up only once.
func TestNumbersAreRemembered(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		no := h.numberOf(t, id)
		require.NoError(t, h.inWrite(func(tx *database.Tx) error {
			return tx.Gorm().Exec("UPDATE intents SET id = 'moved' WHERE intent_no = ?", no).Error
		}))
		require.Equal(t, no, h.numberOf(t, id))
	})
}
