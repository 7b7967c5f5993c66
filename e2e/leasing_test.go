//go:build leasemodel

// The histories of leases stand apart, and `make lease-model` runs them: on a busy machine, giving up a wait is noticed by counting
// statements, and that has failed once in ten runs without a fault that could be repeated.

package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"openintent/e2e/harness"
	"openintent/e2e/model"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

// mustLease are the outcomes without which the histories of leases prove little.
var mustLease = map[string]string{
	"acquire": "OK LEASE_HELD", "wait": "OK LEASE_HELD LEASE_CIRCLE", "turn": "OK", "renew": "OK LEASE_NOT_FOUND",
	"release": "OK LEASE_NOT_FOUND", "revoke": "OK", "give up": "OK", "suspend": "OK", "resume": "OK", "expire": "OK",
}

// TestLeasesAreAsTheModelSays runs random histories of agents that acquire scopes, wait for them, renew and release them. Each answer
// and each refusal must be the model's, each scope must go to who asked first, and the fences must rise. On PostgreSQL two servers take
// the calls in turn.
func TestLeasesAreAsTheModelSays(t *testing.T) {
	databasetest.SearchWith(t, map[string]int{"rapid.checks": historiesInARound, "rapid.steps": stepsOfAHistory})
	reached := make(reached)
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			clock, lines := databasetest.NewClock(), &lines{changing: make(map[context.Context]string), changed: make(map[string]int)}
			options := harness.Options{URL: databasetest.URL(t, engine), Configure: func(cfg *server.Config) {
				// A call that waits gives no sign of life, and counts as alive for longer than a history takes.
				cfg.Clock, cfg.LookAgain, cfg.Hooks = clock.Now, 24*time.Hour, lines.hooks()
				cfg.LogLevel = "error"
			}}
			servers := []*harness.Server{harness.Start(t, options)}
			if engine == database.PostgreSQL {
				servers = append(servers, harness.Start(t, options))
			}
			for round := 0; !t.Failed() && (round < leastRounds || round < mostRounds && len(reached.missing(mustLease)) > 0); round++ {
				rapid.Check(t, func(t *rapid.T) { newLeasing(t, servers, clock, lines, reached).run(t) })
			}
		})
	}
	if t.Failed() {
		return
	}
	t.Logf("what was reached, and how often:\n%s", reached)
	require.Empty(t, reached.missing(mustLease), "the generator does not reach these any more")
}

// leasing is one random history of leases: the server and the model side by side.
type leasing struct {
	ctx     context.Context
	end     context.CancelFunc
	clock   *databasetest.Clock
	lines   *lines
	reached reached
	leases  *model.Leases

	intent  string
	version int64
	agents  []string
	scopes  []string
	callers map[string][]*harness.Caller
	calls   int
	waiting map[*model.Waiter]*wait
}

// wait is a call that waits for a scope.
type wait struct {
	giveUp context.CancelFunc
	done   chan leased
}

// leased is what a call returned.
type leased struct {
	lease *openintentv1.Lease
	err   error
}

// watcher is an agent that never holds or waits for a scope.
const watcher = "watcher"

func newLeasing(t *rapid.T, servers []*harness.Server, clock *databasetest.Clock, lines *lines, reached reached) *leasing {
	y := &leasing{
		clock: clock, lines: lines, reached: reached, leases: model.NewLeases(clock.Now()),
		agents: []string{"ann", "bob", "cho", "dan"}, scopes: []string{"docs", "lexer", "parser"},
		callers: make(map[string][]*harness.Caller), waiting: make(map[*model.Waiter]*wait),
	}
	y.ctx, y.end = context.WithCancel(context.Background())
	for _, h := range servers {
		y.callers[model.Operator] = append(y.callers[model.Operator], h.Operator())
		for _, agent := range append([]string{watcher}, y.agents...) {
			y.callers[agent] = append(y.callers[agent], h.As(agent))
		}
	}
	intent, err := y.as("ann").Intents.CreateIntent(y.ctx, &openintentv1.CreateIntentRequest{
		Title: "work", Status: openintentv1.IntentStatus_INTENT_STATUS_ACTIVE.Enum(),
	})
	require.NoError(t, err)
	y.intent, y.version = intent.GetId(), intent.GetVersion()
	return y
}

