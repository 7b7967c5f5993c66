package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"openintent/e2e/harness"
	"openintent/e2e/model"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

// mustClaim are the outcomes without which the histories of claims prove little.
var mustClaim = map[string]string{
	"claim":   "OK CLAIMED ANSWERED OWN_REQUEST MESSAGE_NOT_FOUND MESSAGE_EXPIRED MESSAGE_DELETED",
	"renew":   "OK CLAIM_LOST",
	"release": "OK CLAIM_LOST MESSAGE_NOT_FOUND",
	"answer":  "OK ANSWERED CLAIM_REQUIRED CLAIM_LOST MESSAGE_NOT_FOUND OWN_REQUEST MESSAGE_EXPIRED MESSAGE_DELETED",
	"expire":  "OK",
}

const (
	asker  = "asker"
	worker = "worker" // a role
)

// workers hold the role of workers.
var workers = []string{"ann", "bob", "cho"}

// TestClaimsAreAsTheModelSays runs random histories of agents that claim requests and notes, renew, release and answer. Each answer and
// each refusal must be the model's, a request must take exactly the answers that it asks for, and the fences must rise. On PostgreSQL
// two servers take the calls in turn.
func TestClaimsAreAsTheModelSays(t *testing.T) {
	databasetest.SearchWith(t, map[string]int{"rapid.checks": historiesInARound, "rapid.steps": stepsOfAHistory})
	reached := make(reached)
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			clock := databasetest.NewClock()
			options := harness.Options{URL: databasetest.URL(t, engine), Configure: func(cfg *server.Config) {
				cfg.Clock, cfg.LookAgain, cfg.Retention, cfg.LogLevel = clock.Now, 10*time.Millisecond, farFuture, "error"
			}}
			servers := []*harness.Server{harness.Start(t, options)}
			if engine == database.PostgreSQL {
				servers = append(servers, harness.Start(t, options))
			}
			for _, agent := range workers {
				_, err := servers[0].As(agent).Agents.RegisterAgent(t.Context(), &openintentv1.RegisterAgentRequest{
					AgentId: &agent, RoleId: proto.String(worker), HeartbeatConfig: &openintentv1.HeartbeatConfig{
						IntervalSeconds: proto.Int32(5e8), UnhealthyAfterSeconds: proto.Int32(1e9), DeadAfterSeconds: proto.Int32(2e9),
					},
				})
				require.NoError(t, err)
			}
			clock.Advance(tick)
			for round := 0; !t.Failed() && (round < leastRounds || round < mostRounds && len(reached.missing(mustClaim)) > 0); round++ {
				rapid.Check(t, func(t *rapid.T) { newClaiming(t, servers, clock, reached).run(t) })
			}
		})
	}
	if t.Failed() {
		return
	}
	t.Logf("what was reached, and how often:\n%s", reached)
	require.Empty(t, reached.missing(mustClaim), "the generator does not reach these any more")
}

// claiming is one random history of claims: the server and the model side by side.
type claiming struct {
	ctx     context.Context
	clock   *databasetest.Clock
	reached reached
	claims  *model.Claims
	channel string
	callers map[string][]*harness.Caller
	calls   int
	// fences are those of all claims that ever were.
	fences []int64
}

func newClaiming(t *rapid.T, servers []*harness.Server, clock *databasetest.Clock, reached reached) *claiming {
	y := &claiming{
		ctx: t.Context(), clock: clock, reached: reached, callers: make(map[string][]*harness.Caller),
		claims: &model.Claims{Now: clock.Now(), Workers: workers}, fences: []int64{1},
	}
	for _, h := range servers {
		y.callers[model.Operator] = append(y.callers[model.Operator], h.Operator())
		for _, agent := range append([]string{asker}, workers...) {
			y.callers[agent] = append(y.callers[agent], h.As(agent))
		}
	}
	intent, err := y.as(asker).Intents.CreateIntent(y.ctx, &openintentv1.CreateIntentRequest{
		Title: "work", Status: openintentv1.IntentStatus_INTENT_STATUS_ACTIVE.Enum(),
	})
	require.NoError(t, err)
	channel, err := y.as(asker).Channels.CreateChannel(y.ctx, &openintentv1.CreateChannelRequest{IntentId: intent.GetId(), Name: "work"})
	require.NoError(t, err)
	y.channel = channel.GetId()
	y.set(clock.Now().Add(tick))
	return y
}

// as returns a caller's identity, on the servers in turn.
func (y *claiming) as(caller string) *harness.Caller {
	y.calls++
	return y.callers[caller][y.calls%len(y.callers[caller])]
}

func (y *claiming) run(t *rapid.T) {
	steps := []namedStep{
		{"send", y.send}, {"claim", y.claim}, {"claim", y.claim}, {"claim", y.claim}, {"renew", y.renew}, {"release", y.release},
		{"answer", y.answer}, {"answer", y.answer}, {"answer", y.answer}, {"delete", y.delete}, {"advance", y.advance},
	}
	y.send(t)
	t.Repeat(map[string]func(*rapid.T){"step": func(t *rapid.T) {
		pick(t, "do", steps).do(t)
		y.set(y.clock.Now().Add(tick))
		y.compare(t)
	}})
	y.conclude(t)
}

