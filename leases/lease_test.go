package leases

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// slack is how much further than the clock the times of the log may be: a microsecond for each entry.
const slack = time.Millisecond

func TestAScopeHasOneHolder(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		first := h.hold(t, "ann", "parser")
		require.WithinDuration(t, h.clock.Now().Add(5*time.Minute), first.GetExpiresAt().AsTime(), slack)
		_, err := h.AcquireLease(as("bob"), h.acquiring("parser"))
		refusal := requireReason(t, err, fault.AlreadyExists, "LEASE_HELD")
		require.Equal(t, map[string]string{
			"lease_id": first.GetId(), "agent_id": "ann", "scope": "parser", "fence": strconv.FormatInt(first.GetFence(), 10),
			"expires_at": first.GetExpiresAt().AsTime().Format(wireTime),
		}, refusal.Metadata)
		require.True(t, proto.Equal(first, refusal.Subject), "the refusal shows the lease: %v", refusal.Subject)
		_, err = h.AcquireLease(as("ann"), h.acquiring("parser"))
		requireReason(t, err, fault.AlreadyExists, "LEASE_HELD")
		require.ErrorContains(t, err, "holds a lease of this scope already")
		h.hold(t, "bob", "lexer")
		require.Equal(t, map[string]string{"parser": "ann", "lexer": "bob"}, h.holders(t))

		require.NoError(t, h.free("ann", first.GetId()))
		second := h.hold(t, "bob", "parser")
		require.Greater(t, second.GetFence(), first.GetFence())
		require.Equal(t, []string{
			"lease_acquired ann", "lease_acquired bob", "lease_released ann released", "lease_acquired bob",
		}, h.log(t))
		require.Empty(t, h.told(t), "who releases a lease knows it")
	})
}

func TestOnlyTheHolderChangesALease(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		lease := h.hold(t, "ann", "parser")
		for _, id := range []string{lease.GetId(), "no such id"} {
			_, err := h.renew("bob", id, 60)
			requireReason(t, err, fault.NotFound, "LEASE_NOT_FOUND")
			requireReason(t, h.free("bob", id), fault.NotFound, "LEASE_NOT_FOUND")
		}
		h.elsewhere(t, func() {
			_, err := h.renew("ann", lease.GetId(), 60)
			requireReason(t, err, fault.NotFound, "LEASE_NOT_FOUND")
			requireReason(t, h.free("ann", lease.GetId()), fault.NotFound, "LEASE_NOT_FOUND")
		})
		renewed, err := h.renew("ann", lease.GetId(), 60)
		require.NoError(t, err)
		require.WithinDuration(t, h.clock.Now().Add(time.Minute), renewed.GetExpiresAt().AsTime(), slack)
		require.Equal(t, lease.GetFence(), renewed.GetFence())
		_, err = h.ReleaseLease(asOperator(), &openintentv1.ReleaseLeaseRequest{IntentId: h.intent.GetId(), LeaseId: lease.GetId()})
		require.NoError(t, err)
		require.Equal(t, []string{"lease_acquired ann", "lease_released ann revoked"}, h.log(t))
		require.Equal(t, []string{"ann parser revoked"}, h.told(t))
		_, err = h.AcquireLease(as("bob"), &openintentv1.AcquireLeaseRequest{
			IntentId: h.intent.GetId(), Scope: "parser", AgentId: pointer("ann"),
		})
		requireReason(t, err, fault.Denied, "SENDER_MISMATCH")
	})
}

