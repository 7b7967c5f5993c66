package following

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/messaging/message"
	"openintent/messaging/reading"
	"openintent/messaging/wake"
)

const (
	// tailLength is how many of a scope's newest items its followers share. A follower that has fallen further behind reads
	// its own pages, so a stalled follower costs a cursor and no memory.
	tailLength = 1024
	// tailBytes bounds the shared items in size.
	tailBytes = 2 * reading.MaxPageBytes
	// tailPage is how many messages, and how many events, one look of a tail reads.
	tailPage = 128
)

// scope is what a stream follows, and how that is read: a channel or an intent. Followers of equal scopes share a tail.
// Each item has a place in its scope. A cursor is the place of the last item that was passed.
type scope interface {
	// topics are what wakes the tail, beside changes of the followers' agent records.
	topics() []any
	// look reads the scope's state, and the items that the page before does not have. The first page begins at the scope's
	// end.
	look(t *Tails, tx *database.Tx, before *sharedPage, agentIDs []string) (*sharedPage, error)
	// admit refuses a caller who may not follow the scope.
	admit(seen *sharedPage, by caller.Caller) error
	// cursorAt finds the place of the last item up to a position.
	cursorAt(tx *database.Tx, seen *sharedPage, position int64) (int64, error)
	// read reads what a follower may see after its cursor, up to the end of what the shared page knows of.
	read(t *Tails, tx *database.Tx, f *follower) (*reading.LogPage, error)
}

// taker is a scope that also goes on by what is handed over. The tails of other scopes look each time.
type taker interface {
	// take returns the page that follows on another one by what a commit handed over. It returns the same page when the
	// handover holds nothing new, and nil when only a look can tell.
	take(t *Tails, before *sharedPage, stored *wake.Handover) *sharedPage
}

// Config is what following needs.
type Config struct {
	DB     *database.DB
	Reader reading.Reader
	Hub    *wake.Hub
	Logger *slog.Logger
	// LookAgain is how long a tail waits at most before it looks without having been woken.
	LookAgain time.Duration
	// Offered is told which messages were handed to an agent, and when.
	Offered func(agent string, at time.Time, messages ...*message.Message)
	// Trace is told of each message that is handed to a client; nil when nobody wants to know.
	Trace reading.DeliveryTrace
	// Lost is told that an intent's log ends, or goes on differently, after a position, although it had come as far as another one.
	Lost func(intentID string, after, through int64)
}

// Tails are the tails of all scopes that somebody follows.
type Tails struct {
	Config
	mutex   sync.Mutex
	byScope map[scope]*tail
	running sync.WaitGroup
}

// tail reads a scope once for all its followers. At each wake-up, and now and then without one, it looks at the scope's
// state, the followers' agent records and what is new, and publishes that as a shared page.
type tail struct {
	tails    *Tails
	scope    scope
	listener *wake.Listener
	cancel   context.CancelFunc
	facts    commonFacts

	mutex     sync.Mutex
	followers map[string]int // how many follow, by agent
	begun     int64          // how many looks have begun
	latest    *sharedPage
}

// New makes tails. Stop ends them.
func New(cfg Config) *Tails {
	return &Tails{Config: cfg, byScope: make(map[scope]*tail)}
}

// join begins to follow a scope as an agent. It returns the page of the first look that began afterwards, because an
// earlier one may lack the agent's record and what the caller knows already. Call leave when done.
func (t *Tails) join(ctx context.Context, followed scope, agent string) (*tail, *sharedPage, error) {
	joined, begun := t.enter(followed, agent)
	joined.listener.Signal()
	for seen := joined.current(); ; seen = joined.current() {
		if seen.number > begun {
			return joined, seen, nil
		}
		if err := joined.wait(ctx, seen); err != nil {
			t.leave(joined, agent)
			return nil, nil, err
		}
	}
}

// enter adds a follower to the scope's tail, and tells how many looks have begun before.
func (t *Tails) enter(followed scope, agent string) (joined *tail, begun int64) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	joined = t.byScope[followed]
	if joined == nil {
		listen := t.Hub.ListenLooking
		if _, takes := followed.(taker); takes {
			listen = t.Hub.Listen
		}
		joined = &tail{
			tails: t, scope: followed, followers: make(map[string]int),
			listener: listen(followed.topics()...),
			latest:   &sharedPage{superseded: make(chan struct{})},
		}
		t.byScope[followed] = joined
		var ctx context.Context
		ctx, joined.cancel = context.WithCancel(context.Background())
		t.running.Go(func() { joined.run(ctx) })
	}
	joined.mutex.Lock()
	defer joined.mutex.Unlock()
	if joined.followers[agent]++; joined.followers[agent] == 1 {
		joined.listener.Also(wake.AgentTopic(agent))
	}
	return joined, joined.begun
}