// as returns a caller's identity, on the servers in turn.
func (y *leasing) as(caller string) *harness.Caller {
	y.calls++
	return y.callers[caller][y.calls%len(y.callers[caller])]
}

func (y *leasing) run(t *rapid.T) {
	defer y.end()
	steps := []namedStep{
		{"acquire", y.acquire}, {"wait", y.wait}, {"wait", y.wait}, {"wait", y.wait}, {"renew", y.renew}, {"release", y.release},
		{"release", y.release}, {"give up", y.giveUp}, {"suspend or resume", y.suspend}, {"advance", y.advance}, {"advance", y.advance},
	}
	t.Repeat(map[string]func(*rapid.T){"step": func(t *rapid.T) {
		pick(t, "do", steps).do(t)
		y.settle(t)
		y.compare(t)
		y.set(y.clock.Now().Add(tick))
		y.settle(t)
	}})
	y.conclude(t)
}

func (y *leasing) came(t *rapid.T, operation string, expected model.Outcome, err error) bool {
	got := outcomeOf(err)
	y.reached.note(operation, got)
	require.Equal(t, expected, got, "%s: the model and the server differ: %v", operation, err)
	return got == model.OK
}

// draw draws a call for a scope, by an agent that does not wait for it already.
func (y *leasing) draw(t *rapid.T) *model.Waiter {
	w := &model.Waiter{
		Scope: pick(t, "scope", y.scopes), Lasting: pick(t, "lasting", []time.Duration{time.Second, 10 * time.Second, time.Minute}),
	}
	free := slices.DeleteFunc(slices.Clone(y.agents), func(agent string) bool {
		return slices.ContainsFunc(y.leases.Waiting(w.Scope), func(other *model.Waiter) bool { return other.Agent == agent })
	})
	if len(free) == 0 {
		t.Skip("all agents wait for the scope")
	}
	w.Agent = pick(t, "agent", free)
	return w
}

func (y *leasing) acquiring(w *model.Waiter, wait int32) func(context.Context) (*openintentv1.Lease, error) {
	as := y.as(w.Agent)
	return func(ctx context.Context) (*openintentv1.Lease, error) {
		return as.Leases.AcquireLease(ctx, &openintentv1.AcquireLeaseRequest{
			IntentId: y.intent, Scope: w.Scope, DurationSeconds: proto.Int32(int32(w.Lasting / time.Second)), WaitSeconds: wait,
		})
	}
}

func (y *leasing) acquire(t *rapid.T) {
	w := y.draw(t)
	expected := y.leases.Acquire(w.Scope)
	got, err := y.acquiring(w, 0)(y.ctx)
	if y.came(t, "acquire", expected, err) {
		y.granted(t, w, got)
	}
}

// granted compares a new lease with the model's.
func (y *leasing) granted(t *rapid.T, w *model.Waiter, got *openintentv1.Lease) {
	lease, rises := y.leases.Grant(w, got.GetId(), got.GetFence())
	require.True(t, rises, "the fence %d does not rise", got.GetFence())
	require.Equal(t, got.GetFence(), got.GetAcquiredAt().AsTime().UnixMicro(), "the fence is the time of the lease")
	y.same(t, lease, got)
}

