package intents

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

var noon = time.Date(2026, 2, 13, 12, 0, 0, 0, time.UTC)

func entryUntil(permission Permission, expiresAt time.Time) AccessEntry {
	return AccessEntry{Permission: permission, ExpiresAt: expiresAt}
}

func coordinatorUntil(agent string, expiresAt time.Time) Coordinator {
	return Coordinator{
		AgentID: agent, Status: CoordinatorActive, HeartbeatInterval: time.Minute, LastHeartbeatAt: noon,
		ExpiresAt: expiresAt,
	}
}

func TestLevelIsDecidedInOrder(t *testing.T) {
	never := time.Time{}
	for name, c := range map[string]struct {
		rules    Rules
		agent    string
		operator bool
		level    Permission
		given    Permission
	}{
		"operator on a closed list":   {Rules{policy: PolicyClosed}, "operator", true, PermissionAdmin, PermissionAdmin},
		"creator on a closed list":    {Rules{policy: PolicyClosed, creator: "ann"}, "ann", false, PermissionAdmin, PermissionAdmin},
		"creator without a list":      {Rules{creator: "ann"}, "ann", false, PermissionAdmin, PermissionAdmin},
		"stranger without a list":     {Rules{creator: "ann"}, "bob", false, PermissionWrite, PermissionNone},
		"stranger under an open list": {Rules{policy: PolicyOpen}, "bob", false, PermissionRead, PermissionNone},
		"creator, closed without a list": {
			Rules{creator: "ann", closedWithoutList: true}, "ann", false, PermissionAdmin, PermissionAdmin,
		},
		"stranger, closed without a list": {
			Rules{creator: "ann", closedWithoutList: true}, "bob", false, PermissionNone, PermissionNone,
		},
		"stranger under an open list where intents without a list are closed": {
			Rules{policy: PolicyOpen, closedWithoutList: true}, "bob", false, PermissionRead, PermissionNone,
		},
		"coordinator without a list": {
			Rules{coordinators: []Coordinator{coordinatorUntil("bob", never)}},
			"bob", false, PermissionAdmin, PermissionAdmin,
		},
		"silent coordinator without a list": {
			Rules{coordinators: []Coordinator{coordinatorUntil("bob", noon)}}, "bob", false, PermissionWrite, PermissionNone,
		},
		"stranger under a closed list": {Rules{policy: PolicyClosed}, "bob", false, PermissionNone, PermissionNone},
		"coordinator on a closed list": {
			Rules{policy: PolicyClosed, coordinators: []Coordinator{coordinatorUntil("bob", never)}},
			"bob", false, PermissionAdmin, PermissionAdmin,
		},
		"expired coordinator": {
			Rules{policy: PolicyClosed, coordinators: []Coordinator{coordinatorUntil("bob", noon)}},
			"bob", false, PermissionNone, PermissionNone,
		},
		"another agent's coordinator": {
			Rules{policy: PolicyClosed, coordinators: []Coordinator{coordinatorUntil("bob", never)}},
			"eve", false, PermissionNone, PermissionNone,
		},
		"highest of several entries": {
			Rules{policy: PolicyClosed, entries: map[string][]AccessEntry{
				"bob": {entryUntil(PermissionRead, never), entryUntil(PermissionAdmin, never), entryUntil(PermissionWrite, never)},
			}}, "bob", false, PermissionAdmin, PermissionAdmin,
		},
		"expired entries count for nothing": {
			Rules{policy: PolicyClosed, entries: map[string][]AccessEntry{
				"bob": {entryUntil(PermissionRead, never), entryUntil(PermissionAdmin, noon)},
			}}, "bob", false, PermissionRead, PermissionRead,
		},
		"an entry counts to its last moment": {
			Rules{policy: PolicyClosed, entries: map[string][]AccessEntry{
				"bob": {entryUntil(PermissionAdmin, noon.Add(time.Microsecond))},
			}}, "bob", false, PermissionAdmin, PermissionAdmin,
		},
		"expired entry falls back to the policy": {
			Rules{policy: PolicyOpen, entries: map[string][]AccessEntry{"bob": {entryUntil(PermissionAdmin, noon)}}},
			"bob", false, PermissionRead, PermissionNone,
		},
		"assigned agent has write": {
			Rules{policy: PolicyClosed, assigned: map[string]struct{}{"bob": {}}},
			"bob", false, PermissionWrite, PermissionWrite,
		},
		"assigned agent without a list": {
			Rules{assigned: map[string]struct{}{"bob": {}}},
			"bob", false, PermissionAdmin, PermissionAdmin,
		},
		"assigned agent, closed without a list": {
			Rules{assigned: map[string]struct{}{"bob": {}}, closedWithoutList: true},
			"bob", false, PermissionAdmin, PermissionAdmin,
		},
		"assigned agent with a lower entry": {
			Rules{policy: PolicyClosed, assigned: map[string]struct{}{"bob": {}}, entries: map[string][]AccessEntry{
				"bob": {entryUntil(PermissionRead, never)},
			}}, "bob", false, PermissionWrite, PermissionWrite,
		},
		"assigned agent with a higher entry": {
			Rules{policy: PolicyClosed, assigned: map[string]struct{}{"bob": {}}, entries: map[string][]AccessEntry{
				"bob": {entryUntil(PermissionAdmin, never)},
			}}, "bob", false, PermissionAdmin, PermissionAdmin,
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.level, c.rules.Level(c.agent, c.operator, noon))
			require.Equal(t, c.given, c.rules.Given(c.agent, c.operator, noon))
		})
	}
}

