package intents

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/internal/optional"
)

func (h *house) mayRead(agent, intentID string) bool {
	_, err := h.GetIntent(as(agent), &openintentv1.GetIntentRequest{IntentId: intentID})
	return err == nil
}

func (h *house) grant(t *testing.T, intentID, agent string, permission Permission, until time.Time) *openintentv1.AccessEntry {
	t.Helper()
	entry, err := h.CreateAccessEntry(asOperator(), &openintentv1.CreateAccessEntryRequest{
		IntentId: intentID, PrincipalId: agent, Permission: openintentv1.Permission(permission), ExpiresAt: optional.Time(until),
	})
	require.NoError(t, err)
	return entry
}

func TestAnIntentBeginsWithoutAList(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		list, err := h.GetAccessControl(as("bob"), &openintentv1.GetAccessControlRequest{IntentId: id})
		require.NoError(t, err)
		require.Equal(t, openintentv1.AccessPolicy_ACCESS_POLICY_OPEN, list.GetDefaultPolicy())
		require.Empty(t, list.GetEntries())
		_, err = h.AppendEvent(as("bob"), &openintentv1.AppendEventRequest{IntentId: id, EventType: "comment"})
		require.NoError(t, err, "without a list everyone has write access")
		_, err = h.setStatus("bob", id, StatusBlocked)
		faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
	})
}

// An agent that neither made an intent nor was given any access to it decides nothing about other agents there.
func TestOpennessGivesNoAdmin(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		before := h.log(t, id)
		admin := openintentv1.Permission_PERMISSION_ADMIN
		for what, attack := range map[string]func(ctx context.Context) error{
			"grant itself": func(ctx context.Context) error {
				_, err := h.CreateAccessEntry(ctx, &openintentv1.CreateAccessEntryRequest{
					IntentId: id, PrincipalId: "mallory", Permission: admin,
				})
				return err
			},
			"make the list": func(ctx context.Context) error {
				_, err := h.SetAccessControl(ctx, &openintentv1.SetAccessControlRequest{
					IntentId: id, DefaultPolicy: openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED,
					Entries: []*openintentv1.AccessEntryInput{entryFor("mallory", PermissionAdmin)},
				})
				return err
			},
			"assign itself": func(ctx context.Context) error {
				_, err := h.AssignAgent(ctx, &openintentv1.AssignAgentRequest{IntentId: id, AgentId: "mallory"})
				return err
			},
			"coordinate": func(ctx context.Context) error {
				_, err := h.CreateCoordinator(ctx, &openintentv1.CreateCoordinatorRequest{IntentId: &id})
				return err
			},
			"end it": func(context.Context) error {
				_, err := h.setStatus("mallory", id, StatusAbandoned)
				return err
			},
			"make it wait for a part": func(ctx context.Context) error {
				_, err := h.CreateIntent(ctx, &openintentv1.CreateIntentRequest{Title: "Part", ParentIntentId: &id})
				return err
			},
			"log that it was granted admin": func(ctx context.Context) error {
				_, err := h.AppendEvent(ctx, &openintentv1.AppendEventRequest{IntentId: id, EventType: "access_granted"})
				return err
			},
		} {
			faulttest.Require(t, attack(as("mallory")), fault.Denied, "FORBIDDEN")
			require.Len(t, h.log(t, id), len(before), what)
		}
	})
}

// An assigned agent administers an intent that has no list. A list ends that.
func TestAnAssignedAgentHasAdminWithoutAList(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		_, err := h.AssignAgent(as("ann"), &openintentv1.AssignAgentRequest{IntentId: id, AgentId: "bob"})
		require.NoError(t, err)
		_, err = h.setStatus("bob", id, StatusBlocked)
		require.NoError(t, err)
		h.grant(t, id, "eve", PermissionRead, time.Time{})
		_, err = h.setStatus("bob", id, StatusActive)
		faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
		_, err = h.AppendEvent(as("bob"), &openintentv1.AppendEventRequest{IntentId: id, EventType: "task.completed"})
		require.NoError(t, err, "the agent keeps write access, which somebody gave")
	})
}

