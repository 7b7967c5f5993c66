package channels

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"openintent/agents"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/tasks"
)

// Shorter names for the types that the tests use most.
type (
	channelMessage = openintentv1.Channel
	createRequest  = openintentv1.CreateChannelRequest
	optionsMessage = openintentv1.ChannelOptions
)

const (
	open     = openintentv1.ChannelStatus_CHANNEL_STATUS_OPEN
	closed   = openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED
	explicit = openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT
)

// house is the rooms up to channels on a fresh database with a clock that the test moves.
type house struct {
	db       *database.DB
	clock    *databasetest.Clock
	intents  *intents.Service
	agents   *agents.Service
	tasks    *tasks.Service
	channels *Service

	mutex    sync.Mutex
	closings []observedClosing
	changes  []Key
}

// observedClosing is one call of an OnClosing hook.
type observedClosing struct {
	ids []string
	at  time.Time
}

// eachEngine runs a test on each engine, with a fresh house.
func eachEngine(t *testing.T, run func(t *testing.T, h *house)) {
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) { run(t, newHouse(t, engine)) })
	}
}

func newHouse(t *testing.T, engine database.Engine) *house {
	h := &house{clock: databasetest.NewClock()}
	h.clock.Set(at(0))
	h.db = databasetest.Open(t, database.Config{URL: databasetest.URL(t, engine), Clock: h.clock.Now})
	logger := slog.New(slog.DiscardHandler)
	h.intents = intents.New(intents.Config{DB: h.db, Logger: logger})
	h.agents = agents.New(agents.Config{DB: h.db, Logger: logger})
	h.tasks = tasks.New(tasks.Config{DB: h.db, Logger: logger, Intents: h.intents})
	h.channels = h.replica()
	h.channels.OnClosing(func(_ *database.Tx, _ *intents.Head, closed []*Rules, at time.Time) error {
		ids := make([]string, len(closed))
		for i, r := range closed {
			if !r.ClosedAt.Equal(at) {
				return errors.New("the rules do not carry the closing time")
			}
			ids[i] = r.ID
		}
		h.mutex.Lock()
		defer h.mutex.Unlock()
		h.closings = append(h.closings, observedClosing{ids: ids, at: at})
		return nil
	})
	h.channels.OnChanged(func(key Key) {
		h.mutex.Lock()
		defer h.mutex.Unlock()
		h.changes = append(h.changes, key)
	})
	return h
}

// replica returns another channel room on the same database, with separate caches and bounds that tests can reach.
func (h *house) replica() *Service {
	return New(Config{DB: h.db, Intents: h.intents, Tasks: h.tasks, MaxMembers: 40})
}

// takeClosings returns the closings observed since it was last called.
func (h *house) takeClosings() []observedClosing {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	taken := h.closings
	h.closings = nil
	return taken
}

// takeChanges returns the channels that OnChanged reported since it was last called.
func (h *house) takeChanges() []Key {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	taken := h.changes
	h.changes = nil
	return taken
}

// as returns a context in which the agent calls.
func as(agent string) context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: agent, KeyID: "key", KeyRoles: []string{caller.AnyRole}})
}

// asOperator returns a context in which the operator calls.
func asOperator() context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: caller.Operator, IsOperator: true, KeyID: "key"})
}

func ptr[T any](v T) *T { return &v }

// intent makes an active intent without access control.
func (h *house) intent(t require.TestingT, creator string) string {
	intent, err := h.intents.CreateIntent(as(creator), &openintentv1.CreateIntentRequest{
		Title: "A goal", Status: ptr(openintentv1.IntentStatus_INTENT_STATUS_ACTIVE),
	})
	require.NoError(t, err)
	return intent.GetId()
}

// setIntentStatus moves an intent along its lifecycle.
func (h *house) setIntentStatus(t require.TestingT, intentID string, status openintentv1.IntentStatus) error {
	intent, err := h.intents.GetIntent(asOperator(), &openintentv1.GetIntentRequest{IntentId: intentID})
	require.NoError(t, err)
	_, err = h.intents.SetIntentStatus(asOperator(), &openintentv1.SetIntentStatusRequest{
		IntentId: intentID, ExpectedVersion: &intent.Version, Status: status,
	})
	return err
}

// closeAccess gives an intent a closed access control list with one entry per level.
func (h *house) closeAccess(t require.TestingT, intentID string) {
	_, err := h.intents.SetAccessControl(asOperator(), &openintentv1.SetAccessControlRequest{
		IntentId:      intentID,
		DefaultPolicy: openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED,
		Entries: []*openintentv1.AccessEntryInput{
			{PrincipalId: "reader", Permission: openintentv1.Permission_PERMISSION_READ},
			{PrincipalId: "writer", Permission: openintentv1.Permission_PERMISSION_WRITE},
			{PrincipalId: "admin", Permission: openintentv1.Permission_PERMISSION_ADMIN},
		},
	})
	require.NoError(t, err)
}

// task makes a task of an intent.
func (h *house) task(t require.TestingT, intentID string) string {
	task, err := h.tasks.CreateTask(asOperator(), &openintentv1.CreateTaskRequest{IntentId: intentID, Name: "A step"})
	require.NoError(t, err)
	return task.GetId()
}

// cancelTask ends a task.
func (h *house) cancelTask(t require.TestingT, taskID string) {
	task, err := h.tasks.GetTask(asOperator(), &openintentv1.GetTaskRequest{TaskId: taskID})
	require.NoError(t, err)
	_, err = h.tasks.UpdateTask(asOperator(), &openintentv1.UpdateTaskRequest{
		TaskId: taskID, ExpectedVersion: &task.Version, Status: ptr(openintentv1.TaskStatus_TASK_STATUS_CANCELLED),
	})
	require.NoError(t, err)
}