// A lease that has ended is gone immediately, before any sweep. The sweep then stores its end.
func TestWhatEndsALease(t *testing.T) {
	for _, row := range []struct {
		name string
		end  func(t *testing.T, h *house)
		why  string
	}{
		{"its time", func(_ *testing.T, h *house) { h.clock.Advance(5*time.Minute + slack) }, "expired"},
		{"the loss of access", func(t *testing.T, h *house) { h.admit(t, writes("bob")) }, "access_lost"},
		{"the loss of the right to write", func(t *testing.T, h *house) { h.admit(t, writes("bob"), reads("ann")) }, "access_lost"},
		{"its holder's leaving", func(t *testing.T, h *house) {
			_, err := h.agents.DeregisterAgent(as("ann"), &openintentv1.DeregisterAgentRequest{AgentId: "ann"})
			require.NoError(t, err)
		}, "agent_left"},
		{"its holder's death", func(t *testing.T, h *house) {
			_, err := h.agents.UpdateAgentStatus(as("ann"), &openintentv1.UpdateAgentStatusRequest{
				AgentId: "ann", Status: openintentv1.AgentStatus_AGENT_STATUS_UNHEALTHY,
			})
			require.NoError(t, err)
			_, err = h.agents.UpdateAgentStatus(as("ann"), &openintentv1.UpdateAgentStatusRequest{
				AgentId: "ann", Status: openintentv1.AgentStatus_AGENT_STATUS_DEAD,
			})
			require.NoError(t, err)
		}, "agent_dead"},
	} {
		t.Run(row.name, func(t *testing.T) {
			eachHouse(t, func(t *testing.T, h *house) {
				_, err := h.agents.RegisterAgent(as("ann"), &openintentv1.RegisterAgentRequest{AgentId: pointer("ann")})
				require.NoError(t, err)
				parser, lexer := h.hold(t, "ann", "parser"), h.hold(t, "ann", "lexer")
				row.end(t, h)
				require.Empty(t, h.holders(t))
				_, err = h.renew("ann", parser.GetId(), 60)
				requireReason(t, err, fault.NotFound, "LEASE_NOT_FOUND")
				requireReason(t, h.free("ann", lexer.GetId()), fault.NotFound, "LEASE_NOT_FOUND")
				h.hold(t, "bob", "parser")
				require.NoError(t, h.Sweep(t.Context()))
				require.Equal(t, []string{
					"lease_acquired ann", "lease_acquired ann", "lease_released ann " + row.why, "lease_acquired bob",
					"lease_released ann " + row.why,
				}, h.log(t))
				require.Equal(t, map[string]string{"parser": "bob"}, h.holders(t))
				require.Equal(t, []string{"ann parser " + row.why, "ann lexer " + row.why}, h.told(t))
			})
		})
	}
}

func writes(agent string) *openintentv1.AccessEntryInput {
	return &openintentv1.AccessEntryInput{PrincipalId: agent, Permission: openintentv1.Permission_PERMISSION_WRITE}
}

func reads(agent string) *openintentv1.AccessEntryInput {
	return &openintentv1.AccessEntryInput{PrincipalId: agent, Permission: openintentv1.Permission_PERMISSION_READ}
}

// A lease holds up to its end, and no longer.
func TestALeaseEndsAtItsEnd(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		ends := h.hold(t, "ann", "parser").GetExpiresAt().AsTime()
		h.clock.Advance(ends.Sub(h.clock.Now()) - time.Microsecond)
		require.Equal(t, map[string]string{"parser": "ann"}, h.holders(t))
		h.clock.Advance(time.Microsecond)
		require.Empty(t, h.holders(t))
	})
}

// Who may only read acquires nothing. If the right to write ends by time, the lease ends then, and the sweep says so.
func TestALeaseTakesTheRightToWrite(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		minute := writes("ann")
		minute.ExpiresAt = timestamppb.New(h.clock.Now().Add(time.Minute))
		h.admit(t, minute, reads("bob"))
		_, err := h.AcquireLease(as("bob"), h.acquiring("parser"))
		require.Equal(t, fault.Denied, fault.From(err).Kind, "%v", err)
		h.hold(t, "ann", "parser")
		h.clock.Advance(time.Minute)
		require.NoError(t, h.Sweep(t.Context()))
		require.Equal(t, []string{"lease_acquired ann", "lease_released ann access_lost"}, h.log(t))
	})
}

func TestASweepFindsNothingToDoTwice(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hold(t, "ann", "parser")
		_, err := h.intents.AssignAgent(as("creator"), &openintentv1.AssignAgentRequest{IntentId: h.intent.GetId(), AgentId: "eve"})
		require.NoError(t, err)
		due := func() []int64 {
			var found []int64
			require.NoError(t, h.db.ReadStatement(t.Context(), func(tx *tx) (err error) {
				found, err = toJudge(tx, h.clock.Now(), 10)
				return err
			}))
			return found
		}
		require.Len(t, due(), 1, "the intent's rules have changed")
		require.NoError(t, h.Sweep(t.Context()))
		require.Empty(t, due())
		require.Equal(t, map[string]string{"parser": "ann"}, h.holders(t))

		h.elsewhere(t, func() { h.hold(t, "bob", "lexer") })
		h.clock.Advance(time.Hour)
		h.swept = 1
		for left := range 2 {
			require.Len(t, due(), 2-left, "a run looks at so many intents, and the next one goes on")
			require.NoError(t, h.Sweep(t.Context()))
		}
		require.Empty(t, due())
	})
}

