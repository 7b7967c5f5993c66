package leases

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/agents"
	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/messaging"
	"openintent/tasks"
)

// patience bounds every wait of a test for something that must happen.
const patience = time.Minute

// house consists of the rooms up to this one on a fresh database, with a clock that the test moves, and one intent.
type house struct {
	url    string
	clock  *databasetest.Clock
	faults databasetest.CommitFaults
	rooms
	intent *openintentv1.Intent
}

// rooms are the domain's services on one opened database, as one replica has them.
type rooms struct {
	*Service
	db       *database.DB
	intents  *intents.Service
	agents   *agents.Service
	tasks    *tasks.Service
	channels *channels.Service
}

func eachHouse(t *testing.T, run func(t *testing.T, h *house)) {
	t.Helper()
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			h := &house{url: databasetest.URL(t, engine), clock: databasetest.NewClock()}
			h.rooms = h.replica(t)
			h.intent = h.newIntent(t)
			run(t, h)
		})
	}
}

// replica opens the house's database once more, where that is possible, and builds rooms on it.
func (h *house) replica(t *testing.T) rooms {
	t.Helper()
	db := databasetest.Open(t, database.Config{URL: h.url, Clock: h.clock.Now, Hooks: h.faults.Hooks()})
	r := rooms{db: db, intents: intents.New(intents.Config{DB: db}), agents: agents.New(agents.Config{DB: db})}
	r.tasks = tasks.New(tasks.Config{DB: db, Intents: r.intents})
	r.channels = channels.New(channels.Config{DB: db, Intents: r.intents, Tasks: r.tasks})
	talk := messaging.New(messaging.Config{
		DB: db, Intents: r.intents, Agents: r.agents, Channels: r.channels, LookAgain: time.Hour, Notifications: true,
	})
	r.Service = New(Config{DB: db, Intents: r.intents, Tasks: r.tasks, Messaging: talk, LookAgain: time.Hour})
	talk.Start()
	t.Cleanup(talk.Stop)
	return r
}

func as(agent string) context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: agent, KeyID: "key-" + agent, TraceID: traceID})
}

func asOperator() context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: caller.Operator, IsOperator: true, KeyID: "key"})
}

const traceID = "0123456789abcdef0123456789abcdef"

// newIntent makes an intent that the agent creator owns. It is open to everybody as long as nobody restricts it.
func (h *house) newIntent(t *testing.T) *openintentv1.Intent {
	t.Helper()
	intent, err := h.intents.CreateIntent(as("creator"), &openintentv1.CreateIntentRequest{
		Title: "T", Status: pointer(openintentv1.IntentStatus_INTENT_STATUS_ACTIVE),
	})
	require.NoError(t, err)
	return intent
}

// elsewhere runs something in another intent of the house.
func (h *house) elsewhere(t *testing.T, run func()) *openintentv1.Intent {
	t.Helper()
	here := h.intent
	h.intent = h.newIntent(t)
	run()
	there := h.intent
	h.intent = here
	return there
}

// admit closes the intent to all but those with these entries.
func (h *house) admit(t *testing.T, entries ...*openintentv1.AccessEntryInput) {
	t.Helper()
	_, err := h.intents.SetAccessControl(as("creator"), &openintentv1.SetAccessControlRequest{
		IntentId: h.intent.GetId(), DefaultPolicy: openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED, Entries: entries,
	})
	require.NoError(t, err)
}

func (h *house) setStatus(t *testing.T, status openintentv1.IntentStatus) {
	t.Helper()
	changed, err := h.intents.SetIntentStatus(as("creator"), &openintentv1.SetIntentStatusRequest{
		IntentId: h.intent.GetId(), Status: status, ExpectedVersion: pointer(h.intent.GetVersion()),
	})
	require.NoError(t, err)
	h.intent = changed
}

func (h *house) acquiring(scope string) *openintentv1.AcquireLeaseRequest {
	return &openintentv1.AcquireLeaseRequest{IntentId: h.intent.GetId(), Scope: scope}
}

func (h *house) hold(t *testing.T, agent, scope string) *openintentv1.Lease {
	t.Helper()
	lease, err := h.AcquireLease(as(agent), h.acquiring(scope))
	require.NoError(t, err)
	return lease
}

func (h *house) free(agent, leaseID string) error {
	_, err := h.ReleaseLease(as(agent), &openintentv1.ReleaseLeaseRequest{IntentId: h.intent.GetId(), LeaseId: leaseID})
	return err
}

func (h *house) renew(agent, leaseID string, seconds int32) (*openintentv1.Lease, error) {
	return h.RenewLease(as(agent), &openintentv1.RenewLeaseRequest{
		IntentId: h.intent.GetId(), LeaseId: leaseID, DurationSeconds: &seconds,
	})
}

// holders returns who holds what, as a list shows it.
func (h *house) holders(t *testing.T) map[string]string {
	t.Helper()
	listed, err := h.ListLeases(asOperator(), &openintentv1.ListLeasesRequest{IntentId: h.intent.GetId()})
	require.NoError(t, err)
	holders := make(map[string]string)
	for _, lease := range listed.GetLeases() {
		holders[lease.GetScope()] = lease.GetAgentId()
	}
	return holders
}

// log returns what the intent's log says about leases: type, agent and reason, oldest first.
func (h *house) log(t *testing.T) (lines []string) {
	t.Helper()
	response, err := h.intents.ListEvents(asOperator(), &openintentv1.ListEventsRequest{
		IntentId: h.intent.GetId(), AfterSequence: pointer(int64(0)), Limit: pointer(int32(1000)),
	})
	require.NoError(t, err)
	for _, event := range response.GetEvents() {
		if fields := event.GetPayload().GetFields(); fields["lease_id"] != nil {
			line := event.GetEventType() + " " + fields["agent_id"].GetStringValue()
			if reason := fields["reason"].GetStringValue(); reason != "" {
				line += " " + reason
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// told returns what the server has told former holders in _system: to whom, the scope and the reason, oldest first.
func (h *house) told(t *testing.T) (notices []string) {
	t.Helper()
	listed, err := h.channels.ListChannels(asOperator(), &openintentv1.ListChannelsRequest{IntentId: h.intent.GetId()})
	require.NoError(t, err)
	for _, channel := range listed.GetChannels() {
		require.Equal(t, channels.SystemName, channel.GetName())
		messages, err := h.messaging.ListMessages(asOperator(), &openintentv1.ListMessagesRequest{ChannelId: channel.GetId()})
		require.NoError(t, err)
		for _, m := range messages.GetMessages() {
			said := m.GetPayload().AsMap()
			require.Equal(t, "lease_ended", said["event"])
			require.Equal(t, m.GetTo(), said["agent_id"])
			require.NotEmpty(t, said["lease_id"])
			require.Positive(t, said["fence"])
			notices = append(notices, fmt.Sprint(m.GetTo(), " ", said["scope"], " ", said["reason"]))
		}
	}
	return notices
}

func requireReason(t *testing.T, err error, kind fault.Kind, reason string) fault.Fault {
	t.Helper()
	require.Error(t, err)
	refusal := fault.From(err)
	require.Equal(t, reason, refusal.Reason, "%v", err)
	require.Equal(t, kind, refusal.Kind)
	return *refusal
}

func pointer[T any](value T) *T { return &value }