func TestIntentsWithoutAListCanBeClosed(t *testing.T) {
	eachEngine(t, func(t *testing.T, open *house) {
		h := open.closed()
		id := h.newIntent(t).GetId()
		require.True(t, h.mayRead("ann", id))
		require.False(t, h.mayRead("bob", id))
		list, err := h.GetAccessControl(as("ann"), &openintentv1.GetAccessControlRequest{IntentId: id})
		require.NoError(t, err)
		require.Equal(t, openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED, list.GetDefaultPolicy())
		_, err = h.AssignAgent(as("ann"), &openintentv1.AssignAgentRequest{IntentId: id, AgentId: "bob"})
		require.NoError(t, err)
		require.True(t, h.mayRead("bob", id))
		h.grant(t, id, "eve", PermissionRead, time.Time{})
		require.True(t, h.mayRead("eve", id))
		require.False(t, h.mayRead("mallory", id), "the first entry begins a closed list")
		list, err = h.GetAccessControl(as("ann"), &openintentv1.GetAccessControlRequest{IntentId: id})
		require.NoError(t, err)
		require.Equal(t, openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED, list.GetDefaultPolicy())
		_, err = h.SetAccessControl(as("ann"), &openintentv1.SetAccessControlRequest{
			IntentId: id, DefaultPolicy: openintentv1.AccessPolicy_ACCESS_POLICY_OPEN,
		})
		require.NoError(t, err)
		require.True(t, h.mayRead("mallory", id))
		require.Equal(t, "access_granted", h.eventTypes(t, id)[len(h.log(t, id))-1])
	})
}

// An intent that is created with a default policy has a list from the beginning.
func TestAnIntentCanBeginWithAList(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		for _, policy := range []Policy{PolicyOpen, PolicyClosed} {
			number := policyNumbers[policy]
			id := h.createIntent(t, "ann", &openintentv1.CreateIntentRequest{Title: "T", DefaultPolicy: &number}).GetId()
			require.Equal(t, policy == PolicyOpen, h.mayRead("bob", id))
			_, err := h.AppendEvent(as("bob"), &openintentv1.AppendEventRequest{IntentId: id, EventType: "comment"})
			faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
			list, err := h.GetAccessControl(as("ann"), &openintentv1.GetAccessControlRequest{IntentId: id})
			require.NoError(t, err)
			require.Equal(t, number, list.GetDefaultPolicy())
			events := h.log(t, id)
			require.Equal(t, []string{"intent_created", "access_revoked"}, h.eventTypes(t, id))
			require.Equal(t, map[string]any{"default_policy": string(policy)}, events[1].GetPayload().AsMap())
			require.Equal(t, "ann", events[1].GetActor())
			requireValidChain(t, h, id)
		}
	})
}

func TestTheFirstEntryBeginsAnOpenList(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		entry, err := h.CreateAccessEntry(as("ann"), &openintentv1.CreateAccessEntryRequest{
			IntentId: id, PrincipalId: "eve", Permission: openintentv1.Permission_PERMISSION_WRITE, Reason: pointer("helps"),
		})
		require.NoError(t, err)
		require.Equal(t, "ann", entry.GetGrantedBy())
		require.Equal(t, openintentv1.PrincipalType_PRINCIPAL_TYPE_AGENT, entry.GetPrincipalType())
		list, err := h.GetAccessControl(as("bob"), &openintentv1.GetAccessControlRequest{IntentId: id})
		require.NoError(t, err)
		require.Equal(t, openintentv1.AccessPolicy_ACCESS_POLICY_OPEN, list.GetDefaultPolicy())
		require.Len(t, list.GetEntries(), 1)
		require.Equal(t, entry.String(), list.GetEntries()[0].String())
		_, err = h.setStatus("bob", id, StatusBlocked)
		faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
		events := h.log(t, id)
		require.Len(t, events, 3)
		require.Equal(t, "access_revoked", events[1].GetEventType(), "write access for everyone is over")
		require.Equal(t, map[string]any{"default_policy": "open"}, events[1].GetPayload().AsMap())
		require.Equal(t, "access_granted", events[2].GetEventType())
		require.Equal(t, map[string]any{
			"entry_id": entry.GetId(), "principal_id": "eve", "principal_type": "agent", "permission": "write", "reason": "helps",
		}, events[2].GetPayload().AsMap())
	})
}