// create opens a channel as the given agent.
func (h *house) create(t require.TestingT, agent string, req *createRequest) *channelMessage {
	channel, err := h.channels.CreateChannel(as(agent), req)
	require.NoError(t, err)
	return channel
}

// get reads a channel as the operator.
func (h *house) get(t require.TestingT, id string) *channelMessage {
	channel, err := h.channels.GetChannel(asOperator(), &openintentv1.GetChannelRequest{ChannelId: id})
	require.NoError(t, err)
	return channel
}

// list reads an intent's channels as the operator.
func (h *house) list(t require.TestingT, intentID string, status *openintentv1.ChannelStatus) []*channelMessage {
	request := &openintentv1.ListChannelsRequest{IntentId: intentID, Status: status}
	list, err := h.channels.ListChannels(asOperator(), request)
	require.NoError(t, err)
	require.Nil(t, list.NextCursor)
	requirePages(t, h, request, list.GetChannels())
	return list.GetChannels()
}

func ids(channels []*channelMessage) []string {
	ids := make([]string, len(channels))
	for i, channel := range channels {
		ids[i] = channel.GetId()
	}
	return ids
}

// update sends an UpdateChannel with the given mask.
func (h *house) update(ctx context.Context, channel *channelMessage, paths ...string) (*channelMessage, error) {
	return h.channels.UpdateChannel(ctx, &openintentv1.UpdateChannelRequest{
		Channel: channel, UpdateMask: &fieldmaskpb.FieldMask{Paths: paths},
	})
}

// closeChannel closes a channel through the API.
func (h *house) closeChannel(ctx context.Context, id string) (*channelMessage, error) {
	return h.update(ctx, &channelMessage{Id: id, Status: closed}, "status")
}

func (h *house) addMembers(ctx context.Context, id string, members ...string) (*channelMessage, error) {
	return h.channels.AddChannelMembers(ctx, &openintentv1.AddChannelMembersRequest{ChannelId: id, Members: members})
}

func (h *house) removeMember(ctx context.Context, id, agent string) (*channelMessage, error) {
	return h.channels.RemoveChannelMember(ctx, &openintentv1.RemoveChannelMemberRequest{ChannelId: id, AgentId: agent})
}

func (h *house) deleteChannel(ctx context.Context, id string) error {
	response, err := h.channels.DeleteChannel(ctx, &openintentv1.DeleteChannelRequest{ChannelId: id})
	if err == nil && (response.GetStatus() != closed || response.GetChannelId() != id) {
		return errors.New("the deletion is not confirmed as the contract says")
	}
	return err
}

// depart registers and deregisters an agent, so that it departs now.
func (h *house) depart(t require.TestingT, agent string) {
	_, err := h.agents.RegisterAgent(as(agent), &openintentv1.RegisterAgentRequest{AgentId: &agent})
	require.NoError(t, err)
	_, err = h.agents.DeregisterAgent(as(agent), &openintentv1.DeregisterAgentRequest{AgentId: agent})
	require.NoError(t, err)
}

// message stands in for the messages' writer: it takes the next position and counts one message.
func (h *house) message(t require.TestingT, id string) time.Time {
	var sent time.Time
	h.write(t, id, func(tx *database.Tx, head *intents.Head, key Key) error {
		counts, err := LoadCounts(tx, []Key{key})
		if err != nil {
			return err
		}
		_, sent = head.Next()
		counts[key].Messages++
		counts[key].LastMessageAt = head.Now()
		return tx.Pipeline(CountStatements(tx, counts)...)
	})
	return sent
}

// write runs work on a channel whose intent's head is locked.
func (h *house) write(t require.TestingT, id string, work func(tx *database.Tx, head *intents.Head, key Key) error) {
	require.NoError(t, h.tryWrite(id, work))
}

func (h *house) tryWrite(id string, work func(tx *database.Tx, head *intents.Head, key Key) error) error {
	return h.db.Write(context.Background(), func(tx *database.Tx) error {
		key, err := h.channels.Locate(tx, id)
		if err != nil {
			return err
		}
		heads, err := intents.Lock(tx, key.IntentNo)
		if err != nil {
			return err
		}
		return work(tx, heads.Get(key.IntentNo), key)
	})
}

// onIntent runs work on an intent whose head is locked.
func (h *house) onIntent(intentID string, work func(tx *database.Tx, head *intents.Head) error) error {
	return h.db.Write(context.Background(), func(tx *database.Tx) error {
		intentNo, err := h.intents.Resolve(tx, intentID)
		if err != nil {
			return err
		}
		heads, err := intents.Lock(tx, intentNo)
		if err != nil {
			return err
		}
		return work(tx, heads.Get(intentNo))
	})
}

// stored reads a channel's rules without any cache.
func (h *house) stored(t require.TestingT, id string) *Rules {
	var rules *Rules
	h.write(t, id, func(tx *database.Tx, head *intents.Head, key Key) error {
		found, err := loadRules(tx, key.IntentNo, head.IntentID, "channel_no = ?", key.ChannelNo)
		rules = found[0]
		return err
	})
	return rules
}

// requirePages reads a list of channels in pages of two, and checks that they add up to the whole list.
func requirePages(t require.TestingT, h *house, request *openintentv1.ListChannelsRequest, whole []*channelMessage) {
	request.Limit = ptr(int32(2))
	var followed []*channelMessage
	for {
		page, err := h.channels.ListChannels(asOperator(), request)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.GetChannels()), 2)
		followed = append(followed, page.GetChannels()...)
		if request.Cursor = page.NextCursor; request.Cursor == nil {
			break
		}
	}
	require.Equal(t, ids(whole), ids(followed))
}
