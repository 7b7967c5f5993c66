package channels

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

func TestCreateMergesOptionsWithDefaults(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		h.clock.Advance(time.Minute)

		plain := h.create(t, "alice", &createRequest{IntentId: intentID, Name: "plain"})
		require.Regexp(t, `^chan_[0-9A-Z]{26}$`, plain.GetId())
		require.Equal(t, intentID, plain.GetIntentId())
		require.Nil(t, plain.TaskId)
		require.Equal(t, "plain", plain.GetName())
		require.Equal(t, "alice", plain.GetCreatedBy())
		require.NotNil(t, plain.Members)
		require.Empty(t, plain.GetMembers())
		require.Equal(t, openintentv1.MemberPolicy_MEMBER_POLICY_INTENT, plain.GetMemberPolicy())
		require.NotNil(t, plain.GetOptions().Audit)
		require.False(t, plain.GetOptions().GetAudit())
		require.Nil(t, plain.GetOptions().TtlSeconds)
		require.EqualValues(t, 1000, plain.GetOptions().GetMaxMessages())
		require.EqualValues(t, 20, plain.GetOptions().GetTurnBudget())
		require.Equal(t, open, plain.GetStatus())
		require.Equal(t, at(60), plain.GetCreatedAt().AsTime())
		require.Nil(t, plain.GetClosedAt())
		require.Zero(t, plain.GetMessageCount())
		require.Nil(t, plain.GetLastMessageAt())

		full := h.create(t, "alice", &createRequest{
			IntentId: intentID, Name: "full", MemberPolicy: ptr(explicit),
			Members: []string{"bob", "carol", "bob", "alice", "carol"},
			Options: &optionsMessage{Audit: ptr(true), TtlSeconds: ptr(int64(3600)), TurnBudget: ptr(int64(100))},
		})
		require.Equal(t, []string{"bob", "carol", "alice"}, full.GetMembers(), "in order, each agent once")
		require.Equal(t, explicit, full.GetMemberPolicy())
		require.True(t, full.GetOptions().GetAudit())
		require.EqualValues(t, 3600, full.GetOptions().GetTtlSeconds())
		require.EqualValues(t, 1000, full.GetOptions().GetMaxMessages())
		require.EqualValues(t, 100, full.GetOptions().GetTurnBudget())

		require.Equal(t, full.String(), h.get(t, full.GetId()).String(), "the answer equals the stored channel")
		require.Equal(t, []string{plain.GetId(), full.GetId()}, ids(h.list(t, intentID, nil)))
	})
}

func TestCreateRefusesBadInput(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		elsewhere := h.task(t, h.intent(t, "alice"))
		many := make([]string, 41)
		for i := range many {
			many[i] = fmt.Sprintf("agent-%d", i)
		}
		for field, requests := range map[string][]*createRequest{
			"name": {
				{Name: ""}, {Name: " \t"}, {Name: "\u2003"}, {Name: "a/b"}, {Name: "a\x00b"}, {Name: "a\nb"}, {Name: "a\u0085b"},
				{Name: strings.Repeat("x", 129)},
			},
			"members[0]":           {{Name: "n", Members: []string{"operator"}}, {Name: "n", Members: []string{""}}},
			"members[1]":           {{Name: "n", Members: []string{"a", "*"}}, {Name: "n", Members: []string{"a", "role:x"}}, {Name: "n", Members: []string{"a", "x/y"}}},
			"members":              {{Name: "n", Members: many}},
			"options.ttl_seconds":  {{Name: "n", Options: &optionsMessage{TtlSeconds: ptr(int64(0))}}, {Name: "n", Options: &optionsMessage{TtlSeconds: ptr(int64(3153600001))}}},
			"options.max_messages": {{Name: "n", Options: &optionsMessage{MaxMessages: ptr(int64(0))}}, {Name: "n", Options: &optionsMessage{MaxMessages: ptr(int64(1000000001))}}},
			"options.turn_budget":  {{Name: "n", Options: &optionsMessage{TurnBudget: ptr(int64(1))}}, {Name: "n", Options: &optionsMessage{TurnBudget: ptr(int64(101))}}, {Name: "n", Options: &optionsMessage{TurnBudget: ptr(int64(-1))}}},
		} {
			for _, req := range requests {
				req.IntentId = intentID
				_, err := h.channels.CreateChannel(as("alice"), req)
				faulttest.RequireBadField(t, err, field)
			}
		}
		for _, taskID := range []string{elsewhere, "task_unknown", "task_\x00"} {
			_, err := h.channels.CreateChannel(as("alice"), &createRequest{IntentId: intentID, Name: "n", TaskId: &taskID})
			require.Equal(t, fault.Invalid, fault.From(err).Kind)
		}
		require.Empty(t, h.list(t, intentID, nil))

		// The bounds themselves, and names that only look odd, are fine.
		for _, req := range []*createRequest{
			{Name: strings.Repeat("é", 128)}, {Name: " padded "}, {Name: "*"}, {Name: "wörter und 語"},
			{Name: "many", Members: append([]string{"agent-1"}, many[:40]...)},
			{Name: "long", Options: &optionsMessage{TtlSeconds: ptr(int64(3153600000)), MaxMessages: ptr(int64(1000000000))}},
		} {
			req.IntentId = intentID
			require.Equal(t, req.GetName(), h.create(t, "alice", req).GetName())
		}
	})
}

