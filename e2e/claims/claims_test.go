package claims

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/replica"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
)

var (
	rounds = flag.Int("claims.rounds", 15, "how many requests are fought for with each engine, at least")
	seed   = flag.Uint64("claims.seed", 0, "the seed of the fights; 0 picks one")
)

const (
	claimants = 50
	deadline  = time.Hour
	// moreRounds follow at most until everything of mustHappen has happened.
	moreRounds = 60
)

// mustHappen is what a fight must bring about, or the test shows too little.
var mustHappen = []string{
	"claimed ", "answered ", "released responded", "released expired", "released agent_dead", "released released",
	"died ", "revived ", "restarts", "requests that expired",
}

// TestExactlySoManyAnswers has a crowd fight for one request after another.
func TestExactlySoManyAnswers(t *testing.T) {
	drawn := *seed
	if drawn == 0 {
		drawn = rand.Uint64()
	}
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			t.Logf("repeat with -claims.seed %d", drawn)
			fightAll(t, engine, rand.New(rand.NewPCG(drawn, 1))) //nolint:gosec // a schedule is no secret
		})
	}
}

func fightAll(t *testing.T, engine database.Engine, draw *rand.Rand) {
	h := newHouse(t, engine)
	names := make([]string, claimants)
	for i := range names {
		names[i] = fmt.Sprintf("claimant-%d", i)
		h.replicas[0].Register(t, names[i])
	}
	counts := make(map[string]int)
	missing := func(what string) bool { return counts[what] == 0 }
	round := 0
	for ; round < *rounds || round < *rounds+moreRounds && slices.ContainsFunc(mustHappen, missing); round++ {
		for _, r := range h.replicas {
			r.Clock.Advance(time.Second)
		}
		f := newFight(t, h, names, draw)
		found := f.run(t)
		if findings := Check(found); len(findings) > 0 {
			t.Fatalf("%q in %+v", findings, found)
		}
		for _, e := range found.Entries {
			counts[string(e.Kind)+" "+e.Reason]++
		}
		if found.Expired {
			counts["requests that expired"]++
		}
		counts["restarts"] += f.restarts
	}
	t.Logf("%d rounds without a finding: %v", round, counts)
	for _, what := range mustHappen {
		require.NotZero(t, counts[what], "%s never happened, so the test shows too little", what)
	}
}

// fight is one request and those who fight for it.
type fight struct {
	*house
	draw    *rand.Rand
	request string
	wanted  int
	base    time.Time
	crowd   []*claimant
	// marks are what the log does not tell.
	marks    []mark
	restarts int
}

// claimant is an agent with what it knows of its claim.
type claimant struct {
	name   string
	server *replica.Replica
	// fence is that of the latest claim that the agent got and has not given back; 0 without one. fences are all of them.
	fence  int64
	fences []int64
	calls  int
	// done is true once it has answered, dead while the server takes it for dead.
	done, dead bool
	// silent is true while the agent sends no heartbeats and does not count as dead yet.
	silent bool
}

func newFight(t *testing.T, h *house, names []string, draw *rand.Rand) *fight {
	t.Helper()
	f := &fight{house: h, draw: draw, wanted: 1, base: h.replicas[0].Clock.Now()}
	if draw.IntN(3) == 0 {
		f.wanted = 2 + draw.IntN(4)
	}
	f.request = h.ask(t, f.wanted, deadline)
	for _, name := range names {
		f.crowd = append(f.crowd, &claimant{name: name, server: h.replicas[draw.IntN(len(h.replicas))]})
	}
	return f
}

// run lets the crowd act, in steps between which time passes, until the request must have ended, and returns its history.
func (f *fight) run(t *testing.T) History {
	t.Helper()
	for range 2 + f.draw.IntN(6) {
		f.step(t)
		f.bury(t)
		f.passTime(t)
	}
	for _, r := range f.replicas {
		r.Clock.Set(f.base.Add(2 * deadline))
	}
	f.together(t, f.crowd, func(c *claimant) error { return c.answers(f, c.fence) }) // those who stood still wake up, too late
	for _, r := range f.replicas {
		f.sweep(t, r)
	}
	for _, c := range f.crowd {
		if c.dead {
			f.replicas[0].Register(t, c.name)
		}
	}
	fences := make(map[string][]int64)
	for _, c := range f.crowd {
		fences[c.name] = c.fences
	}
	return f.history(t, f.request, f.wanted, fences, f.marks)
}