func TestCoordinatesByStatusAndTime(t *testing.T) {
	silent := 2 * time.Minute
	for name, c := range map[string]struct {
		status CoordinatorStatus
		at     time.Time
		want   bool
	}{
		"active":                 {CoordinatorActive, noon, true},
		"completing":             {CoordinatorCompleting, noon, true},
		"registering":            {CoordinatorRegistering, noon, false},
		"paused":                 {CoordinatorPaused, noon, false},
		"failed over":            {CoordinatorFailedOver, noon, false},
		"completed":              {CoordinatorCompleted, noon, false},
		"silent for twice":       {CoordinatorActive, noon.Add(silent), true},
		"silent for longer":      {CoordinatorActive, noon.Add(silent + time.Microsecond), false},
		"before it expires":      {CoordinatorActive, noon.Add(time.Minute - time.Microsecond), true},
		"expired a while later":  {CoordinatorActive, noon.Add(time.Hour), false},
		"paused past its expiry": {CoordinatorPaused, noon.Add(time.Hour), false},
	} {
		t.Run(name, func(t *testing.T) {
			coordinator := coordinatorUntil("bob", time.Time{})
			coordinator.Status = c.status
			rules := Rules{policy: PolicyClosed, coordinators: []Coordinator{coordinator}}
			require.Equal(t, c.want, rules.Coordinates("bob", c.at))
		})
	}
	expiring := coordinatorUntil("bob", noon.Add(time.Minute))
	require.Equal(t, CoordinatorActive, expiring.StatusAt(noon.Add(time.Minute-time.Microsecond)))
	require.Equal(t, CoordinatorCompleted, expiring.StatusAt(noon.Add(time.Minute)))
}

// Messages to everyone go to the agents that the intent names now, and to nobody else.
func TestNames(t *testing.T) {
	ended := coordinatorUntil("failed", time.Time{})
	ended.Status = CoordinatorFailedOver
	rules := Rules{
		creator: "ann", policy: PolicyOpen, assigned: map[string]struct{}{"bob": {}},
		entries: map[string][]AccessEntry{
			"eve":  {entryUntil(PermissionRead, time.Time{})},
			"late": {entryUntil(PermissionRead, noon)},
		},
		coordinators: []Coordinator{coordinatorUntil("lead", time.Time{}), coordinatorUntil("past", noon), ended},
	}
	for agent, named := range map[string]bool{
		"ann": true, "bob": true, "eve": true, "lead": true, "late": false, "past": false, "failed": false, "zoe": false,
	} {
		require.Equal(t, named, rules.Names(agent, noon), agent)
	}
	require.True(t, rules.Names("late", noon.Add(-time.Second)))
	require.True(t, rules.Names("lead", noon.Add(time.Hour)), "a silent coordinator needs the messages all the more")
}