func (y *claiming) came(t *rapid.T, operation string, expected model.Outcome, err error) bool {
	got := outcomeOf(err)
	y.reached.note(operation, got)
	require.Equal(t, expected, got, "%s: the model and the server differ: %v", operation, err)
	return got == model.OK
}

// send asks the workers or one of them, or tells everyone something.
func (y *claiming) send(t *rapid.T) {
	m := &model.Claimable{Sender: asker, Request: true}
	request := &openintentv1.SendMessageRequest{
		ChannelId: y.channel, To: proto.String("role:" + worker), MessageType: messageTypes["request"].Enum(), Payload: payload("work"),
	}
	switch below(t, "what", 8) {
	case 0:
		m.Request, request.To, request.MessageType = false, nil, nil
	case 1:
		m.To, m.Wanted = pick(t, "to", workers), 1
		request.To, request.Collect = &m.To, structpb.NewStringValue("one")
	case 2:
		request.Collect = structpb.NewStringValue("all")
	case 3:
	case 4, 5:
		m.Wanted, request.Collect = 1, structpb.NewStringValue("one")
	default:
		m.Wanted = 2
		request.Collect = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"quorum": structpb.NewNumberValue(2)}})
	}
	if m.Request && seldom(t, "expires") {
		m.ExpiresAt = y.claims.Now.Add(20 * time.Second)
		request.ExpiresAt = stamp(m.ExpiresAt)
	}
	got, err := y.as(asker).Messages.SendMessage(y.ctx, request)
	require.NoError(t, err)
	m.ID = got.GetId()
	y.claims.Messages = append(y.claims.Messages, m)
}

// drawMessage draws one of the last messages, so that agents meet.
func (y *claiming) drawMessage(t *rapid.T) *model.Claimable {
	all := y.claims.Messages
	return pick(t, "message", all[max(0, len(all)-3):])
}

func (y *claiming) drawAgent(t *rapid.T) string {
	if seldom(t, "the asker") {
		return asker
	}
	return pick(t, "agent", workers)
}

// drawFence draws mostly the fence of a claim of the agent, if it has one.
func (y *claiming) drawFence(t *rapid.T, agent string, m *model.Claimable) int64 {
	for _, c := range m.Claims {
		if c.Agent == agent && !seldom(t, "another fence") {
			return c.Fence
		}
	}
	return pick(t, "fence", y.fences)
}

func (y *claiming) claim(t *rapid.T) { y.take(t, "claim", y.drawAgent(t), y.drawMessage(t), 0) }

// renew renews a claim, or what an agent believes to be its claim.
func (y *claiming) renew(t *rapid.T) {
	agent, m := pick(t, "agent", workers), y.drawMessage(t)
	for _, c := range y.claims.Standing(m) {
		if !seldom(t, "not the holder") {
			agent = c.Agent
		}
	}
	fence := y.drawFence(t, agent, m)
	operation := "claim"
	if y.claims.MayTake(agent, m) == model.OK {
		operation = "renew"
	}
	y.take(t, operation, agent, m, fence)
}

func (y *claiming) take(t *rapid.T, operation, agent string, m *model.Claimable, fence int64) {
	key, lasting := pick(t, "key", []string{"", "", "one", "two"}), pick(t, "lasting", []time.Duration{time.Second, 5 * time.Second, time.Hour})
	expected, outcome := y.claims.Claim(agent, m, fence, key, lasting)
	request := &openintentv1.ClaimMessageRequest{
		ChannelId: y.channel, MessageId: m.ID, TtlSeconds: proto.Int32(int32(lasting / time.Second)), IdempotencyKey: given(key),
	}
	if fence != 0 {
		request.Fence = &fence
	}
	got, err := y.as(agent).Claims.ClaimMessage(y.ctx, request)
	if !y.came(t, operation, outcome, err) {
		return
	}
	if expected.Fence == 0 {
		require.True(t, y.claims.Granted(expected, got.GetFence()), "the fence %d does not rise", got.GetFence())
		y.fences = append(y.fences, got.GetFence())
	}
	require.Equal(t, []any{m.ID, agent, expected.Fence}, []any{got.GetMessageId(), got.GetHolder(), got.GetFence()})
	near(t, "the end of the claim", expected.ExpiresAt, got.GetExpiresAt())
	expected.ExpiresAt = got.GetExpiresAt().AsTime()
}

func (y *claiming) release(t *rapid.T) {
	agent, m := y.drawAgent(t), y.drawMessage(t)
	fence := y.drawFence(t, agent, m)
	expected := y.claims.Release(agent, m, fence)
	_, err := y.as(agent).Claims.ReleaseClaim(y.ctx, &openintentv1.ReleaseClaimRequest{ChannelId: y.channel, MessageId: m.ID, Fence: fence})
	y.came(t, "release", expected, err)
}