func TestTheEndOfATaskAndOfAnIntentEndLeases(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		task, err := h.tasks.CreateTask(as("ann"), &openintentv1.CreateTaskRequest{IntentId: h.intent.GetId(), Name: "N"})
		require.NoError(t, err)
		scope := "task:" + task.GetId()
		for _, wrong := range []string{"task:", "task:x", "task:task_01HZZZZZZZZZZZZZZZZZZZZZZZ"} {
			_, err := h.AcquireLease(as("ann"), h.acquiring(wrong))
			requireReason(t, err, fault.Invalid, "INVALID_FIELD")
		}
		h.hold(t, "ann", scope)
		h.hold(t, "ann", "parser")
		_, err = h.tasks.ClaimTask(as("ann"), &openintentv1.ClaimTaskRequest{TaskId: task.GetId()})
		require.NoError(t, err)
		_, err = h.tasks.CompleteTask(as("ann"), &openintentv1.CompleteTaskRequest{TaskId: task.GetId()})
		require.NoError(t, err)
		require.Equal(t, map[string]string{"parser": "ann"}, h.holders(t))
		_, err = h.AcquireLease(as("ann"), h.acquiring(scope))
		requireReason(t, err, fault.Invalid, "INVALID_FIELD")

		h.setStatus(t, openintentv1.IntentStatus_INTENT_STATUS_COMPLETED)
		require.Empty(t, h.holders(t))
		_, err = h.AcquireLease(as("ann"), h.acquiring("parser"))
		requireReason(t, err, fault.Conflict, "INTENT_ENDED")
		require.Equal(t, []string{
			"lease_acquired ann", "lease_acquired ann", "lease_released ann task_ended", "lease_released ann intent_ended",
		}, h.log(t))
		require.Equal(t, []string{"ann " + scope + " task_ended"}, h.told(t), "the intent's end is in its log alone")
	})
}

func TestASuspensionStopsTheTimeOfLeases(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hold(t, "ann", "over")
		h.clock.Advance(4 * time.Minute)
		kept := h.hold(t, "ann", "kept")
		h.clock.Advance(time.Minute + slack) // the first is over, of the second 4 minutes are left
		h.setStatus(t, openintentv1.IntentStatus_INTENT_STATUS_SUSPENDED_AWAITING_INPUT)
		h.clock.Advance(time.Hour)
		require.NoError(t, h.Sweep(t.Context()))
		require.Equal(t, map[string]string{"kept": "ann"}, h.holders(t))
		renewed, err := h.renew("ann", kept.GetId(), 120)
		require.NoError(t, err)
		shows := func(left time.Duration, what string, lease *openintentv1.Lease) {
			t.Helper()
			require.WithinDuration(t, h.clock.Now().Add(left), lease.GetExpiresAt().AsTime(), slack, what)
			require.Nil(t, lease.GetReleasedAt(), what)
		}
		shows(2*time.Minute, "renewed", renewed)
		h.clock.Advance(time.Hour)
		listed, err := h.ListLeases(as("bob"), &openintentv1.ListLeasesRequest{IntentId: h.intent.GetId()})
		require.NoError(t, err)
		require.Len(t, listed.GetLeases(), 1)
		shows(2*time.Minute, "listed later: its time stands still", listed.GetLeases()[0])
		_, err = h.AcquireLease(as("bob"), h.acquiring("kept"))
		held := requireReason(t, err, fault.AlreadyExists, "LEASE_HELD")
		shows(2*time.Minute, "in the refusal", held.Subject.(*openintentv1.Lease))
		require.Equal(t, listed.GetLeases()[0].GetExpiresAt().AsTime().Format(wireTime), held.Metadata["expires_at"])
		require.NoError(t, h.free("ann", h.hold(t, "ann", "fresh").GetId()))
		h.setStatus(t, openintentv1.IntentStatus_INTENT_STATUS_ACTIVE)
		h.clock.Advance(2*time.Minute - time.Second)
		require.NoError(t, h.Sweep(t.Context()))
		require.Equal(t, map[string]string{"kept": "ann"}, h.holders(t))
		h.clock.Advance(time.Second + slack)
		require.NoError(t, h.Sweep(t.Context()))
		require.Equal(t, []string{
			"lease_acquired ann", "lease_acquired ann", "lease_released ann expired", "lease_acquired ann", "lease_released ann released",
			"lease_released ann expired",
		}, h.log(t))
	})
}