func (y *leasing) same(t *rapid.T, expected *model.Lease, got *openintentv1.Lease) {
	require.Equal(t, []any{expected.ID, expected.Agent, expected.Scope, expected.Fence, y.intent},
		[]any{got.GetId(), got.GetAgentId(), got.GetScope(), got.GetFence(), got.GetIntentId()})
	// A pause moves the end by the difference of two times that the server chose within their steps, so the end may also be earlier.
	early := expected.ExpiresAt
	if early.IsZero() { // the intent is suspended, and what is left of the lease begins anew with each look
		early = y.leases.Now.Add(expected.Left)
	}
	if got.GetExpiresAt().AsTime().Before(early) {
		early = early.Add(time.Microsecond - tick)
	}
	near(t, "the end of the lease of "+expected.Scope, early, got.GetExpiresAt())
	if !expected.ExpiresAt.IsZero() {
		expected.ExpiresAt = got.GetExpiresAt().AsTime()
	}
}

// wait makes a call that waits, and returns when it is refused, has the scope, or has its place among those who wait.
func (y *leasing) wait(t *rapid.T) {
	w := y.draw(t)
	waits, expected := y.leases.Wait(w)
	if !waits {
		got, err := y.acquiring(w, 600)(y.ctx)
		if y.came(t, "wait", expected, err) {
			y.granted(t, w, got)
		}
		return
	}
	its := &wait{done: make(chan leased, 1)}
	ctx, cancel := context.WithCancel(y.ctx)
	its.giveUp, y.waiting[w] = cancel, its
	before, call := y.lines.count("INSERT"), y.acquiring(w, 600)
	go func() {
		got, err := call(ctx)
		its.done <- leased{got, err}
	}()
	y.until(t, "the call waits", func() bool { return y.lines.count("INSERT") > before || len(its.done) > 0 })
	require.Empty(t, its.done, "%s waits for %s", w.Agent, w.Scope)
}

// until waits for something that must happen.
func (y *leasing) until(t *rapid.T, what string, happened func() bool) {
	require.Eventually(t, happened, harness.Patience, time.Millisecond, what)
}

// settle waits for those whose turn it is.
func (y *leasing) settle(t *rapid.T) {
	type turn struct {
		of  *model.Waiter
		got *openintentv1.Lease
	}
	var turns []turn
	for _, w := range y.leases.Next() {
		// An expired lease ends when somebody looks: the sweep, or this call, which must not overtake.
		_, err := y.acquiring(&model.Waiter{Agent: watcher, Scope: w.Scope, Lasting: time.Minute}, 0)(y.ctx)
		require.EqualValues(t, "LEASE_HELD", outcomeOf(err), "%s waits for %s", w.Agent, w.Scope)
		select {
		case got := <-y.waiting[w].done:
			y.came(t, "turn", model.OK, got.err)
			turns = append(turns, turn{w, got.lease})
		case <-time.After(harness.Patience):
			t.Fatalf("%s does not get %s", w.Agent, w.Scope)
		}
		delete(y.waiting, w)
	}
	slices.SortFunc(turns, func(a, b turn) int { return int(a.got.GetFence() - b.got.GetFence()) })
	for _, one := range turns {
		y.granted(t, one.of, one.got)
	}
	for w, its := range y.waiting {
		require.Empty(t, its.done, "it is not the turn of %s for %s", w.Agent, w.Scope)
	}
}

// giveUp ends a wait, and returns when the place is free.
func (y *leasing) giveUp(t *rapid.T) {
	var all []*model.Waiter
	for _, scope := range y.scopes {
		all = append(all, y.leases.Waiting(scope)...)
	}
	if len(all) == 0 {
		t.Skip("nobody waits")
	}
	w := pick(t, "who", all)
	its, before := y.waiting[w], y.lines.count("DELETE")
	its.giveUp()
	y.until(t, "the place is free", func() bool { return y.lines.count("DELETE") > before })
	require.Error(t, (<-its.done).err)
	delete(y.waiting, w)
	y.leases.GiveUp(w)
	y.reached.note("give up", model.OK)
}

