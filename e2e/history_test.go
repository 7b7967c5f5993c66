package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"openintent/e2e/harness"
	"openintent/e2e/model"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
)

// history is one random history: the server (or several on one database) and the model side by side. A step draws a
// call, asks the model for the expected outcome, makes the call, and compares. The clock stands still during a step
// and moves on by a millisecond after each step that writes. So the server decides at the model's time, and the times
// that it stores may be microseconds later.
type history struct {
	ctx     context.Context
	clock   *databasetest.Clock
	reached reached
	wanted  map[string]bool // the operations that have an outcome which no history has reached yet
	world   *model.World

	agents []string // the operator is not among them
	// callers are the identities of each agent and of the operator, one for each server; calls selects the servers in
	// turn.
	callers map[string][]*harness.Caller
	calls   int
	// watched are the operator's streams of the channels.
	watched map[*model.Channel]following
	// retries are the sends that were accepted under an idempotency key.
	retries []attempt
}

// tick is how far the clock moves after a step.
const tick = time.Millisecond

// histories counts the histories, so that each has different agents: agents belong to no intent.
var histories atomic.Int64

// newHistory begins a history. Its steps prefer the wanted operations.
func newHistory(t *rapid.T, servers []*harness.Server, clock *databasetest.Clock, reached reached, wanted map[string]bool) *history {
	y := &history{
		ctx: t.Context(), clock: clock, reached: reached, wanted: wanted, world: model.New(clock.Now()),
		callers: make(map[string][]*harness.Caller), watched: make(map[*model.Channel]following),
	}
	number := histories.Add(1)
	for _, name := range []string{"ann", "bob", "cho", "dan"} {
		y.agents = append(y.agents, fmt.Sprintf("%s-%d", name, number))
	}
	for _, h := range servers {
		y.callers[model.Operator] = append(y.callers[model.Operator], h.Operator())
		for _, agent := range y.agents {
			y.callers[agent] = append(y.callers[agent], h.As(agent))
		}
	}
	y.beginIntent(t, y.agents[0])
	y.beginIntent(t, y.agents[1])
	for range 3 {
		y.createChannel(t)
	}
	if sometimes(t, "with a list") {
		y.changeAccess(t)
	}
	return y
}

// as returns a caller's identity, on the servers in turn.
func (y *history) as(caller string) *harness.Caller {
	y.calls++
	return y.callers[caller][y.calls%len(y.callers[caller])]
}

// run runs a whole history.
func (y *history) run(t *rapid.T) {
	steps := y.steps()
	t.Repeat(map[string]func(*rapid.T){"step": func(t *rapid.T) { pick(t, "do", steps).do(t) }})
	y.conclude(t)
}

// namedStep is one kind of step. Its name lists the operations that it tries.
type namedStep struct {
	name string
	do   func(*rapid.T)
}

// GoString keeps the output of a failed history readable.
func (s namedStep) GoString() string { return s.name }

// moreWanted is how much more often a step is drawn that tries a wanted operation.
const moreWanted = 4

// steps returns the kinds of steps, each repeated as often as its weight says.
func (y *history) steps() []namedStep {
	var steps []namedStep
	for _, kind := range []struct {
		weight int
		namedStep
	}{
		{5, namedStep{"register, take role", y.register}},
		{3, namedStep{"move agent", y.moveAgent}},
		{1, namedStep{"deregister", y.deregister}},
		{2, namedStep{"set status", y.setStatus}},
		{2, namedStep{"set access, grant", y.changeAccess}},
		{2, namedStep{"assign", y.assign}},
		{2, namedStep{"coordinate, end coordination", y.coordinate}},
		{1, namedStep{"end task", y.endTask}},
		{7, namedStep{"create channel", y.createChannel}},
		{3, namedStep{"update channel", y.updateChannel}},
		{3, namedStep{"add members, remove member", y.changeMembers}},
		{2, namedStep{"close channel, delete channel", y.endChannel}},
		{2, namedStep{"get channel", y.getChannel}},
		{2, namedStep{"list channels", y.listChannels}},
		{14, namedStep{"send", y.send}},
		{8, namedStep{"send by name", y.sendByName}},
		{8, namedStep{"reply", y.reply}},
		{4, namedStep{"ask, ask all", y.ask}},
		{4, namedStep{"retry", y.retry}},
		{5, namedStep{"mark read", y.markRead}},
		{3, namedStep{"get", y.get}},
		{4, namedStep{"edit", y.edit}},
		{3, namedStep{"delete", y.deletes}},
		{4, namedStep{"react", y.react}},
		{3, namedStep{"look closely", y.lookClosely}},
		{5, namedStep{"list", y.list}},
		{4, namedStep{"responses", y.responses}},
		{4, namedStep{"advance", y.advance}},
	} {
		weight := kind.weight
		if slices.ContainsFunc(strings.Split(kind.name, ", "), func(operation string) bool { return y.wanted[operation] }) {
			weight *= moreWanted
		}
		for range weight {
			steps = append(steps, kind.namedStep)
		}
	}
	return steps
}

