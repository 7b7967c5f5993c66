package concerns

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/agents"
	"openintent/channels"
	"openintent/conversation"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/webhooks"
	"openintent/messaging"
	"openintent/reach"
	"openintent/subscriptions"
	"openintent/tasks"
)

// These are shorter names for the types that the tests use most.
type (
	wire     = openintentv1.Concern
	listed   = openintentv1.ListConcernsRequest
	kind     = openintentv1.ConcernKind
	sent     = openintentv1.Message
	sendForm = openintentv1.SendMessageRequest
)

const (
	isQuestion    = openintentv1.ConcernKind_CONCERN_KIND_QUESTION
	isObligation  = openintentv1.ConcernKind_CONCERN_KIND_OBLIGATION
	isUnanswered  = openintentv1.ConcernKind_CONCERN_KIND_UNANSWERED
	isUnreachable = openintentv1.ConcernKind_CONCERN_KIND_UNREACHABLE
	isDeadLetters = openintentv1.ConcernKind_CONCERN_KIND_DEAD_LETTERS
	isWebhook     = openintentv1.ConcernKind_CONCERN_KIND_WEBHOOK
	isBrake       = openintentv1.ConcernKind_CONCERN_KIND_BRAKE
	isHolderLost  = openintentv1.ConcernKind_CONCERN_KIND_HOLDER_LOST
)

// house consists of the rooms up to this one on a fresh database, with a clock that the test moves, and an intent of alice's with a channel.
type house struct {
	*Service
	engine        database.Engine
	clock         *databasetest.Clock
	db            *database.DB
	hooks         *seenStatements
	intents       *intents.Service
	agents        *agents.Service
	channels      *channels.Service
	tasks         *tasks.Service
	talk          *messaging.Service
	deeds         *conversation.Service
	subscriptions *subscriptions.Service
	here          *reach.Here
	intent        string
	channel       string
}

// eachHouse runs a test on a house for each engine.
func eachHouse(t *testing.T, run func(t *testing.T, h *house), bounded ...bounds) {
	t.Helper()
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			run(t, newHouse(t, engine, bounded...))
		})
	}
}

func newHouse(t *testing.T, engine database.Engine, bounded ...bounds) *house {
	h := &house{engine: engine, clock: databasetest.NewClock(), hooks: &seenStatements{}}
	h.db = databasetest.Open(t, database.Config{URL: databasetest.URL(t, engine), Clock: h.clock.Now, Hooks: h.hooks.hooks()})
	h.here = reach.New(reach.Config{DB: h.db})
	h.intents = intents.New(intents.Config{DB: h.db})
	h.agents = agents.New(agents.Config{DB: h.db, Reach: h.here})
	h.tasks = tasks.New(tasks.Config{DB: h.db, Intents: h.intents})
	h.channels = channels.New(channels.Config{DB: h.db, Intents: h.intents, Tasks: h.tasks})
	h.talk = messaging.New(messaging.Config{
		DB: h.db, Intents: h.intents, Agents: h.agents, Channels: h.channels, LookAgain: time.Hour, RecordEvery: time.Millisecond, Reach: h.here,
	})
	sender, err := webhooks.New(webhooks.Config{})
	require.NoError(t, err)
	h.subscriptions = subscriptions.New(subscriptions.Config{
		DB: h.db, Intents: h.intents, Agents: h.agents, Channels: h.channels, Messaging: h.talk, Webhooks: sender, LookAgain: time.Hour,
		RenewEvery: time.Hour,
	})
	h.here.Webhooks(h.subscriptions.ReadWebhooks)
	h.deeds = conversation.New(conversation.Config{DB: h.db, Intents: h.intents, Agents: h.agents, Channels: h.channels, Messaging: h.talk})
	cfg := Config{DB: h.db, Intents: h.intents, Channels: h.channels, Here: h.here}
	for _, b := range bounded {
		cfg.RowsAtMost, cfg.JudgedAtMost = b.rowsAtMost, b.takenAtMost
	}
	h.Service = New(cfg)
	h.talk.Start()
	t.Cleanup(h.talk.Stop)
	t.Cleanup(sender.Close)
	h.intent = h.newIntent(t, "alice")
	h.channel = h.newChannel(t, "alice", &openintentv1.CreateChannelRequest{IntentId: h.intent, Name: "desk"})
	return h
}