func TestSetAccessControlReplacesTheList(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		h.closeList(t, id, entryFor("bob", PermissionRead), entryFor("bob", PermissionAdmin))
		_, err := h.setStatus("bob", id, StatusBlocked)
		require.NoError(t, err)
		require.False(t, h.mayRead("eve", id))
		before := h.head(t, id)
		replaced, err := h.SetAccessControl(as("bob"), &openintentv1.SetAccessControlRequest{
			IntentId: id, DefaultPolicy: openintentv1.AccessPolicy_ACCESS_POLICY_OPEN,
			Entries: []*openintentv1.AccessEntryInput{entryFor("eve", PermissionWrite)},
		})
		require.NoError(t, err)
		require.Len(t, replaced.GetEntries(), 1)
		list, err := h.GetAccessControl(as("eve"), &openintentv1.GetAccessControlRequest{IntentId: id})
		require.NoError(t, err)
		require.Equal(t, replaced.String(), list.String())
		_, err = h.SetAccessControl(as("bob"), &openintentv1.SetAccessControlRequest{
			IntentId: id, DefaultPolicy: openintentv1.AccessPolicy_ACCESS_POLICY_OPEN,
		})
		faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
		types := h.eventTypes(t, id)
		require.Equal(t, []string{"access_revoked", "access_revoked", "access_granted", "access_granted"}, types[len(types)-4:])
		require.Greater(t, h.head(t, id).Epoch, before.Epoch)
		requireValidChain(t, h, id)
	})
}

func TestALongListIsStoredWhole(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		entries := make([]*openintentv1.AccessEntryInput, 1_203)
		for i := range entries {
			entries[i] = entryFor(fmt.Sprint("agent", i), PermissionRead)
		}
		h.closeList(t, id, entries...)
		list, err := h.GetAccessControl(as("agent1202"), &openintentv1.GetAccessControlRequest{IntentId: id})
		require.NoError(t, err)
		require.Len(t, list.GetEntries(), 1_000)
		rest, err := h.GetAccessControl(as("agent1202"),
			&openintentv1.GetAccessControlRequest{IntentId: id, Cursor: list.NextCursor})
		require.NoError(t, err)
		require.Nil(t, rest.NextCursor)
		all := append(list.GetEntries(), rest.GetEntries()...)
		require.Len(t, all, len(entries))
		for i, entry := range all {
			require.Equal(t, fmt.Sprint("agent", i), entry.GetPrincipalId())
		}
		requireValidChain(t, h, id)
	})
}

func TestRevokingCountsAtOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		h.closeList(t, id)
		require.False(t, h.mayRead("bob", id))
		entry := h.grant(t, id, "bob", PermissionRead, time.Time{})
		require.True(t, h.mayRead("bob", id))
		request := &openintentv1.DeleteAccessEntryRequest{IntentId: id, EntryId: entry.GetId()}
		_, err := h.DeleteAccessEntry(as("bob"), request)
		faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
		_, err = h.DeleteAccessEntry(as("ann"), request)
		require.NoError(t, err)
		require.False(t, h.mayRead("bob", id))
		_, err = h.DeleteAccessEntry(as("ann"), request)
		faulttest.Require(t, err, fault.NotFound, "ACCESS_ENTRY_NOT_FOUND")
	})
}

func TestGroupsMatchNobody(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		group := entryFor("bob", PermissionAdmin)
		group.PrincipalType = openintentv1.PrincipalType_PRINCIPAL_TYPE_GROUP.Enum()
		user := entryFor("eve", PermissionRead)
		user.PrincipalType = openintentv1.PrincipalType_PRINCIPAL_TYPE_USER.Enum()
		h.closeList(t, id, group, user)
		require.False(t, h.mayRead("bob", id))
		require.True(t, h.mayRead("eve", id))
	})
}

func TestEntriesThatCannotBe(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		for _, entry := range []*openintentv1.AccessEntryInput{
			{PrincipalId: "role:x", Permission: openintentv1.Permission_PERMISSION_READ},
			{PrincipalId: "bob", Permission: openintentv1.Permission_PERMISSION_READ, ExpiresAt: optional.Time(h.clock.Now())},
			{PrincipalId: "bob", Permission: openintentv1.Permission_PERMISSION_READ, Reason: pointer("\x00")},
			{
				PrincipalId: "bob", Permission: openintentv1.Permission_PERMISSION_READ,
				ExpiresAt: &timestamppb.Timestamp{Seconds: 1 << 60},
			},
		} {
			_, err := h.SetAccessControl(as("ann"), &openintentv1.SetAccessControlRequest{
				IntentId: id, DefaultPolicy: openintentv1.AccessPolicy_ACCESS_POLICY_OPEN,
				Entries: []*openintentv1.AccessEntryInput{entryFor("eve", PermissionRead), entry},
			})
			refusal := faulttest.Require(t, err, fault.Invalid, "INVALID_FIELD")
			require.Contains(t, refusal.Fields[0].Path, "entries[1].")
		}
		require.Len(t, h.log(t, id), 1)
	})
}