func (y *claiming) answer(t *rapid.T) {
	agent, m := y.drawAgent(t), y.drawMessage(t)
	if !m.Request {
		t.Skip("a note takes no answer")
	}
	request := &openintentv1.ReplyMessageRequest{ChannelId: y.channel, MessageId: m.ID, Payload: payload("done")}
	var fence int64
	if !seldom(t, "without a fence") {
		fence = y.drawFence(t, agent, m)
		request.Fence = &fence
	}
	expected := y.claims.Answer(agent, m, fence)
	_, err := y.as(agent).Messages.ReplyMessage(y.ctx, request)
	y.came(t, "answer", expected, err)
}

// delete deletes the content of a message, seldom.
func (y *claiming) delete(t *rapid.T) {
	if !sometimes(t, "really") {
		return
	}
	m := y.drawMessage(t)
	m.Deleted = true
	_, err := y.as(asker).Messages.DeleteMessage(y.ctx, &openintentv1.DeleteMessageRequest{ChannelId: y.channel, MessageId: m.ID})
	require.NoError(t, err)
}

// advance lets time pass: some time, or to just before or to the next deadline.
func (y *claiming) advance(t *rapid.T) {
	to := y.clock.Now().Add(time.Duration(1+below(t, "milliseconds", 4096)) * time.Millisecond)
	if ahead := y.claims.Deadlines(); len(ahead) > 0 {
		switch below(t, "how", 4) {
		case 0:
			to = ahead[0]
		case 1:
			to = ahead[0].Add(-tick)
		}
	}
	before := y.claims.Expired
	if y.set(to); y.claims.Expired > before {
		y.reached.note("expire", model.OK)
	}
}

// set moves both clocks. It skips the last millisecond before a deadline, as set of a history does.
func (y *claiming) set(now time.Time) {
	if !now.After(y.clock.Now()) {
		return
	}
	y.claims.Set(now)
	for next := y.claims.Deadlines(); len(next) > 0 && next[0].Sub(now) < tick; next = y.claims.Deadlines() {
		now = now.Add(tick)
		y.claims.Set(now)
	}
	y.clock.Set(now)
}

// compare looks at who works on a message. A thread shows one claim.
func (y *claiming) compare(t *rapid.T) {
	m := y.drawMessage(t)
	if m.Wanted > 1 {
		return
	}
	got, err := y.as(asker).Messages.GetThread(y.ctx, &openintentv1.GetThreadRequest{ChannelId: y.channel, MessageId: m.ID})
	require.NoError(t, err)
	standing := y.claims.Standing(m)
	if len(standing) == 0 {
		require.Nil(t, got.GetClaim())
		return
	}
	require.Equal(t, standing[0].Agent, got.GetClaim().GetHolder())
	near(t, "the end of the claim", standing[0].ExpiresAt, got.GetClaim().GetExpiresAt())
}

// conclude closes the channel, and compares what its log tells of each message with the model, and the answers. What ended by time or
// with its message is told whenever the sweep comes by, so that is left out.
func (y *claiming) conclude(t *rapid.T) {
	operator := y.as(model.Operator)
	_, err := operator.Channels.UpdateChannel(y.ctx, &openintentv1.UpdateChannelRequest{
		Channel:    &openintentv1.Channel{Id: y.channel, Status: openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"status"}},
	})
	require.NoError(t, err)
	stream, err := operator.Messages.Subscribe(y.ctx, &openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: y.channel}, AfterPosition: proto.Int64(0), Include: []string{"annotations"},
	})
	require.NoError(t, err)
	deliveries, _ := drain(t, &model.Channel{}, stream)
	told, answers, holding := make(map[string][]string), make(map[string][]string), make(map[string]int)
	for _, delivery := range deliveries {
		if m := delivery.GetMessage(); m.GetCorrelationId() != "" {
			answers[m.GetCorrelationId()] = append(answers[m.GetCorrelationId()], m.GetSender())
		}
		a := delivery.GetAnnotation()
		hold := a.GetMessageId() + " " + a.GetAgentId()
		switch {
		case a.GetType() == "message_claimed":
			told[a.GetMessageId()] = append(told[a.GetMessageId()], "claimed "+a.GetAgentId())
			holding[hold]++
		case a.GetType() == "claim_released":
			if a.GetReason() == "released" {
				told[a.GetMessageId()] = append(told[a.GetMessageId()], "released "+a.GetAgentId())
			}
			holding[hold]--
			require.Contains(t, "released expired responded message_ended channel_closed", a.GetReason())
		}
		require.True(t, holding[hold] == 0 || holding[hold] == 1, "the claims of %s alternate with their ends", hold)
	}
	for _, m := range y.claims.Messages {
		require.Equal(t, strings.Join(m.Told, ", "), strings.Join(told[m.ID], ", "), m.ID)
		require.Equal(t, fmt.Sprint(m.Answers), fmt.Sprint(answers[m.ID]), m.ID)
	}
}