// leave ends an agent's following. When the last follower leaves, the tail ends.
func (t *Tails) leave(joined *tail, agent string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	joined.mutex.Lock()
	defer joined.mutex.Unlock()
	if joined.followers[agent]--; joined.followers[agent] == 0 {
		delete(joined.followers, agent)
		joined.listener.Forget(wake.AgentTopic(agent))
	}
	if len(joined.followers) == 0 {
		joined.cancel()
		joined.listener.Close()
		delete(t.byScope, joined.scope)
	}
}

// Looks tells how many looks at a scope have begun since somebody began to follow it. It is 0 when nobody does.
func (t *Tails) Looks(followed scope) int64 {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	tail := t.byScope[followed]
	if tail == nil {
		return 0
	}
	tail.mutex.Lock()
	defer tail.mutex.Unlock()
	return tail.begun
}

// Stop waits until no tail runs any more. The followers must have left before.
func (t *Tails) Stop() { t.running.Wait() }

func (t *tail) current() *sharedPage {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.latest
}

// wait returns when there is a newer shared page than the given one.
func (t *tail) wait(ctx context.Context, seen *sharedPage) error {
	select {
	case <-seen.superseded:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t *tail) run(ctx context.Context) {
	for ctx.Err() == nil {
		before := t.current()
		number, agentIDs := t.begin()
		next, err := t.look(ctx, before, agentIDs)
		var refusal *fault.Fault
		switch {
		case ctx.Err() != nil:
			return
		case errors.As(err, &refusal):
			next = &sharedPage{
				LogPage: reading.LogPage{Snapshot: before.Snapshot, Through: before.Through}, after: before.Through,
				anchor: before.anchor, losses: before.losses, err: refusal,
			}
		case err != nil:
			t.tails.Logger.Warn("a followed scope could not be read; the tail looks again", "error", err)
			next = before
		}
		t.nameLoss(before, next)
		if next != before {
			next.number = number
			t.publish(next)
		}
		if err == nil && next.Through < next.end() {
			continue
		}
		t.pause(ctx, next)
	}
}

func (t *tail) publish(next *sharedPage) {
	next.superseded = make(chan struct{})
	t.mutex.Lock()
	defer t.mutex.Unlock()
	close(t.latest.superseded)
	t.latest = next
}

// pause waits until it is time to look: after a wake-up, after a while, or when a rule changes by time. What is handed over
// meanwhile is published without a look, as far as it follows on the shared page. That does not put off any look.
func (t *tail) pause(ctx context.Context, seen *sharedPage) {
	wait := t.tails.LookAgain
	if change := seen.nextChange(); !change.IsZero() {
		wait = min(wait, max(change.Sub(t.tails.DB.Now()), time.Millisecond))
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for seen != nil {
		select {
		case <-t.listener.Woken():
			seen = t.take(seen)
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// take publishes what was handed over to the tail. It returns nil when the tail has to look.
func (t *tail) take(seen *sharedPage) *sharedPage {
	given, look := t.listener.Take()
	if look {
		return nil
	}
	latest := seen
	for _, stored := range given {
		next := t.takeOne(latest, stored)
		if look = next == nil; look {
			break
		}
		latest = next
	}
	if latest != seen {
		t.publish(latest) // once, so that not each of them wakes the followers
	}
	if look {
		return nil
	}
	return latest
}

// takeOne returns the page that follows by one handover. It returns nil when the tail has to look.
func (t *tail) takeOne(seen *sharedPage, stored *wake.Handover) (next *sharedPage) {
	defer func() {
		if cause := recover(); cause != nil { // nobody above would contain it
			t.tails.Logger.Error("panic while taking what was handed over", "cause", cause)
			next = nil
		}
	}()
	if scope, takes := t.scope.(taker); takes {
		return scope.take(t.tails, seen, stored)
	}
	return nil
}

// look reads the scope anew.
func (t *tail) look(ctx context.Context, before *sharedPage, agentIDs []string) (next *sharedPage, err error) {
	defer fault.Recover(&err) // nobody above would contain it
	err = t.tails.DB.ReadFor(ctx, database.Reader{}, func(tx *database.Tx) (err error) {
		next, err = t.scope.look(t.tails, tx, before, agentIDs)
		return err
	})
	return next, err
}

// begin counts a look, and returns the agents whose records the look must read.
func (t *tail) begin() (number int64, agentIDs []string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.begun++
	names := make([]string, 0, len(t.followers))
	for agent := range t.followers {
		names = append(names, agent)
	}
	slices.Sort(names)
	return t.begun, names
}