func as(agent string) context.Context { return asCaller(caller.Caller{Agent: agent}) }

func asCaller(c caller.Caller) context.Context {
	c.KeyID, c.KeyRoles = "key-"+c.Agent, []string{caller.AnyRole}
	return caller.NewContext(context.Background(), c)
}

func asOperator() context.Context {
	return asCaller(caller.Caller{Agent: caller.Operator, IsOperator: true})
}

func (h *house) newIntent(t *testing.T, by string) string {
	t.Helper()
	made, err := h.intents.CreateIntent(as(by), &openintentv1.CreateIntentRequest{
		Title: "T", Status: openintentv1.IntentStatus_INTENT_STATUS_ACTIVE.Enum(),
	})
	require.NoError(t, err)
	return made.GetId()
}

func (h *house) newChannel(t *testing.T, by string, form *openintentv1.CreateChannelRequest) string {
	t.Helper()
	made, err := h.channels.CreateChannel(as(by), form)
	require.NoError(t, err)
	return made.GetId()
}

// newChannelIn opens a channel in another intent.
func (h *house) newChannelIn(t *testing.T, by, intent string) string {
	t.Helper()
	return h.newChannel(t, by, &openintentv1.CreateChannelRequest{IntentId: intent, Name: "desk"})
}

// private opens a channel of members only, in the house's intent.
func (h *house) private(t *testing.T, by string, members ...string) string {
	t.Helper()
	return h.newChannel(t, by, &openintentv1.CreateChannelRequest{
		IntentId: h.intent, Name: "private", Members: append(members, by), MemberPolicy: openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT.Enum(),
	})
}

// register registers an agent, with a role unless that is empty.
func (h *house) register(t *testing.T, name, role string) {
	t.Helper()
	form := &openintentv1.RegisterAgentRequest{AgentId: &name}
	if role != "" {
		form.RoleId = &role
	}
	_, err := h.agents.UpsertAgent(as(name), form)
	require.NoError(t, err)
	h.clock.Advance(time.Millisecond)
}

// ask sends a request that waits for so long; without an end if that is 0.
func (h *house) ask(t *testing.T, from, to string, wait time.Duration, options ...func(*sendForm)) *sent {
	t.Helper()
	form := &sendForm{ChannelId: h.channel, To: &to, MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum()}
	if wait > 0 {
		form.ExpiresAt = timestamppb.New(h.clock.Now().Add(wait))
	}
	for _, apply := range options {
		apply(form)
	}
	m, err := h.talk.SendMessage(as(from), form)
	require.NoError(t, err)
	h.clock.Advance(time.Millisecond)
	return m
}

func on(channel string) func(*sendForm) { return func(f *sendForm) { f.ChannelId = channel } }

// takingTwo makes the request one that takes two answers.
func takingTwo(f *sendForm) {
	f.Collect = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"quorum": structpb.NewNumberValue(2)}})
}

func obliging(delegate string) func(*sendForm) {
	return func(f *sendForm) {
		f.Obligation = &openintentv1.Obligation{Blocks: openintentv1.Blocks_BLOCKS_HALTED}
		if delegate != "" {
			f.Obligation.Delegate = &delegate
		}
	}
}

func (h *house) reply(t *testing.T, from string, to *sent) {
	t.Helper()
	h.replyAs(t, from, to, nil)
}

// replyWithClaim claims a request, and answers it under the claim.
func (h *house) replyWithClaim(t *testing.T, from string, to *sent) {
	t.Helper()
	fence := h.claim(t, from, to)
	h.replyAs(t, from, to, &fence)
}