func (y *leasing) suspend(t *rapid.T) {
	status, operation := openintentv1.IntentStatus_INTENT_STATUS_SUSPENDED_AWAITING_INPUT, "suspend"
	if y.leases.Suspended {
		status, operation = openintentv1.IntentStatus_INTENT_STATUS_ACTIVE, "resume"
		y.leases.Resume()
	} else {
		y.leases.Suspend()
	}
	changed, err := y.as(model.Operator).Intents.SetIntentStatus(y.ctx, &openintentv1.SetIntentStatusRequest{
		IntentId: y.intent, ExpectedVersion: &y.version, Status: status,
	})
	if y.came(t, operation, model.OK, err) {
		y.version = changed.GetVersion()
	}
}

// advance lets time pass: some time, or to just before or to the end of a lease.
func (y *leasing) advance(t *rapid.T) {
	to := y.clock.Now().Add(time.Duration(1+below(t, "milliseconds", 4096)) * time.Millisecond)
	if ends := y.leases.Deadlines(); len(ends) > 0 {
		switch below(t, "how", 4) {
		case 0:
			to = ends[0]
		case 1:
			to = ends[0].Add(-tick)
		}
	}
	standing := len(y.leases.Held())
	if y.set(to); len(y.leases.Held()) < standing {
		y.reached.note("expire", model.OK)
	}
}

// set moves both clocks. It skips the last millisecond before the end of a lease, as set of a history does.
func (y *leasing) set(now time.Time) {
	y.leases.Set(now)
	for next := y.leases.Deadlines(); len(next) > 0 && next[0].Sub(now) < tick; next = y.leases.Deadlines() {
		now = now.Add(tick)
		y.leases.Set(now)
	}
	if now.After(y.clock.Now()) {
		y.clock.Set(now)
	}
}

// compare lists the leases as anybody sees them.
func (y *leasing) compare(t *rapid.T) {
	got, err := y.as(pick(t, "looks", append([]string{watcher, model.Operator}, y.agents...))).Leases.ListLeases(y.ctx,
		&openintentv1.ListLeasesRequest{IntentId: y.intent})
	require.NoError(t, err)
	held := y.leases.Held()
	require.Len(t, got.GetLeases(), len(held))
	for i, lease := range held {
		y.same(t, lease, got.GetLeases()[i])
	}
}

// conclude releases all leases until nobody waits, and compares the log with the model.
func (y *leasing) conclude(t *rapid.T) {
	for held := y.leases.Held(); len(held) > 0; held = y.leases.Held() {
		y.releaseAs(t, held[0].Agent, held[0])
		y.settle(t)
	}
	require.Empty(t, y.waiting)
	var granted, expected, ended []string
	for _, lease := range y.leases.Granted {
		expected = append(expected, fmt.Sprintln(lease.ID, lease.Agent, lease.Scope, lease.Fence, lease.Reason))
	}
	reasons := make(map[string]string)
	y.events(t, "lease_released", func(id, _, reason string) {
		ended = append(ended, id)
		reasons[id] = reason
	})
	require.Len(t, reasons, len(ended), "a lease ends once")
	for _, lease := range y.leases.Granted {
		if _, stored := reasons[lease.ID]; !stored && lease.Reason == "expired" {
			reasons[lease.ID] = lease.Reason // nobody has looked since then
		}
	}
	y.events(t, "lease_acquired", func(id, line, _ string) { granted = append(granted, fmt.Sprintln(line, reasons[id])) })
	require.Equal(t, expected, granted)
}

// events reads the log's events of a type, oldest first.
func (y *leasing) events(t *rapid.T, kind string, take func(id, line, reason string)) {
	log, err := y.as(model.Operator).Events.ListEvents(y.ctx, &openintentv1.ListEventsRequest{
		IntentId: y.intent, EventType: &kind, Order: proto.String("asc"), Limit: proto.Int32(1000),
	})
	require.NoError(t, err)
	for _, event := range log.GetEvents() {
		said := event.GetPayload().GetFields()
		id := said["lease_id"].GetStringValue()
		take(id, fmt.Sprint(id, " ", said["agent_id"].GetStringValue(), " ", said["scope"].GetStringValue(), " ",
			int64(said["fence"].GetNumberValue())), said["reason"].GetStringValue())
	}
}
