package subscriptions

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/agents"
	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/webhooks"
	"openintent/messaging"
	"openintent/tasks"
)

// These are shorter names for the types that the tests use most.
type (
	wireMessage  = openintentv1.Message
	wireDelivery = openintentv1.SubscriptionDelivery
	wireOwn      = openintentv1.SubscribeResponse
	createInput  = openintentv1.CreateSubscriptionRequest
)

const (
	request = openintentv1.MessageType_MESSAGE_TYPE_REQUEST
	notify  = openintentv1.MessageType_MESSAGE_TYPE_NOTIFY
)

// patience bounds every wait of a test for something that must happen.
const patience = time.Minute

// afterCommits is so long that what was stored before certainly lies before a subscription that is created afterwards.
const afterCommits = 2 * time.Minute

// house consists of the rooms up to this one on a fresh database, with a clock that the test controls.
type house struct {
	url   string
	clock *databasetest.Clock
	// faults decides the outcomes of the first replica's commits.
	faults *failing
	rooms
}

// rooms are the domain's services on one opened database, as one replica has them.
type rooms struct {
	db            *database.DB
	intents       *intents.Service
	agents        *agents.Service
	channels      *channels.Service
	messaging     *messaging.Service
	subscriptions *Service
}

// settings change how a house is built.
type settings struct {
	database  database.Config
	messaging messaging.Config
	room      Config
}

type option func(*settings)

// restless makes everyone who waits look again often. Tests use it when they move the clock or when wake-ups do not arrive.
func restless(s *settings) {
	s.messaging.LookAgain, s.room.LookAgain = 5*time.Millisecond, 5*time.Millisecond
}

// eachEngine runs a test on a house for each engine, in parallel with other tests.
func eachEngine(t *testing.T, run func(t *testing.T, h *house), options ...option) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			run(t, newHouse(t, engine, options...))
		})
	}
}

func newHouse(t *testing.T, engine database.Engine, options ...option) *house {
	h := &house{url: databasetest.URL(t, engine), clock: databasetest.NewClock(), faults: new(failing)}
	h.rooms = h.replica(t, append([]option{h.faults.inject}, options...)...)
	return h
}

// replica opens the house's database once more, where that is possible, and builds rooms on it.
func (h *house) replica(t *testing.T, options ...option) rooms {
	s := settings{
		database:  database.Config{URL: h.url, Clock: h.clock.Now},
		messaging: messaging.Config{LookAgain: time.Hour},
		room:      Config{LookAgain: time.Hour, RenewEvery: time.Hour},
	}
	for _, apply := range options {
		apply(&s)
	}
	r := rooms{db: databasetest.Open(t, s.database)}
	r.intents = intents.New(intents.Config{DB: r.db})
	r.agents = agents.New(agents.Config{DB: r.db})
	work := tasks.New(tasks.Config{DB: r.db, Intents: r.intents})
	r.channels = channels.New(channels.Config{DB: r.db, Intents: r.intents, Tasks: work})
	s.messaging.DB, s.messaging.Intents, s.messaging.Agents, s.messaging.Channels = r.db, r.intents, r.agents, r.channels
	r.messaging = messaging.New(s.messaging)
	if s.room.Webhooks == nil {
		sender, err := webhooks.New(webhooks.Config{})
		require.NoError(t, err)
		s.room.Webhooks = sender
	}
	s.room.DB, s.room.Intents, s.room.Agents, s.room.Channels = r.db, r.intents, r.agents, r.channels
	s.room.Messaging = r.messaging
	r.subscriptions = New(s.room)
	r.messaging.Start()
	t.Cleanup(r.messaging.Stop)
	r.subscriptions.Start()
	t.Cleanup(r.subscriptions.Stop)
	return r
}

// failing decides the outcomes of a database's commits. Without instructions, they succeed.
type failing struct {
	mutex         sync.Mutex
	before, after func() error
}

func (f *failing) inject(s *settings) {
	s.database.Hooks = database.Hooks{
		BeforeCommit: func(ctx context.Context) error { return f.run(ctx, &f.before) },
		AfterCommit:  func(ctx context.Context) error { return f.run(ctx, &f.after) },
	}
}

// run applies an instruction to the commits of calls; it leaves the server's background work alone.
func (f *failing) run(ctx context.Context, instruction *func() error) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if _, calling := caller.From(ctx); *instruction == nil || !calling {
		return nil
	}
	return (*instruction)()
}

func (f *failing) set(before, after func() error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.before, f.after = before, after
}

// nth returns an instruction that fails once, at the nth commit.
func nth(n int) func() error {
	return func() error {
		if n--; n == 0 {
			return databasetest.ErrInjected
		}
		return nil
	}
}

