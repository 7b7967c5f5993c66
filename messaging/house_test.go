package messaging

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

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
	"openintent/messaging/wake"
	"openintent/tasks"
)

// Shorter names for what the tests write most.
type (
	wireMessage   = openintentv1.Message
	sendRequest   = openintentv1.SendMessageRequest
	byNameRequest = openintentv1.SendMessageByNameRequest
	replyRequest  = openintentv1.ReplyMessageRequest
	askRequest    = openintentv1.AskRequest
	askAllRequest = openintentv1.AskAllRequest
	awaitRequest  = openintentv1.AwaitResponsesRequest
	listRequest   = openintentv1.ListMessagesRequest
	createRequest = openintentv1.CreateChannelRequest
	optionsInput  = openintentv1.ChannelOptions
)

const (
	request   = openintentv1.MessageType_MESSAGE_TYPE_REQUEST
	response  = openintentv1.MessageType_MESSAGE_TYPE_RESPONSE
	notify    = openintentv1.MessageType_MESSAGE_TYPE_NOTIFY
	broadcast = openintentv1.MessageType_MESSAGE_TYPE_BROADCAST

	delivered = openintentv1.MessageStatus_MESSAGE_STATUS_DELIVERED
	read      = openintentv1.MessageStatus_MESSAGE_STATUS_READ
	expired   = openintentv1.MessageStatus_MESSAGE_STATUS_EXPIRED

	completed = openintentv1.IntentStatus_INTENT_STATUS_COMPLETED
	suspended = openintentv1.IntentStatus_INTENT_STATUS_SUSPENDED_AWAITING_INPUT
)

// aMessageID has the form of a message's id, and names none.
const aMessageID = "msg_01ARZ3NDEKTSV4RRFFQ69G5FAV"

// patience bounds every wait of a test for something that must happen.
const patience = time.Minute

// house is the rooms up to messaging on a fresh database, with a clock of the test's own.
type house struct {
	url   string
	clock *databasetest.Clock
	rooms
}

// rooms are the domain's services on one opened database, as one replica has them.
type rooms struct {
	db        *database.DB
	intents   *intents.Service
	agents    *agents.Service
	tasks     *tasks.Service
	channels  *channels.Service
	messaging *Service
}

// eachEngine runs a test on a house of each engine, beside other tests.
func eachEngine(t *testing.T, run func(t *testing.T, h *house), options ...option) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			run(t, newHouse(t, engine, options...))
		})
	}
}

// option changes how a house is built.
type option func(*database.Config, *Config)

// restless lets whoever waits look again often, for tests that move the clock or leave out wake-ups. Without it only
// wake-ups end a wait, so that the tests notice a missing one.
func restless(_ *database.Config, cfg *Config) { cfg.LookAgain = 5 * time.Millisecond }

func withHooks(hooks database.Hooks) option {
	return func(cfg *database.Config, _ *Config) { cfg.Hooks = hooks }
}

func newHouse(t *testing.T, engine database.Engine, options ...option) *house {
	h := &house{url: databasetest.URL(t, engine), clock: databasetest.NewClock()}
	h.rooms = h.replica(t, options...)
	return h
}

// replica opens the house's database once more, where that is possible, and puts rooms on it.
func (h *house) replica(t *testing.T, options ...option) rooms {
	opened := database.Config{URL: h.url, Clock: h.clock.Now}
	cfg := Config{LookAgain: time.Hour, RecordEvery: time.Hour, Refusal: refusalForm} // a test says when offers are written
	for _, apply := range options {
		apply(&opened, &cfg)
	}
	r := rooms{db: databasetest.Open(t, opened)}
	logger := slog.New(slog.DiscardHandler)
	r.intents = intents.New(intents.Config{DB: r.db, Logger: logger})
	r.agents = agents.New(agents.Config{DB: r.db, Logger: logger})
	r.tasks = tasks.New(tasks.Config{DB: r.db, Logger: logger, Intents: r.intents})
	r.channels = channels.New(channels.Config{DB: r.db, Logger: logger, Intents: r.intents, Tasks: r.tasks})
	cfg.DB, cfg.Intents, cfg.Agents, cfg.Channels = r.db, r.intents, r.agents, r.channels
	r.messaging = New(cfg)
	r.messaging.Start()
	t.Cleanup(r.messaging.Stop)
	return r
}