// A suspension stops the time of its own intent's leases, and a resumption lets no others go on.
func TestASuspensionIsThatOfOneIntent(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		const suspended = openintentv1.IntentStatus_INTENT_STATUS_SUSPENDED_AWAITING_INPUT
		h.hold(t, "ann", "parser")
		there := h.elsewhere(t, func() { h.hold(t, "ann", "parser") })
		in := func(intent *openintentv1.Intent, do func()) *openintentv1.Intent {
			here := h.intent
			h.intent = intent
			do()
			intent, h.intent = h.intent, here
			return intent
		}
		h.setStatus(t, suspended)
		h.clock.Advance(5*time.Minute + slack)
		require.NoError(t, h.Sweep(t.Context()))
		require.Equal(t, map[string]string{"parser": "ann"}, h.holders(t))
		there = in(there, func() {
			require.Empty(t, h.holders(t))
			h.hold(t, "ann", "parser")
			h.setStatus(t, suspended)
		})
		h.setStatus(t, openintentv1.IntentStatus_INTENT_STATUS_ACTIVE)
		h.clock.Advance(5*time.Minute + slack)
		require.NoError(t, h.Sweep(t.Context()))
		require.Empty(t, h.holders(t))
		in(there, func() { require.Equal(t, map[string]string{"parser": "ann"}, h.holders(t)) })
	})
}

func TestWhoLeavesGetsNoLease(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		_, err := h.agents.RegisterAgent(as("ann"), &openintentv1.RegisterAgentRequest{AgentId: pointer("ann")})
		require.NoError(t, err)
		lease := h.hold(t, "ann", "parser")
		_, err = h.agents.UpdateAgentStatus(as("ann"), &openintentv1.UpdateAgentStatusRequest{
			AgentId: "ann", Status: openintentv1.AgentStatus_AGENT_STATUS_DRAINING,
		})
		require.NoError(t, err)
		_, err = h.AcquireLease(as("ann"), h.acquiring("lexer"))
		requireReason(t, err, fault.Conflict, "AGENT_LEAVING")
		_, err = h.renew("ann", lease.GetId(), 60)
		require.NoError(t, err, "an agent that drains finishes what it has begun")
		_, err = h.agents.UpdateAgentStatus(as("ann"), &openintentv1.UpdateAgentStatusRequest{
			AgentId: "ann", Status: openintentv1.AgentStatus_AGENT_STATUS_DEAD,
		})
		require.NoError(t, err)
		_, err = h.AcquireLease(as("ann"), h.acquiring("lexer"))
		requireReason(t, err, fault.Conflict, "AGENT_LEAVING")
		_, err = h.agents.DeregisterAgent(as("ann"), &openintentv1.DeregisterAgentRequest{AgentId: "ann"})
		require.NoError(t, err)
		_, err = h.AcquireLease(as("ann"), h.acquiring("lexer"))
		requireReason(t, err, fault.Conflict, "AGENT_LEAVING")
	})
}

func TestAnAgentHoldsOnlySoMany(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for n := range maxHeld {
			h.hold(t, "ann", fmt.Sprintf("scope %04d", n))
		}
		_, err := h.AcquireLease(as("ann"), h.acquiring("one more"))
		requireReason(t, err, fault.Quota, "TOO_MANY_LEASES")
		h.elsewhere(t, func() { h.hold(t, "ann", "one more") })
		h.hold(t, "bob", "one more")
		page, err := h.ListLeases(as("bob"), &openintentv1.ListLeasesRequest{IntentId: h.intent.GetId(), Limit: pointer(int32(600))})
		require.NoError(t, err)
		require.Len(t, page.GetLeases(), 600)
		page, err = h.ListLeases(as("bob"), &openintentv1.ListLeasesRequest{IntentId: h.intent.GetId(), Cursor: page.NextCursor})
		require.NoError(t, err)
		require.Len(t, page.GetLeases(), maxHeld+1-600)
		require.Nil(t, page.NextCursor)
		page, err = h.ListLeases(as("bob"), &openintentv1.ListLeasesRequest{IntentId: h.intent.GetId(), Scope: pointer("one more")})
		require.NoError(t, err)
		require.Len(t, page.GetLeases(), 1)
	})
}

func TestWhoFallsSilentLosesItsLeases(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		_, err := h.agents.RegisterAgent(as("ann"), &openintentv1.RegisterAgentRequest{
			AgentId: pointer("ann"), HeartbeatConfig: &openintentv1.HeartbeatConfig{
				IntervalSeconds: pointer(int32(1)), UnhealthyAfterSeconds: pointer(int32(2)), DeadAfterSeconds: pointer(int32(4)),
			},
		})
		require.NoError(t, err)
		h.hold(t, "ann", "parser")
		for range 4 {
			h.clock.Advance(time.Second)
			require.NoError(t, h.agents.Sweep(t.Context()))
		}
		require.Equal(t, map[string]string{"parser": "ann"}, h.holders(t))
		h.clock.Advance(time.Second)
		require.NoError(t, h.agents.Sweep(t.Context()))
		require.Empty(t, h.holders(t))
		require.NoError(t, h.Sweep(t.Context()))
		require.Equal(t, []string{"ann parser agent_dead"}, h.told(t))
	})
}