func TestCreateNeedsAccess(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		h.closeAccess(t, intentID)
		audited := &optionsMessage{Audit: ptr(true)}

		_, err := h.channels.CreateChannel(as("stranger"), &createRequest{IntentId: intentID, Name: "n"})
		metadata := faulttest.Require(t, err, fault.Denied, "FORBIDDEN").Metadata
		require.Equal(t, map[string]string{
			"required_permission": "read", "current_permission": "none",
		}, metadata)
		_, err = h.channels.CreateChannel(as("reader"), &createRequest{IntentId: intentID, Name: "n", Options: audited})
		metadata = faulttest.Require(t, err, fault.Denied, "FORBIDDEN").Metadata
		require.Equal(t, "write", metadata["required_permission"])
		require.Equal(t, "read", metadata["current_permission"])
		_, err = h.channels.CreateChannel(as("reader"), &createRequest{IntentId: intentID, Name: "n", CreatedBy: ptr("writer")})
		faulttest.Require(t, err, fault.Denied, "SENDER_MISMATCH")
		_, err = h.channels.CreateChannel(asOperator(), &createRequest{IntentId: intentID, Name: "n", CreatedBy: ptr("stranger")})
		faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
		_, err = h.channels.CreateChannel(asOperator(), &createRequest{IntentId: intentID, Name: "n", CreatedBy: ptr("system")})
		faulttest.RequireBadField(t, err, "created_by")
		_, err = h.channels.CreateChannel(context.Background(), &createRequest{IntentId: intentID, Name: "n"})
		faulttest.Require(t, err, fault.Unauthenticated, "UNAUTHENTICATED")
		_, err = h.channels.CreateChannel(as("alice"), &createRequest{IntentId: "00000000-0000-4000-8000-000000000000", Name: "n"})
		faulttest.Require(t, err, fault.NotFound, "INTENT_NOT_FOUND")
		require.Empty(t, h.list(t, intentID, nil))

		h.create(t, "reader", &createRequest{IntentId: intentID, Name: "by a reader", CreatedBy: ptr("reader")})
		h.create(t, "writer", &createRequest{IntentId: intentID, Name: "audited", Options: audited})
		own, err := h.channels.CreateChannel(asOperator(), &createRequest{IntentId: intentID, Name: "the operator's"})
		require.NoError(t, err)
		require.Equal(t, caller.Operator, own.GetCreatedBy())
		named, err := h.channels.CreateChannel(asOperator(), &createRequest{IntentId: intentID, Name: "for writer", CreatedBy: ptr("writer")})
		require.NoError(t, err)
		require.Equal(t, "writer", named.GetCreatedBy())
	})
}