func (h *house) replyAs(t *testing.T, from string, to *sent, fence *int64) {
	t.Helper()
	_, err := h.talk.ReplyMessage(as(from), &openintentv1.ReplyMessageRequest{
		ChannelId: to.GetChannelId(), MessageId: to.GetId(), Payload: &structpb.Struct{}, Fence: fence,
	})
	require.NoError(t, err)
}

func (h *house) react(t *testing.T, from string, to *sent, signal string) {
	t.Helper()
	_, err := h.deeds.AddReaction(as(from), &openintentv1.AddReactionRequest{ChannelId: to.GetChannelId(), MessageId: to.GetId(), Signal: signal})
	require.NoError(t, err)
}

func (h *house) dispose(t *testing.T, from string, of *sent, word string, until time.Duration) {
	t.Helper()
	form := &openintentv1.SetDispositionRequest{ChannelId: of.GetChannelId(), MessageId: of.GetId(), Disposition: word}
	if until > 0 {
		form.Until = timestamppb.New(h.clock.Now().Add(until))
	}
	_, err := h.deeds.SetDisposition(as(from), form)
	require.NoError(t, err)
	h.clock.Advance(time.Millisecond)
}

func (h *house) claim(t *testing.T, by string, of *sent) int64 {
	t.Helper()
	claimed, err := h.deeds.ClaimMessage(as(by), &openintentv1.ClaimMessageRequest{ChannelId: of.GetChannelId(), MessageId: of.GetId()})
	require.NoError(t, err)
	return claimed.GetFence()
}

// shut closes a channel, as the operator.
func (h *house) shut(t *testing.T, channel string) {
	t.Helper()
	_, err := h.channels.UpdateChannel(asOperator(), &openintentv1.UpdateChannelRequest{
		Channel:    &openintentv1.Channel{Id: channel, Status: openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"status"}},
	})
	require.NoError(t, err)
}

// expire stores what time has decided.
func (h *house) expire(t *testing.T) {
	t.Helper()
	require.NoError(t, h.talk.Sweep(context.Background()))
}

// all lists all concerns of a caller, by pages of a size.
func (h *house) all(t *testing.T, who context.Context, form *listed, size int32) (all []*wire) { //nolint:revive // t comes first in tests
	t.Helper()
	form = proto.CloneOf(form)
	form.Limit = &size
	for pages := 0; ; pages++ {
		require.Less(t, pages, 1000)
		page, err := h.ListConcerns(who, form)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.GetConcerns()), int(size))
		all = append(all, page.GetConcerns()...)
		if page.NextCursor == nil {
			return all
		}
		form.Cursor = page.NextCursor
	}
}

// of lists the concerns of a kind that a caller sees.
func (h *house) of(t *testing.T, who context.Context, k kind) []*wire { //nolint:revive // t comes first in tests
	t.Helper()
	return h.all(t, who, &listed{Kind: k}, 100)
}

// only requires that a caller has one concern of a kind, and returns it.
func (h *house) only(t *testing.T, who context.Context, k kind) *wire { //nolint:revive // t comes first in tests
	t.Helper()
	found := h.of(t, who, k)
	require.Len(t, found, 1)
	require.Equal(t, k, found[0].GetKind())
	return found[0]
}

// none requires that a caller has no concern of a kind.
func (h *house) none(t *testing.T, who context.Context, k kind) { //nolint:revive // t comes first in tests
	t.Helper()
	require.Empty(t, h.of(t, who, k))
}

// messagesOf are the messages that concerns name.
func messagesOf(concerns []*wire) (ids []string) {
	for _, one := range concerns {
		ids = append(ids, one.GetMessageId())
	}
	return ids
}

// words are the actions as clients see them in JSON.
func words(one *wire) (words []string) {
	for _, action := range one.GetActions() {
		words = append(words, action.String()[len("CONCERN_ACTION_"):])
	}
	return words
}

func pointer[T any](value T) *T { return &value }