func TestRequireNamesBothLevels(t *testing.T) {
	rules := Rules{intentID: "i1", policy: PolicyOpen}
	bob := caller.Caller{Agent: "bob"}
	require.NoError(t, rules.Require(bob, "bob", PermissionRead, noon))
	refusal := faulttest.Require(t, rules.Require(bob, "bob", PermissionWrite, noon), fault.Denied, "FORBIDDEN")
	require.Equal(t, map[string]string{
		"required_permission": "write",
		"current_permission":  "read",
	}, refusal.Metadata)
}

func TestRequireGivenAsksForWhatSomebodyGave(t *testing.T) {
	rules := Rules{intentID: "i1", creator: "ann", assigned: map[string]struct{}{"eve": {}}}
	bob := caller.Caller{Agent: "bob"}
	require.NoError(t, rules.Require(bob, "bob", PermissionWrite, noon), "the intent is open")
	refusal := faulttest.Require(t, rules.RequireGiven(bob, "bob", PermissionWrite, noon), fault.Denied, "FORBIDDEN")
	require.Equal(t, "write", refusal.Metadata["required_permission"])
	require.Equal(t, "none", refusal.Metadata["current_permission"])
	for _, agent := range []string{"ann", "eve"} {
		require.NoError(t, rules.RequireGiven(caller.Caller{Agent: agent}, agent, PermissionWrite, noon))
	}
}

func TestOperatorActingForAnAgentHasThatAgentsLevel(t *testing.T) {
	rules := Rules{policy: PolicyClosed}
	operator := caller.Caller{Agent: caller.Operator, IsOperator: true}
	require.NoError(t, rules.Require(operator, caller.Operator, PermissionAdmin, noon))
	faulttest.Require(t, rules.Require(operator, "bob", PermissionRead, noon), fault.Denied, "FORBIDDEN")
}

// TestNextChangeIsTheNextTimeAnAnswerChanges checks that no answer changes for anybody between now and NextChange.
func TestNextChangeIsTheNextTimeAnAnswerChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := Rules{policy: PolicyClosed, entries: map[string][]AccessEntry{}}
		agents := []string{"ann", "bob"}
		moment := rapid.Custom(func(t *rapid.T) time.Time {
			if rapid.Bool().Draw(t, "never") {
				return time.Time{}
			}
			return noon.Add(time.Duration(rapid.IntRange(-5, 5).Draw(t, "offset")) * time.Microsecond)
		})
		for range rapid.IntRange(0, 4).Draw(t, "entries") {
			agent := rapid.SampledFrom(agents).Draw(t, "agent")
			permission := Permission(rapid.IntRange(1, 3).Draw(t, "permission"))
			rules.entries[agent] = append(rules.entries[agent], entryUntil(permission, moment.Draw(t, "expires")))
		}
		for range rapid.IntRange(0, 2).Draw(t, "coordinators") {
			coordinator := coordinatorUntil(rapid.SampledFrom(agents).Draw(t, "agent"), moment.Draw(t, "expires"))
			coordinator.LastHeartbeatAt = noon.Add(-2*time.Minute +
				time.Duration(rapid.IntRange(-5, 5).Draw(t, "heard"))*time.Microsecond)
			rules.coordinators = append(rules.coordinators, coordinator)
		}
		levels := func(at time.Time) (levels [2]Permission) {
			for i, agent := range agents {
				levels[i] = rules.Level(agent, false, at)
			}
			return levels
		}
		next := rules.NextChange(noon)
		for at := noon; at.Before(noon.Add(10 * time.Microsecond)); at = at.Add(time.Microsecond) {
			if !next.IsZero() && !at.Before(next) {
				break
			}
			require.Equal(t, levels(noon), levels(at), "at %v, next change at %v", at, next)
		}
	})
}