func TestCreateOnEndedIntentAndTask(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		taskID := h.task(t, intentID)
		scoped := h.create(t, "alice", &createRequest{IntentId: intentID, Name: "scoped", TaskId: &taskID})
		require.Equal(t, taskID, scoped.GetTaskId())
		h.cancelTask(t, taskID)
		_, err := h.channels.CreateChannel(as("alice"), &createRequest{IntentId: intentID, Name: "late", TaskId: &taskID})
		faulttest.Require(t, err, fault.Conflict, "TASK_ENDED")

		require.NoError(t, h.setIntentStatus(t, intentID, openintentv1.IntentStatus_INTENT_STATUS_ABANDONED))
		_, err = h.channels.CreateChannel(as("alice"), &createRequest{IntentId: intentID, Name: "late"})
		faulttest.Require(t, err, fault.Conflict, "INTENT_ENDED")
	})
}

func TestNamesAreUniqueAmongOpenChannels(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID, other := h.intent(t, "alice"), h.intent(t, "alice")
		first := h.create(t, "alice", &createRequest{IntentId: intentID, Name: "n"})
		_, err := h.channels.CreateChannel(as("bob"), &createRequest{IntentId: intentID, Name: "n"})
		require.ErrorIs(t, err, ErrNameTaken)
		metadata := faulttest.Require(t, err, fault.AlreadyExists, "CHANNEL_NAME_TAKEN").Metadata
		require.Equal(t, first.GetId(), metadata["channel_id"])

		h.create(t, "alice", &createRequest{IntentId: intentID, Name: "N"})
		h.create(t, "alice", &createRequest{IntentId: intentID, Name: "n "})
		h.create(t, "alice", &createRequest{IntentId: other, Name: "n"})

		_, err = h.closeChannel(as("alice"), first.GetId())
		require.NoError(t, err)
		second := h.create(t, "alice", &createRequest{IntentId: intentID, Name: "n"})
		require.NoError(t, h.deleteChannel(as("alice"), second.GetId()))
		third := h.create(t, "alice", &createRequest{IntentId: intentID, Name: "n", Options: &optionsMessage{TtlSeconds: ptr(int64(10))}})
		require.NotEqual(t, second.GetId(), third.GetId())
		h.takeClosings()

		// A microsecond before its deadline the third channel still has the name; at the deadline it no longer has it.
		deadline := third.GetCreatedAt().AsTime().Add(10 * time.Second)
		h.clock.Set(deadline.Add(-time.Microsecond))
		_, err = h.channels.CreateChannel(as("bob"), &createRequest{IntentId: intentID, Name: "n"})
		faulttest.Require(t, err, fault.AlreadyExists, "CHANNEL_NAME_TAKEN")
		h.clock.Set(deadline)
		h.create(t, "bob", &createRequest{IntentId: intentID, Name: "n"})
		require.Equal(t, deadline, h.stored(t, third.GetId()).ClosedAt, "creating the next channel closed the third for good")
		require.Equal(t, []observedClosing{{ids: []string{third.GetId()}, at: deadline}}, h.takeClosings())
	})
}

func TestOneOfManyCreationsOfANameWins(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		replicas := []*Service{h.channels, h.replica()}
		const callers = 12
		errs := make([]error, callers)
		var wait sync.WaitGroup
		for i := range callers {
			wait.Go(func() {
				_, errs[i] = replicas[i%2].CreateChannel(as(fmt.Sprintf("agent-%d", i)), &createRequest{IntentId: intentID, Name: "n"})
			})
		}
		wait.Wait()
		channels := h.list(t, intentID, nil)
		require.Len(t, channels, 1)
		winners := 0
		for i, err := range errs {
			if err == nil {
				winners++
				require.Equal(t, fmt.Sprintf("agent-%d", i), channels[0].GetCreatedBy())
				continue
			}
			metadata := faulttest.Require(t, err, fault.AlreadyExists, "CHANNEL_NAME_TAKEN").Metadata
			require.Equal(t, channels[0].GetId(), metadata["channel_id"])
		}
		require.Equal(t, 1, winners)
	})
}

