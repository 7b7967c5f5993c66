package e2e

import (
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"openintent/e2e/model"
	openintentv1 "openintent/gen/openintent/v1"
)

// register registers an agent, or gives it another role.
func (y *history) register(t *rapid.T) {
	caller, agent := y.drawSelf(t)
	role, update := pick(t, "role", []string{"writer", "reviewer"}), sometimes(t, "update")
	request := &openintentv1.RegisterAgentRequest{
		AgentId: &agent, RoleId: &role,
		// No agent falls silent in a history: a sweep records silence, and the model cannot know when the sweep runs.
		HeartbeatConfig: &openintentv1.HeartbeatConfig{
			IntervalSeconds: proto.Int32(5e8), UnhealthyAfterSeconds: proto.Int32(1e9), DeadAfterSeconds: proto.Int32(2e9),
		},
	}
	expected := y.world.Register(caller, agent, role, update)
	if update {
		_, err := y.as(caller).Agents.UpsertAgent(y.ctx, request)
		y.came(t, "take role", expected, err)
	} else {
		_, err := y.as(caller).Agents.RegisterAgent(y.ctx, request)
		y.came(t, "register", expected, err)
	}
	y.wrote()
	y.checkSomewhere(t)
}

// drawSelf draws an agent and the caller that acts for it: mostly the agent itself.
func (y *history) drawSelf(t *rapid.T) (caller, agent string) {
	agent = y.drawAgent(t, "agent")
	if seldom(t, "another calls") {
		return y.drawCaller(t), agent
	}
	return agent, agent
}

var agentStatuses = map[string]openintentv1.AgentStatus{
	"active":    openintentv1.AgentStatus_AGENT_STATUS_ACTIVE,
	"unhealthy": openintentv1.AgentStatus_AGENT_STATUS_UNHEALTHY,
	"draining":  openintentv1.AgentStatus_AGENT_STATUS_DRAINING,
	"dead":      openintentv1.AgentStatus_AGENT_STATUS_DEAD,
}

func (y *history) moveAgent(t *rapid.T) {
	caller, agent := y.drawSelf(t)
	next := pick(t, "next", []string{"active", "unhealthy", "draining", "dead"})
	expected := y.world.Move(caller, agent, next)
	_, err := y.as(caller).Agents.UpdateAgentStatus(y.ctx, &openintentv1.UpdateAgentStatusRequest{
		AgentId: agent, Status: agentStatuses[next],
	})
	y.came(t, "move agent", expected, err)
	y.wrote()
	y.checkSomewhere(t)
}

// deregister takes an agent out of service. When the call answers, the server has already posted its announcement on
// each affected channel.
func (y *history) deregister(t *rapid.T) {
	caller, agent := y.drawSelf(t)
	told, expected := y.world.Deregister(caller, agent)
	_, err := y.as(caller).Agents.DeregisterAgent(y.ctx, &openintentv1.DeregisterAgentRequest{AgentId: agent})
	y.came(t, "deregister", expected, err)
	for _, c := range told {
		y.tell(t, c, departed+agent)
	}
	y.wrote()
	for _, c := range told {
		y.check(t, c)
	}
}

// departed is how the model writes the payload of the server's announcement that an agent left.
const departed = "departed: "

// tell adds the server's own announcement to the model; it must be the newest message on the channel.
func (y *history) tell(t *rapid.T, c *model.Channel, payload string) {
	page, err := y.as(model.Operator).Messages.ListMessages(y.ctx, &openintentv1.ListMessagesRequest{
		ChannelId: c.ID, Limit: proto.Int32(1),
	})
	require.NoError(t, err)
	require.Len(t, page.GetMessages(), 1, "the channel must have an announcement: %s", payload)
	got := page.GetMessages()[0]
	y.same(t, y.world.Tell(c, payload, got.GetId(), got.GetCreatedAt().AsTime()), got)
	near(t, "the time of the server's announcement", y.world.Now, got.GetCreatedAt())
}

var intentStatuses = map[string]openintentv1.IntentStatus{
	"draft":                    openintentv1.IntentStatus_INTENT_STATUS_DRAFT,
	"active":                   openintentv1.IntentStatus_INTENT_STATUS_ACTIVE,
	"blocked":                  openintentv1.IntentStatus_INTENT_STATUS_BLOCKED,
	"completed":                openintentv1.IntentStatus_INTENT_STATUS_COMPLETED,
	"abandoned":                openintentv1.IntentStatus_INTENT_STATUS_ABANDONED,
	"suspended_awaiting_input": openintentv1.IntentStatus_INTENT_STATUS_SUSPENDED_AWAITING_INPUT,
}

// setStatus changes an intent's status: it suspends and resumes often and ends seldom.
func (y *history) setStatus(t *rapid.T) {
	caller, intent := y.drawAdmin(t)
	next := pick(t, "next", []string{
		"suspended_awaiting_input", "active", "suspended_awaiting_input", "active", "suspended_awaiting_input", "active",
		"blocked", "active", "draft", "completed", "abandoned",
	})
	version := intent.Version
	if seldom(t, "old version") {
		version--
	}
	expected := y.world.SetStatus(caller, intent, version, next)
	changed, err := y.as(caller).Intents.SetIntentStatus(y.ctx, &openintentv1.SetIntentStatusRequest{
		IntentId: intent.ID, ExpectedVersion: &version, Status: intentStatuses[next],
	})
	if y.came(t, "set status", expected, err) {
		require.Equal(t, intent.Version, changed.GetVersion())
		near(t, "the time of the change", y.world.Now, changed.GetUpdatedAt())
		y.world.Resumed(intent, y.world.Now, changed.GetUpdatedAt().AsTime())
	}
	y.wrote()
	y.checkSomewhere(t)
}