// step lets everybody act at the same time: those without a claim try to get one, and those with one do what they have drawn.
func (f *fight) step(t *testing.T) {
	t.Helper()
	acts := make(map[*claimant]func(c *claimant) error)
	for _, c := range f.crowd {
		acts[c] = f.act(t, c)
	}
	for _, r := range f.replicas {
		r.Faults.FailAfter(f.draw.IntN(3))
		r.Faults.FailBefore(f.draw.IntN(2))
	}
	var restarted error
	var restart sync.WaitGroup
	if f.draw.IntN(10) == 0 {
		f.restarts++
		r := f.replicas[f.draw.IntN(len(f.replicas))]
		restart.Go(func() { restarted = r.Restart() })
	}
	f.together(t, f.crowd, func(c *claimant) error { return acts[c](c) })
	restart.Wait()
	require.NoError(t, restarted)
	f.loseNothing()
}

// loseNothing lets all commits be made and acknowledged.
func (f *fight) loseNothing() {
	for _, r := range f.replicas {
		r.Faults.FailAfter(0)
		r.Faults.FailBefore(0)
	}
}

// bury waits until those who fell silent count as dead. Sometimes somebody sweeps before anything else happens.
func (f *fight) bury(t *testing.T) {
	t.Helper()
	var silent []string
	for _, c := range f.crowd {
		if c.silent {
			c.silent, c.dead = false, true
			silent = append(silent, c.name)
		}
	}
	if len(silent) == 0 {
		return
	}
	replica.PassSilence(t, f.replicas, silent...)
	f.base = f.base.Add(replica.Silence)
	for _, name := range silent {
		f.note(t, Entry{Kind: Died, Agent: name})
	}
	if f.draw.IntN(2) == 0 {
		f.sweep(t, f.replicas[f.draw.IntN(len(f.replicas))])
	}
}

// sweep has a replica sweep, and notes it.
func (f *fight) sweep(t *testing.T, r *replica.Replica) {
	t.Helper()
	r.Faults.FailAfter(f.draw.IntN(2))
	require.NoError(t, r.Call(func() error { return r.Messaging.Sweep(r.Life) }))
	require.NoError(t, r.Call(func() error { return r.Claims.SweepClaims(r.Life) }))
	f.loseNothing()
	f.note(t, Entry{Kind: Swept})
}

// note notes something that the log does not tell, at this place of the history.
func (f *fight) note(t *testing.T, e Entry) {
	t.Helper()
	f.marks = append(f.marks, mark{position: f.lastPosition(t), entry: e})
}

func (f *fight) act(t *testing.T, c *claimant) func(*claimant) error {
	nothing := func(*claimant) error { return nil }
	c.server = f.replicas[f.draw.IntN(len(f.replicas))] // it may have reconnected
	switch drawn := f.draw.IntN(20); {
	case c.done || c.silent:
		return nothing
	case c.fence == 0 && drawn == 0:
		return func(c *claimant) error { return c.answers(f, 0) } // an intruder
	case c.fence == 0 && drawn < 5:
		return func(c *claimant) error { return c.claims(f) }
	case c.fence == 0 || drawn < 5: // it does nothing yet, or stands still
		return nothing
	case drawn < 7 && c.dead: // a registration would be a sign of life
		return nothing
	case drawn < 7:
		f.replicas[0].FallSilent(t, c.name)
		c.silent = true
		return nothing
	case drawn < 9:
		return func(c *claimant) error { return c.releases(f) }
	case drawn < 12:
		return func(c *claimant) error { return c.renews(f) }
	case drawn < 15:
		return func(c *claimant) error { return c.claims(f) } // another process of it
	case drawn < 17 && len(c.fences) > 1: // a process of it that stood still
		stale := c.fences[0]
		return func(c *claimant) error { return c.answers(f, stale) }
	}
	return func(c *claimant) error { return c.answers(f, c.fence) }
}