func TestImplicitCreation(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		var created, found, absent *Rules
		require.NoError(t, h.onIntent(intentID, func(tx *database.Tx, head *intents.Head) (err error) {
			if absent, err = h.channels.FindOpenByName(tx, head, "n", make(map[Key]*Count)); err != nil {
				return err
			}
			if created, err = h.channels.CreateImplicit(tx, head, "n", "bob", ""); err != nil {
				return err
			}
			found, err = h.channels.FindOpenByName(tx, head, "n", make(map[Key]*Count))
			return err
		}))
		require.Nil(t, absent)
		require.Equal(t, created, found)
		channel := h.get(t, created.ID)
		require.Equal(t, "bob", channel.GetCreatedBy())
		require.Equal(t, openintentv1.MemberPolicy_MEMBER_POLICY_INTENT, channel.GetMemberPolicy())
		require.Empty(t, channel.GetMembers())
		require.EqualValues(t, 1000, channel.GetOptions().GetMaxMessages())

		implicitly := func(name string) error {
			return h.onIntent(intentID, func(tx *database.Tx, head *intents.Head) error {
				_, err := h.channels.CreateImplicit(tx, head, name, "bob", "")
				return err
			})
		}
		faulttest.Require(t, implicitly("n"), fault.AlreadyExists, "CHANNEL_NAME_TAKEN")
		faulttest.RequireBadField(t, implicitly("a/b"), "name")
		require.NoError(t, h.setIntentStatus(t, intentID, openintentv1.IntentStatus_INTENT_STATUS_COMPLETED))
		faulttest.Require(t, implicitly("m"), fault.Conflict, "INTENT_ENDED")
	})
}

// No later transaction sees a change that was rolled back.
func TestRolledBackChangesAreNotRemembered(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		channel := h.create(t, "alice", &createRequest{IntentId: intentID, Name: "n", MemberPolicy: ptr(explicit)})
		stop := fault.New(fault.Conflict, "STOP", "The test stops here.")
		var undone *Rules
		err := h.tryWrite(channel.GetId(), func(tx *database.Tx, head *intents.Head, key Key) error {
			before, err := h.channels.Rules(tx, key, head.Epoch)
			require.NoError(t, err)
			_, err = replaceMembers(tx, before, []string{"mallory"}, Count{})
			require.NoError(t, err)
			h.channels.changed(tx, head, key)
			undone, err = h.channels.Rules(tx, key, head.Epoch)
			require.NoError(t, err)
			again, err := h.channels.Rules(tx, key, head.Epoch)
			require.NoError(t, err)
			require.Same(t, undone, again, "the transaction itself reads the rules once")
			h.channels.changed(tx, head, key)
			again, err = h.channels.Rules(tx, key, head.Epoch)
			require.NoError(t, err)
			require.NotSame(t, undone, again, "it reads them again after the next change")
			return stop
		})
		require.ErrorIs(t, err, stop)
		require.Equal(t, []string{"mallory"}, undone.Members(), "the transaction itself sees its change")
		require.Empty(t, h.takeChanges()[1:], "only the creation was reported")

		added, err := h.addMembers(as("alice"), channel.GetId(), "bob")
		require.NoError(t, err)
		require.Equal(t, []string{"bob"}, added.GetMembers())
		h.write(t, channel.GetId(), func(tx *database.Tx, head *intents.Head, key Key) error {
			rules, err := h.channels.Rules(tx, key, head.Epoch)
			require.NoError(t, err)
			require.Equal(t, []string{"bob"}, rules.Members())
			again, err := h.channels.Rules(tx, key, head.Epoch)
			require.NoError(t, err)
			require.Same(t, rules, again, "the cache keeps rules of a committed epoch")
			return nil
		})
	})
}