// as is a context in which the agent calls.
func as(agent string) context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: agent, KeyID: "key", KeyRoles: []string{caller.AnyRole}})
}

// asOperator is a context in which the operator calls.
func asOperator() context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: caller.Operator, IsOperator: true, KeyID: "key"})
}

func ptr[T any](v T) *T { return &v }

// content makes a payload of one text.
func content(text string) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{"text": structpb.NewStringValue(text)}}
}

// textOf gives the text of a payload made by content.
func textOf(m *wireMessage) string { return m.GetPayload().GetFields()["text"].GetStringValue() }

func textsOf(messages []*wireMessage) []string {
	texts := make([]string, len(messages))
	for i, m := range messages {
		texts[i] = textOf(m)
	}
	return texts
}

func (h *house) in(wait time.Duration) *timestamppb.Timestamp {
	return timestamppb.New(h.clock.Now().Add(wait))
}

// eventually waits for a condition that other goroutines bring about.
func eventually(t require.TestingT, condition func() bool, message string) {
	require.Eventually(t, condition, patience, time.Millisecond, message)
}

// intent makes an active intent without access control.
func (h *house) intent(t require.TestingT) string {
	intent, err := h.intents.CreateIntent(as("creator"), &openintentv1.CreateIntentRequest{
		Title: "A goal", Status: ptr(openintentv1.IntentStatus_INTENT_STATUS_ACTIVE),
	})
	require.NoError(t, err)
	return intent.GetId()
}

// setStatus moves an intent along its lifecycle.
func (h *house) setStatus(t require.TestingT, intentID string, status openintentv1.IntentStatus) {
	intent, err := h.intents.GetIntent(asOperator(), &openintentv1.GetIntentRequest{IntentId: intentID})
	require.NoError(t, err)
	_, err = h.intents.SetIntentStatus(asOperator(), &openintentv1.SetIntentStatusRequest{
		IntentId: intentID, ExpectedVersion: &intent.Version, Status: status,
	})
	require.NoError(t, err)
}

// admit closes an intent to all but the given agents, which get read access.
func (h *house) admit(t require.TestingT, intentID string, agentIDs ...string) {
	entries := make([]*openintentv1.AccessEntryInput, len(agentIDs))
	for i, agent := range agentIDs {
		entries[i] = &openintentv1.AccessEntryInput{PrincipalId: agent, Permission: openintentv1.Permission_PERMISSION_READ}
	}
	_, err := h.intents.SetAccessControl(asOperator(), &openintentv1.SetAccessControlRequest{
		IntentId: intentID, DefaultPolicy: openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED, Entries: entries,
	})
	require.NoError(t, err)
}

// create opens a channel as the intent's creator.
func (h *house) create(t require.TestingT, req *createRequest) string {
	if req.IntentId == "" {
		req.IntentId = h.intent(t)
	}
	if req.Name == "" {
		req.Name = "talk"
	}
	channel, err := h.channels.CreateChannel(as("creator"), req)
	require.NoError(t, err)
	return channel.GetId()
}

// open opens a channel for everyone on a new intent.
func (h *house) open(t require.TestingT) string { return h.create(t, &createRequest{}) }

// explicit opens a channel for the given members on a new intent.
func (h *house) explicit(t require.TestingT, members ...string) string {
	return h.create(t, &createRequest{
		MemberPolicy: ptr(openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT), Members: members,
	})
}