func TestExpiryCountsByTimeAndIsLoggedOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		h.closeList(t, id)
		until := h.clock.Now().Add(time.Hour)
		entry := h.grant(t, id, "bob", PermissionRead, until)
		h.grant(t, id, "eve", PermissionRead, until.Add(time.Hour))
		h.clock.Set(until.Add(-time.Microsecond))
		require.True(t, h.mayRead("bob", id))
		require.NoError(t, h.Sweep(context.Background()))
		before := len(h.log(t, id))
		h.clock.Set(until)
		require.False(t, h.mayRead("bob", id), "nobody has swept yet")
		require.True(t, h.mayRead("eve", id))

		sweepers := make(chan error, 2)
		for range cap(sweepers) {
			go func() { sweepers <- h.Sweep(context.Background()) }()
		}
		for range cap(sweepers) {
			require.NoError(t, <-sweepers)
		}
		require.NoError(t, h.Sweep(context.Background()))
		events := h.log(t, id)
		require.Len(t, events, before+1)
		last := events[before]
		require.Equal(t, "access_expired", last.GetEventType())
		require.Equal(t, "system", last.GetActor())
		require.Equal(t, entry.GetId(), last.GetPayload().AsMap()["entry_id"])
		require.Equal(t, until.Format(wireTime), last.GetPayload().AsMap()["expires_at"])
		require.False(t, h.mayRead("bob", id))
	})
}

// A run of the sweep looks at so many intents and at so many entries of each, and the next one goes on.
func TestTheSweepGoesOnWhereItsBoundsEnd(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.sweeping = sweeping{intents: 1, entries: 2}
		ids := []string{h.newIntent(t).GetId(), h.newIntent(t).GetId()}
		until := h.clock.Now().Add(time.Minute)
		for i, id := range ids {
			h.closeList(t, id)
			for _, agent := range []string{"bob", "eve", "zoe"}[i:] {
				h.grant(t, id, agent, PermissionRead, until)
			}
			h.step(time.Hour, func() { h.coordinate(t, id, "cleo") })
		}
		h.clock.Set(until)
		logged := func() (times []int) {
			for _, id := range ids {
				count := 0
				for _, what := range h.eventTypes(t, id) {
					if what == "access_expired" {
						count++
					}
				}
				times = append(times, count)
			}
			return times
		}
		ahead := func() (intentNos []int64) {
			require.NoError(t, h.inWrite(func(tx *database.Tx) (err error) {
				intentNos, err = findIntentsHeardAhead(tx, tx.Now().Add(maxLead), len(ids))
				return err
			}))
			return intentNos
		}
		require.Len(t, ahead(), 2)
		for run, want := range [][]int{{2, 0}, {3, 0}, {3, 2}} {
			require.NoError(t, h.Sweep(t.Context()))
			require.Equal(t, want, logged())
			require.Len(t, ahead(), max(0, 1-run))
		}
	})
}