var permissions = map[model.Level]openintentv1.Permission{
	model.Read:  openintentv1.Permission_PERMISSION_READ,
	model.Write: openintentv1.Permission_PERMISSION_WRITE,
	model.Admin: openintentv1.Permission_PERMISSION_ADMIN,
}

var accessPolicies = map[string]openintentv1.AccessPolicy{
	"open":   openintentv1.AccessPolicy_ACCESS_POLICY_OPEN,
	"closed": openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED,
}

// changeAccess replaces the access control list or adds an entry.
func (y *history) changeAccess(t *rapid.T) {
	caller, intent := y.drawAdmin(t)
	if sometimes(t, "one entry") {
		entry := y.drawEntry(t)
		expected := y.world.Grant(caller, intent, entry)
		_, err := y.as(caller).Access.CreateAccessEntry(y.ctx, &openintentv1.CreateAccessEntryRequest{
			IntentId: intent.ID, PrincipalId: entry.Agent, Permission: permissions[entry.Level], ExpiresAt: stamp(entry.ExpiresAt),
		})
		y.came(t, "grant", expected, err)
	} else {
		policy := pick(t, "policy", []string{"open", "open", "closed"})
		request := &openintentv1.SetAccessControlRequest{IntentId: intent.ID, DefaultPolicy: accessPolicies[policy]}
		var entries []model.Entry
		for range below(t, "entries", 5) {
			entry := y.drawEntry(t)
			entries = append(entries, entry)
			request.Entries = append(request.Entries, &openintentv1.AccessEntryInput{
				PrincipalId: entry.Agent, Permission: permissions[entry.Level], ExpiresAt: stamp(entry.ExpiresAt),
			})
		}
		expected := y.world.SetAccess(caller, intent, policy, entries)
		_, err := y.as(caller).Access.SetAccessControl(y.ctx, request)
		y.came(t, "set access", expected, err)
	}
	y.wrote()
	y.checkSomewhere(t)
}

func (y *history) drawEntry(t *rapid.T) model.Entry {
	entry := model.Entry{
		Agent: y.drawAgent(t, "principal"),
		Level: pick(t, "level", []model.Level{model.Read, model.Read, model.Write, model.Admin}),
	}
	switch below(t, "expires", 10) {
	case 0:
		entry.ExpiresAt = y.world.Now
	case 1, 2, 3:
		entry.ExpiresAt = y.world.Now.Add(20 * time.Second)
	}
	return entry
}

func (y *history) assign(t *rapid.T) {
	caller, intent := y.drawAdmin(t)
	for _, i := range y.world.Intents {
		if i.Ended() && sometimes(t, "ended") {
			caller, intent = i.Creator, i
		}
	}
	agent := y.drawAgent(t, "assigned")
	assigned := sometimes(t, "assign")
	expected := y.world.Assign(caller, intent, agent, assigned)
	var err error
	if assigned {
		_, err = y.as(caller).Intents.AssignAgent(y.ctx, &openintentv1.AssignAgentRequest{IntentId: intent.ID, AgentId: agent})
	} else {
		_, err = y.as(caller).Intents.UnassignAgent(y.ctx, &openintentv1.UnassignAgentRequest{IntentId: intent.ID, AgentId: agent})
	}
	y.came(t, "assign", expected, err)
	y.wrote()
}

// heartbeats is the heartbeat interval that a coordinator promises, in seconds. No heartbeat ever comes, so the
// coordinator counts as silent after silence.
const (
	heartbeats = 3600
	silence    = 2*heartbeats*time.Second + time.Microsecond
)

// coordinate makes an agent an intent's coordinator, or ends its coordination.
func (y *history) coordinate(t *rapid.T) {
	caller, intent := y.drawAdmin(t)
	if sometimes(t, "end") && sometimes(t, "really") {
		if intent.Coordinator != "" && sometimes(t, "the coordinator") {
			caller = intent.Coordinator
		}
		expected := y.world.EndCoordination(caller, intent)
		_, err := y.as(caller).Coordinators.RemoveCoordinator(y.ctx, &openintentv1.RemoveCoordinatorRequest{IntentId: intent.ID})
		y.came(t, "end coordination", expected, err)
	} else {
		agent := y.drawAgent(t, "coordinator")
		expected := y.world.Coordinate(caller, intent, agent, silence)
		created, err := y.as(caller).Coordinators.CreateCoordinator(y.ctx, &openintentv1.CreateCoordinatorRequest{
			IntentId: &intent.ID, AgentId: &agent, HeartbeatIntervalSeconds: proto.Int32(heartbeats),
		})
		if y.came(t, "coordinate", expected, err) {
			intent.CoordinatorUntil = created.GetGrantedAt().AsTime().Add(silence)
		}
	}
	y.wrote()
}

func (y *history) endTask(t *rapid.T) {
	intent := y.drawIntent(t)
	task := taskOf(intent)
	found, err := y.as(model.Operator).Tasks.GetTask(y.ctx, &openintentv1.GetTaskRequest{TaskId: task})
	require.NoError(t, err)
	expected := y.world.EndTask(intent, task)
	_, err = y.as(model.Operator).Tasks.UpdateTask(y.ctx, &openintentv1.UpdateTaskRequest{
		TaskId: task, ExpectedVersion: &found.Version, Status: openintentv1.TaskStatus_TASK_STATUS_CANCELLED.Enum(),
	})
	y.came(t, "end task", expected, err)
	y.wrote()
	y.checkSomewhere(t)
}

func taskOf(intent *model.Intent) string {
	for task := range intent.Tasks {
		return task // there is one
	}
	return strings.Repeat("?", 8)
}