// passTime moves the clocks on, by more than a claim lasts or by less, each differently and some back. Sometimes somebody sweeps, and the
// dead come back.
func (f *fight) passTime(t *testing.T) {
	t.Helper()
	f.base = f.base.Add(time.Duration(f.draw.IntN(150)) * time.Second)
	for _, r := range f.replicas {
		r.Clock.Set(f.base.Add(time.Duration(f.draw.IntN(4001)-2000) * time.Millisecond))
		if f.draw.IntN(2) == 0 {
			f.sweep(t, r)
		}
	}
	for _, c := range f.crowd {
		if c.dead && f.draw.IntN(3) == 0 {
			f.replicas[0].Register(t, c.name)
			f.note(t, Entry{Kind: Revived, Agent: c.name})
			c.dead = false
		}
	}
}

// together runs an action of each claimant at the same time.
func (f *fight) together(t *testing.T, crowd []*claimant, act func(c *claimant) error) {
	t.Helper()
	failures := make([]error, len(crowd))
	var all sync.WaitGroup
	for i, c := range crowd {
		all.Go(func() { failures[i] = act(c) })
	}
	all.Wait()
	require.NoError(t, errors.Join(failures...))
}

// expected drops the refusals that the fight brings with it.
func expected(err error, reasons ...string) error {
	var refusal *fault.Fault
	if errors.As(err, &refusal) && slices.Contains(reasons, refusal.Reason) {
		return nil
	}
	return err
}

func (c *claimant) key() *string {
	c.calls++
	key := fmt.Sprintf("%s-%d", c.name, c.calls)
	return &key
}

func (c *claimant) claims(f *fight) error {
	key := f.request + *c.key()
	err := c.server.Call(func() error {
		got, err := c.server.Claims.ClaimMessage(c.server.As(c.name), &openintentv1.ClaimMessageRequest{
			ChannelId: f.channel, MessageId: f.request, IdempotencyKey: &key,
		})
		if err == nil && got.GetFence() != c.fence {
			c.fence = got.GetFence()
			c.fences = append(c.fences, c.fence)
		}
		return err
	})
	return expected(err, "CLAIMED", "ANSWERED", "MESSAGE_NOT_FOUND", "AGENT_LEAVING")
}

func (c *claimant) renews(f *fight) error {
	err := c.server.Call(func() error {
		_, err := c.server.Claims.ClaimMessage(c.server.As(c.name), &openintentv1.ClaimMessageRequest{
			ChannelId: f.channel, MessageId: f.request, Fence: &c.fence,
		})
		return err
	})
	return expected(err, "CLAIM_LOST", "ANSWERED", "MESSAGE_NOT_FOUND", "AGENT_LEAVING")
}

func (c *claimant) releases(f *fight) error {
	err := c.server.Call(func() error {
		_, err := c.server.Claims.ReleaseClaim(c.server.As(c.name), &openintentv1.ReleaseClaimRequest{
			ChannelId: f.channel, MessageId: f.request, Fence: c.fence,
		})
		return err
	})
	c.fence = 0
	return expected(err, "CLAIM_LOST", "MESSAGE_NOT_FOUND")
}

// answers answers with a fence, which the payload repeats for the history. It repeats the call once more than it need.
func (c *claimant) answers(f *fight, fence int64) error {
	req := &openintentv1.ReplyMessageRequest{
		ChannelId: f.channel, MessageId: f.request, IdempotencyKey: c.key(),
		Payload: &structpb.Struct{Fields: map[string]*structpb.Value{
			"request": structpb.NewStringValue(f.request), "fence": structpb.NewStringValue(strconv.FormatInt(fence, 10)),
		}},
	}
	*req.IdempotencyKey = f.request + *req.IdempotencyKey
	if fence != 0 {
		req.Fence = &fence
	}
	answer := func() (id string, err error) {
		err = c.server.Call(func() error {
			stored, err := c.server.Messaging.ReplyMessage(c.server.As(c.name), req)
			id = stored.GetId()
			return err
		})
		return id, err
	}
	first, err := answer()
	if err != nil {
		return expected(err, "CLAIM_REQUIRED", "CLAIM_LOST", "ANSWERED", "MESSAGE_EXPIRED", "MESSAGE_NOT_FOUND")
	}
	c.done = true
	if again, err := answer(); err != nil || again != first {
		return fmt.Errorf("the repeated answer is %q instead of %q: %w", again, first, err)
	}
	return nil
}