// came compares the outcome of a call with the expected one, counts it, and reports whether the call was accepted.
func (y *history) came(t *rapid.T, operation string, expected model.Outcome, err error) bool {
	got := outcomeOf(err)
	y.reached.note(operation, got)
	require.Equal(t, expected, got, "%s: the model and the server differ: %v", operation, err)
	return got == model.OK
}

func outcomeOf(err error) model.Outcome {
	if err == nil {
		return model.OK
	}
	if reason := harness.Reason(err); reason != "" {
		return model.Outcome(reason)
	}
	return model.Outcome("without a reason: " + err.Error())
}

// wrote moves the clock on after a step that may have written.
func (y *history) wrote() { y.set(y.clock.Now().Add(tick)) }

// set moves both clocks. It skips the last millisecond before a deadline, because the times that the server stores
// may be microseconds later than the time at which it decides.
func (y *history) set(now time.Time) {
	y.world.Set(now)
	for next := y.world.Deadlines(); len(next) > 0 && next[0].Sub(now) < tick; next = y.world.Deadlines() {
		now = now.Add(tick)
		y.world.Set(now)
	}
	y.clock.Set(now)
}

// advance lets time pass: some time, up to the next deadlines, or to just before the next one.
func (y *history) advance(t *rapid.T) {
	now, ahead := y.clock.Now(), y.world.Deadlines()
	to := now.Add(time.Duration(1+below(t, "milliseconds", 4096)) * 4 * time.Millisecond)
	switch choice := below(t, "how", 20); {
	case choice == 0:
		to = now.Add(25 * time.Hour)
	case choice < 8 && len(ahead) > 0:
		if at := ahead[min(len(ahead)-1, choice%3)]; at.Sub(now) < 3*time.Hour {
			to = at
		}
	case choice < 12 && len(ahead) > 0 && ahead[0].Sub(now) < 3*time.Hour:
		to = ahead[0].Add(-tick)
	}
	if to.After(now) {
		y.set(to)
	}
}

// near asserts that a time that the server chose within a step matches the model's time for that step.
func near(t *rapid.T, what string, expected time.Time, got *timestamppb.Timestamp) {
	if expected.IsZero() {
		require.Nil(t, got, what)
		return
	}
	after := got.AsTime().Sub(expected)
	require.True(t, got != nil && 0 <= after && after < tick, "%s is %v, the model says %v", what, got.AsTime(), expected)
}

// beginIntent creates an intent with a task; some begin with an access control list.
func (y *history) beginIntent(t *rapid.T, creator string) {
	active := openintentv1.IntentStatus_INTENT_STATUS_ACTIVE
	request := &openintentv1.CreateIntentRequest{Title: "work", Status: &active}
	policy := ""
	if seldom(t, "with a list") {
		policy = pick(t, "policy", []string{"open", "closed"})
		request.DefaultPolicy = accessPolicies[policy].Enum()
	}
	intent, err := y.as(creator).Intents.CreateIntent(y.ctx, request)
	require.NoError(t, err)
	task, err := y.as(model.Operator).Tasks.CreateTask(y.ctx, &openintentv1.CreateTaskRequest{
		IntentId: intent.GetId(), Name: "part",
	})
	require.NoError(t, err)
	y.world.Intents = append(y.world.Intents, &model.Intent{
		ID: intent.GetId(), Creator: creator, Version: intent.GetVersion(), Status: "active", Policy: policy,
		Assigned: make(map[string]bool), Tasks: map[string]bool{task.GetId(): false},
	})
	y.wrote()
}