// TestListsSeeWhatTheRulesAllow checks that the condition in SQL and Rules.Level always agree, with either setting for intents
// without a list.
func TestListsSeeWhatTheRulesAllow(t *testing.T) {
	databasetest.SearchBriefly(t)
	eachEngine(t, func(t *testing.T, open *house) {
		agents := []string{"ann", "bob", "eve"}
		closed := open.closed()
		rapid.Check(t, func(t *rapid.T) {
			h := rapid.SampledFrom([]*house{open, closed}).Draw(t, "house")
			require.NoError(t, h.inWrite(func(tx *database.Tx) error {
				no := drawIntent(t, h, tx, agents)
				loaded, err := h.loadRules(tx, []int64{no})
				if err != nil {
					return err
				}
				rules := loaded[no]
				now := h.clock.Now()
				for _, agent := range append(agents, "operator") {
					operator := agent == "operator"
					condition, args := h.readerFor(caller.Caller{Agent: agent, IsOperator: operator}, now).mayRead()
					var found int64
					err := tx.Gorm().Raw("SELECT count(*) FROM intents AS i WHERE i.intent_no = ?"+condition,
						append([]any{no}, args...)...).Scan(&found).Error
					if err != nil {
						return err
					}
					require.Equal(t, rules.Level(agent, operator, now) >= PermissionRead, found == 1, agent)
					require.Equal(t, operator || found == 1, operator || h.lists(t, tx, agent, no), agent)
					naming, listed := PrepareNaming(agent)
					if err := tx.Pipeline(naming); err != nil {
						return err
					}
					if rules.Names(agent, now) {
						require.Contains(t, *listed, no, agent)
					}
				}
				return nil
			}))
		})
	})
}

// lists reports whether an intent is among those that an agent may read, in either direction.
func (h *house) lists(t require.TestingT, tx *database.Tx, agent string, no int64) bool {
	of := h.readerFor(caller.Caller{Agent: agent}, h.clock.Now())
	var each [2][]int64
	for i, from := range []listPlace{{number: no - 1}, {number: no + 1, descending: true}} {
		query, args := of.readable(tx, from, 1)
		require.NoError(t, tx.Pipeline(database.ReadValues(&each[i], query, args...)))
	}
	listed := slices.Contains(each[0], no)
	require.Equal(t, listed, slices.Contains(each[1], no), agent)
	return listed
}

// drawIntent stores an intent with some access rules, whose times lie around the clock's.
func drawIntent(t *rapid.T, h *house, tx *database.Tx, agents []string) int64 {
	now := h.clock.Now()
	agent := rapid.SampledFrom(agents)
	offset := func(label string) time.Duration {
		return time.Duration(rapid.IntRange(-1, 1).Draw(t, label)) * time.Microsecond
	}
	expiry := func() time.Time {
		if rapid.Bool().Draw(t, "never expires") {
			return time.Time{}
		}
		return now.Add(offset("expires"))
	}
	id := newID()
	head, err := insertIntent(tx, &Intent{
		ID: id, CreatedBy: agent.Draw(t, "creator"), Status: StatusActive, CreatedAt: now, UpdatedAt: now,
		Constraints: []byte("{}"), State: []byte("{}"),
	}, "")
	require.NoError(t, err)
	head.RaiseEpoch()
	policy := rapid.SampledFrom([]Policy{policyNone, policyNone, PolicyOpen, PolicyClosed, PolicyClosed, PolicyClosed}).Draw(t, "policy")
	if policy != policyNone {
		require.NoError(t, storePolicy(tx, head.IntentNo, policy))
	}
	var entries []AccessEntry
	for i := range rapid.IntRange(0, 2).Draw(t, "entries") {
		entries = append(entries, AccessEntry{
			ID: fmt.Sprint(i), PrincipalID: agent.Draw(t, "principal"), ExpiresAt: expiry(),
			PrincipalType: rapid.SampledFrom([]PrincipalType{PrincipalAgent, PrincipalUser, PrincipalGroup}).Draw(t, "type"),
			Permission:    Permission(rapid.IntRange(1, 3).Draw(t, "permission")), GrantedAt: now,
		})
	}
	require.NoError(t, insertEntries(tx, head.IntentNo, entries))
	if rapid.Bool().Draw(t, "assigned") {
		require.NoError(t, insertAssignment(tx, head, Assignment{AgentID: agent.Draw(t, "assigned"), AssignedAt: now}))
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "coordinators") {
		require.NoError(t, insertCoordinator(tx, &Coordinator{
			IntentNo: head.IntentNo, ID: fmt.Sprint(id, "-", i), AgentID: agent.Draw(t, "coordinator"),
			Status: rapid.SampledFrom([]CoordinatorStatus{
				CoordinatorActive, CoordinatorCompleting, CoordinatorPaused, CoordinatorFailedOver, CoordinatorCompleted,
			}).Draw(t, "status"),
			HeartbeatInterval: time.Minute, LastHeartbeatAt: now.Add(-2*time.Minute + offset("heard")), GrantedAt: now,
			ExpiresAt: expiry(), Metadata: []byte("{}"),
		}))
	}
	return head.IntentNo
}