// as returns a context in which the agent calls.
func as(agent string) context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: agent, KeyID: "key", KeyRoles: []string{caller.AnyRole}})
}

// asOperator returns a context in which the operator calls.
func asOperator() context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: caller.Operator, IsOperator: true, KeyID: "key"})
}

func (h *house) in(wait time.Duration) *timestamppb.Timestamp {
	return timestamppb.New(h.clock.Now().Add(wait))
}

func ptr[T any](v T) *T { return &v }

// eventually waits until other goroutines make a condition true.
func eventually(t require.TestingT, condition func() bool, message string) {
	require.Eventually(t, condition, patience, time.Millisecond, message)
}

// intent creates an active intent without access control.
func (r rooms) intent(t require.TestingT) string {
	intent, err := r.intents.CreateIntent(as("creator"), &openintentv1.CreateIntentRequest{
		Title: "A goal", Status: ptr(openintentv1.IntentStatus_INTENT_STATUS_ACTIVE),
	})
	require.NoError(t, err)
	return intent.GetId()
}

// complete ends an intent.
func (r rooms) complete(t require.TestingT, id string) {
	found, err := r.intents.GetIntent(asOperator(), &openintentv1.GetIntentRequest{IntentId: id})
	require.NoError(t, err)
	_, err = r.intents.SetIntentStatus(asOperator(), &openintentv1.SetIntentStatusRequest{
		IntentId: id, ExpectedVersion: &found.Version, Status: openintentv1.IntentStatus_INTENT_STATUS_COMPLETED,
	})
	require.NoError(t, err)
}

// open creates a channel for everyone in an intent.
func (r rooms) open(t require.TestingT, intentID, name string) string {
	channel, err := r.channels.CreateChannel(as("creator"), &openintentv1.CreateChannelRequest{IntentId: intentID, Name: name})
	require.NoError(t, err)
	return channel.GetId()
}

func (r rooms) closeChannel(t require.TestingT, id string) {
	_, err := r.channels.UpdateChannel(asOperator(), &openintentv1.UpdateChannelRequest{
		Channel:    &openintentv1.Channel{Id: id, Status: openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"status"}},
	})
	require.NoError(t, err)
}

// admit closes an intent to all but the given agents, which get read access.
func (r rooms) admit(t require.TestingT, intentID string, agentIDs ...string) {
	entries := make([]*openintentv1.AccessEntryInput, len(agentIDs))
	for i, agent := range agentIDs {
		entries[i] = &openintentv1.AccessEntryInput{PrincipalId: agent, Permission: openintentv1.Permission_PERMISSION_READ}
	}
	_, err := r.intents.SetAccessControl(asOperator(), &openintentv1.SetAccessControlRequest{
		IntentId: intentID, DefaultPolicy: openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED, Entries: entries,
	})
	require.NoError(t, err)
}

func (r rooms) register(t require.TestingT, agent, role string) {
	_, err := r.agents.UpsertAgent(as(agent), &openintentv1.RegisterAgentRequest{AgentId: &agent, RoleId: &role})
	require.NoError(t, err)
}

func (r rooms) deregister(t require.TestingT, agent string) {
	_, err := r.agents.DeregisterAgent(as(agent), &openintentv1.DeregisterAgentRequest{AgentId: agent})
	require.NoError(t, err)
}

// content returns a payload with one text.
func content(text string) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{"text": structpb.NewStringValue(text)}}
}

// textOf returns the text of a payload that content made.
func textOf(m *wireMessage) string { return m.GetPayload().GetFields()["text"].GetStringValue() }

// send sends a notify.
func (r rooms) send(t require.TestingT, sender, channelID, to, text string) *wireMessage {
	return r.sendAs(t, sender, &openintentv1.SendMessageRequest{
		ChannelId: channelID, To: &to, MessageType: ptr(notify), Payload: content(text),
	})
}

// sendAside is send for a goroutine that a test started.
func (r rooms) sendAside(t assert.TestingT, sender, channelID, to, text string) {
	_, err := r.messaging.SendMessage(as(sender), &openintentv1.SendMessageRequest{
		ChannelId: channelID, To: &to, MessageType: ptr(notify), Payload: content(text),
	})
	assert.NoError(t, err)
}

// asks sends a request and does not wait for the answer.
func (r rooms) asks(t require.TestingT, sender, channelID, to, text string) *wireMessage {
	return r.sendAs(t, sender, &openintentv1.SendMessageRequest{
		ChannelId: channelID, To: &to, MessageType: ptr(request), Payload: content(text),
	})
}