// channel reads a channel as the operator.
func (h *house) channel(t require.TestingT, id string) *openintentv1.Channel {
	channel, err := h.channels.GetChannel(asOperator(), &openintentv1.GetChannelRequest{ChannelId: id})
	require.NoError(t, err)
	return channel
}

func (h *house) closeChannel(t require.TestingT, id string) {
	_, err := h.channels.UpdateChannel(asOperator(), &openintentv1.UpdateChannelRequest{
		Channel:    &openintentv1.Channel{Id: id, Status: openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"status"}},
	})
	require.NoError(t, err)
}

func (h *house) deleteChannel(t require.TestingT, id string) {
	_, err := h.channels.DeleteChannel(asOperator(), &openintentv1.DeleteChannelRequest{ChannelId: id})
	require.NoError(t, err)
}

func (h *house) addMember(t require.TestingT, id, agent string) {
	_, err := h.channels.AddChannelMembers(asOperator(), &openintentv1.AddChannelMembersRequest{
		ChannelId: id, Members: []string{agent},
	})
	require.NoError(t, err)
}

func (h *house) removeMember(t require.TestingT, id, agent string) {
	_, err := h.channels.RemoveChannelMember(asOperator(), &openintentv1.RemoveChannelMemberRequest{
		ChannelId: id, AgentId: agent,
	})
	require.NoError(t, err)
}

// register registers an agent, with a role unless that is empty, or gives one that is present the role.
func (h *house) register(t require.TestingT, agent, role string) {
	_, err := h.agents.UpsertAgent(as(agent), &openintentv1.RegisterAgentRequest{AgentId: &agent, RoleId: &role})
	require.NoError(t, err)
}

func (h *house) deregister(t require.TestingT, agent string) {
	_, err := h.agents.DeregisterAgent(as(agent), &openintentv1.DeregisterAgentRequest{AgentId: agent})
	require.NoError(t, err)
}

// drain lets an agent say that it is leaving.
func (h *house) drain(t require.TestingT, agent string) {
	draining := openintentv1.AgentStatus_AGENT_STATUS_DRAINING
	_, err := h.agents.Heartbeat(as(agent), &openintentv1.HeartbeatRequest{AgentId: agent, Status: &draining})
	require.NoError(t, err)
}

// send sends as the agent; a request without a payload gets an empty one.
func (h *house) rows(t require.TestingT, table, condition string, args ...any) int {
	count := 0
	err := h.db.ReadStatement(context.Background(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL:  "SELECT count(*) FROM " + table + " WHERE " + condition,
			Args: args,
			Scan: func(row database.Row) error { return row.Scan(&count) },
		})
	})
	require.NoError(t, err)
	return count
}

func (h *house) sweep(t require.TestingT) {
	require.NoError(t, h.messaging.Sweep(context.Background()))
}

// key gives the numbers of a channel.
func (h *house) key(t require.TestingT, channelID string) channels.Key {
	key, err := h.messaging.locate(context.Background(), channelID)
	require.NoError(t, err)
	return key
}

var errInjected = errors.New("injected")

// configOfDatabase keeps options short to write.
type configOfDatabase = database.Config

// cmpMessages tells in which fields two messages differ.
func cmpMessages(one, other *wireMessage) (differing []string) {
	fields := one.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		a, b := one.ProtoReflect().Get(fields.Get(i)), other.ProtoReflect().Get(fields.Get(i))
		if one.ProtoReflect().Has(fields.Get(i)) != other.ProtoReflect().Has(fields.Get(i)) || !a.Equal(b) {
			differing = append(differing, string(fields.Get(i).Name()))
		}
	}
	return differing
}

// listensFor reports whether anybody listens under a topic.
func (h *house) listensFor(topic any) bool { return len(h.messaging.hub.Heard([]any{topic})) > 0 }

// wasWoken reports whether the listener was woken since it was asked last.
func wasWoken(l *wake.Listener) bool {
	select {
	case <-l.Woken():
		return true
	default:
		return false
	}
}