func TestAnAgentIsToldOfSoManyEndingsInAnHour(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for range toldHourly + 5 {
			lease := h.hold(t, "ann", "parser")
			_, err := h.ReleaseLease(asOperator(), &openintentv1.ReleaseLeaseRequest{
				IntentId: h.intent.GetId(), LeaseId: lease.GetId(),
			})
			require.NoError(t, err)
		}
		require.Len(t, h.told(t), toldHourly)
	})
}

func TestTheLogSaysForHowLongALeaseWasGivenAndWhenItWasRenewed(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		lease := h.hold(t, "ann", "s")
		h.clock.Advance(time.Minute)
		_, err := h.renew("ann", lease.GetId(), 60)
		require.NoError(t, err)
		renewed := h.clock.Now()
		h.clock.Advance(time.Hour)
		require.NoError(t, h.Sweep(t.Context()))
		said := make(map[string]map[string]any)
		events, err := h.intents.ListEvents(asOperator(), &openintentv1.ListEventsRequest{IntentId: h.intent.GetId()})
		require.NoError(t, err)
		for _, event := range events.GetEvents() {
			said[event.GetEventType()] = event.GetPayload().AsMap()
		}
		require.EqualValues(t, 300, said["lease_acquired"]["duration_seconds"])
		at, err := time.Parse(wireTime, said["lease_released"]["renewed_at"].(string))
		require.NoError(t, err)
		require.WithinDuration(t, renewed, at, slack)
	})
}

// Whoever releases a lease is told how it ended.
func TestAReleasedLeaseSaysWhen(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		release := func(by context.Context, lease *openintentv1.Lease) *openintentv1.Lease {
			answer, err := h.ReleaseLease(by, &openintentv1.ReleaseLeaseRequest{IntentId: h.intent.GetId(), LeaseId: lease.GetId()})
			require.NoError(t, err)
			require.Equal(t, "Lease released", answer.GetMessage())
			require.WithinDuration(t, h.clock.Now(), answer.GetLease().GetReleasedAt().AsTime(), slack)
			require.Equal(t, []any{lease.GetId(), lease.GetFence()}, []any{answer.GetLease().GetId(), answer.GetLease().GetFence()})
			return answer.GetLease()
		}
		lease := h.hold(t, "ann", "parser")
		require.Nil(t, lease.GetReleasedAt())
		h.clock.Advance(time.Minute)
		require.Equal(t, openintentv1.LeaseStatus_LEASE_STATUS_RELEASED, release(as("ann"), lease).GetStatus())
		require.Equal(t, openintentv1.LeaseStatus_LEASE_STATUS_REVOKED, release(asOperator(), h.hold(t, "ann", "parser")).GetStatus())
	})
}

// The operator revokes the leases of others, and releases its own as everybody does.
func TestTheOperatorReleasesItsOwnLease(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		lease, err := h.AcquireLease(asOperator(), h.acquiring("parser"))
		require.NoError(t, err)
		answer, err := h.ReleaseLease(asOperator(), &openintentv1.ReleaseLeaseRequest{IntentId: h.intent.GetId(), LeaseId: lease.GetId()})
		require.NoError(t, err)
		require.Equal(t, openintentv1.LeaseStatus_LEASE_STATUS_RELEASED, answer.GetLease().GetStatus())
		require.Equal(t, []string{"lease_acquired operator", "lease_released operator released"}, h.log(t))
		require.Empty(t, h.told(t), "it knows that it released the lease")
	})
}

// A URI that begins as a task's scope does is a word like others; a task's scope names a task.
func TestAURIIsAScopeLikeOthers(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hold(t, "ann", "task://no-task-of-the-intent")
		_, err := h.AcquireLease(as("bob"), h.acquiring("task://no-task-of-the-intent"))
		requireReason(t, err, fault.AlreadyExists, "LEASE_HELD")
		for _, scope := range []string{"task:", "task:no-task-of-the-intent", "task:/no-task-of-the-intent"} {
			_, err := h.AcquireLease(as("ann"), h.acquiring(scope))
			requireReason(t, err, fault.Invalid, "INVALID_FIELD")
		}
	})
}