func (r rooms) sendAs(t require.TestingT, sender string, req *openintentv1.SendMessageRequest) *wireMessage {
	m, err := r.messaging.SendMessage(as(sender), req)
	require.NoError(t, err)
	return m
}

// subscribe creates a subscription of an agent.
func (r rooms) subscribe(t require.TestingT, agent string, req *createInput) *openintentv1.Subscription {
	sub, err := r.subscriptions.CreateSubscription(as(agent), req)
	require.NoError(t, err)
	return sub
}

func (r rooms) get(t require.TestingT, sub *openintentv1.Subscription) *openintentv1.Subscription {
	found, err := r.subscriptions.GetSubscription(asOperator(), &openintentv1.GetSubscriptionRequest{SubscriptionId: sub.GetId()})
	require.NoError(t, err)
	return found
}

func (r rooms) tryFetch(ctx context.Context, sub *openintentv1.Subscription, limit int32) ([]*wireDelivery, error) {
	response, err := r.subscriptions.FetchDeliveries(ctx, &openintentv1.FetchDeliveriesRequest{
		SubscriptionId: sub.GetId(), Limit: &limit,
	})
	return response.GetDeliveries(), err
}

// fetch fetches as the subscriber.
func (r rooms) fetch(t require.TestingT, sub *openintentv1.Subscription) []*wireDelivery {
	found, err := r.tryFetch(as(sub.GetSubscriberId()), sub, 1000)
	require.NoError(t, err)
	return found
}

// fetchPatience is how long fetchMeanwhile waits.
const fetchPatience = 10 * time.Minute

// fetchMeanwhile fetches as the subscriber, and waits for deliveries meanwhile.
func (r rooms) fetchMeanwhile(t *testing.T, sub *openintentv1.Subscription) <-chan []*wireDelivery {
	found := make(chan []*wireDelivery, 1)
	go func() {
		response, err := r.subscriptions.FetchDeliveries(as(sub.GetSubscriberId()), &openintentv1.FetchDeliveriesRequest{
			SubscriptionId: sub.GetId(), WaitSeconds: ptr(fetchPatience.Seconds()),
		})
		if err != nil {
			t.Error(err)
		}
		found <- response.GetDeliveries()
	}()
	return found
}

func (r rooms) tryAcknowledge(sub *openintentv1.Subscription, through int64, numbers ...int64) (*openintentv1.Subscription, error) {
	req := &openintentv1.AcknowledgeDeliveriesRequest{SubscriptionId: sub.GetId(), Numbers: numbers}
	if through != 0 {
		req.Through = &through
	}
	return r.subscriptions.AcknowledgeDeliveries(as(sub.GetSubscriberId()), req)
}

func (r rooms) acknowledge(t require.TestingT, sub *openintentv1.Subscription, numbers ...int64) *openintentv1.Subscription {
	found, err := r.tryAcknowledge(sub, 0, numbers...)
	require.NoError(t, err)
	return found
}

func (r rooms) deadLetters(t require.TestingT, sub *openintentv1.Subscription) []*openintentv1.DeadLetter {
	response, err := r.subscriptions.ListDeadLetters(as(sub.GetSubscriberId()),
		&openintentv1.ListDeadLettersRequest{SubscriptionId: sub.GetId()})
	require.NoError(t, err)
	return response.GetDeadLetters()
}

func (r rooms) redrive(sub *openintentv1.Subscription, numbers ...int64) (*openintentv1.Subscription, error) {
	return r.subscriptions.RedriveDeadLetters(as(sub.GetSubscriberId()),
		&openintentv1.RedriveDeadLettersRequest{SubscriptionId: sub.GetId(), Numbers: numbers})
}

func (r rooms) sweep(t require.TestingT) {
	require.NoError(t, r.subscriptions.Sweep(context.Background()))
}

// rows counts the rows of a table that meet a condition.
func (r rooms) rows(t require.TestingT, table, condition string, args ...any) int {
	count := 0
	err := r.db.ReadStatement(context.Background(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL:  "SELECT count(*) FROM " + table + " WHERE " + condition,
			Args: args,
			Scan: func(row database.Row) error { return row.Scan(&count) },
		})
	})
	require.NoError(t, err)
	return count
}

// described formats deliveries as number:text, and events as number:!type.
func described(deliveries []*wireDelivery) []string {
	texts := make([]string, len(deliveries))
	for i, d := range deliveries {
		texts[i] = describe(d)
	}
	return texts
}

func describe(d *wireDelivery) string {
	if d.GetMessage() == nil {
		return fmt.Sprintf("%d:!%s", d.GetNumber(), d.GetEvent().GetEventType())
	}
	return fmt.Sprintf("%d:%s", d.GetNumber(), textOf(d.GetMessage()))
}
