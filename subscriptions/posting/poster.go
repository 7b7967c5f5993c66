package posting

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/webhooks"
	"openintent/messaging"
	"openintent/subscriptions/delivering"
	"openintent/subscriptions/record"
	"openintent/subscriptions/schedule"
)

const (
	// examiners is how many subscriptions are examined simultaneously. An examination only queries the database, so no endpoint
	// can hold it up.
	examiners = 4
	// idleRecheck is the shortest time after which a subscription is examined although nothing asked for it. A wake-up for something else
	// than its intents may have been lost.
	idleRecheck = 5 * time.Minute
)

// Poster is the consumer of the subscriptions whose deliveries are posted. Every replica has one; the lease on a subscription
// decides which of them posts.
//
//	wake-ups, schedule ──> examine: gather, find what is due
//	                                   └──> queue of the endpoint ──> dispatch: acquire, post, note, release
//
// A subscription at rest costs a watch and a place in the schedule, but no goroutine. Each endpoint has a separate queue, so an
// endpoint that hangs does not hold up any other.
type Poster struct {
	db        *database.DB
	messaging *messaging.Service
	changes   *record.GroupCommit
	supplier  *delivering.Supplier
	webhooks  *webhooks.Sender
	encode    func(proto.Message) ([]byte, error)
	logger    *slog.Logger
	paused    func(context.Context, *record.Subscription) (map[string]string, error)
	trace     Trace
	lookAgain time.Duration

	// rescheduled notifies run that the earliest time in the schedule has changed.
	rescheduled chan struct{}
	ctx         context.Context
	cancel      context.CancelFunc
	running     sync.WaitGroup

	mutex     sync.Mutex
	stopped   bool
	followed  map[int64]*followed
	schedule  schedule.Queue[*followed]
	queue     []*followed
	examining int
	endpoints map[string]*endpointQueue
	// examinedAt is when run examined last what was due.
	examinedAt time.Time
}

// posted is a subscription whose deliveries are posted, as it is stored.
type posted struct {
	no         int64
	subscriber string
	// intentNo is the only intent that the subscription follows, or 0.
	intentNo int64
}

// followed is what the poster keeps about a posted subscription. The gatherer and the watch belong to the goroutine
// that is busy with it; the poster's mutex guards the rest.
type followed struct {
	posted
	// Its time is when the subscription is examined even without a wake-up. It has a place in the schedule while it rests.
	schedule.Timer
	// busy is true from the moment when the subscription is queued to be examined until it rests again. again is true when it
	// was woken meanwhile.
	busy, again bool
	// restsUntil is when its endpoint accepts posts again. Until then, examining the subscription is useless.
	restsUntil time.Time

	gatherer *delivering.Gatherer
	watch    *messaging.Watch
}

// endpointQueue contains the jobs of one endpoint.
type endpointQueue struct {
	waiting []job
	running int
}

// job is a subscription that has something to post.
type job struct {
	followed *followed
	sub      *record.Subscription
	url      string
}

// Config configures a poster.
type Config struct {
	DB        *database.DB
	Messaging *messaging.Service
	Changes   *record.GroupCommit
	Supplier  *delivering.Supplier
	// Webhooks checks URLs and posts to them.
	Webhooks *webhooks.Sender
	// Encode encodes a message of the contract in its JSON form.
	Encode func(proto.Message) ([]byte, error)
	Logger *slog.Logger
	// Paused returns, by its maker, why a subscription is paused; nothing while it is not.
	Paused func(context.Context, *record.Subscription) (map[string]string, error)
	// Trace is told of each post; nil when nobody wants to know.
	Trace Trace
	// LookAgain is the longest time for which the poster does not look at the clock.
	LookAgain time.Duration
}

// New makes the poster of a replica; call start, too.
func New(cfg Config) *Poster {
	p := &Poster{
		db: cfg.DB, messaging: cfg.Messaging, changes: cfg.Changes, supplier: cfg.Supplier, webhooks: cfg.Webhooks, encode: cfg.Encode,
		logger: cfg.Logger, paused: cfg.Paused, trace: cfg.Trace, lookAgain: cfg.LookAgain,
		rescheduled: make(chan struct{}, 1), followed: make(map[int64]*followed), endpoints: make(map[string]*endpointQueue),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Start begins to post.
func (p *Poster) Start() { p.running.Go(p.run) }

// Stop ends posting and waits until the poster has stored which deliveries were made.
func (p *Poster) Stop() {
	p.cancel()
	p.mutex.Lock()
	p.stopped = true
	p.mutex.Unlock()
	p.running.Wait()
	for _, f := range p.followed {
		p.unwatch(f)
	}
	clear(p.followed)
}

// run examines each resting subscription when its time has come. Somebody may set the clock meanwhile, so run reads it at least
// each time the slow timer would fire.
func (p *Poster) run() {
	for {
		timer := time.NewTimer(p.untilNext())
		select {
		case <-p.ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		case <-p.rescheduled:
			timer.Stop()
		}
		p.ExamineDue()
	}
}

// untilNext returns how long to wait until the next subscription must be examined.
func (p *Poster) untilNext() time.Duration {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	next := p.schedule.Next()
	if next == nil {
		return p.lookAgain
	}
	return min(max(next.At.Sub(p.db.Now()), time.Millisecond), p.lookAgain)
}

// ExamineDue examines the subscriptions whose time has come, and all of them if the clock was set back: by that clock they would rest too
// long.
func (p *Poster) ExamineDue() {
	now := p.db.Now()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.examinedAt.Sub(now) > record.ClockSkew {
		for _, f := range p.followed {
			f.restsUntil = time.Time{}
			p.enqueue(f, now)
		}
	}
	p.examinedAt = now
	for next := p.schedule.Next(); next != nil && !p.stopped && !next.At.After(now); next = p.schedule.Next() {
		p.enqueue(next, now)
	}
}

// Follow begins to follow a subscription that was just created, and examines it.
func (p *Poster) Follow(sub *record.Subscription) {
	p.followAll(posted{sub.No, sub.Subscriber, sub.IntentNo})
}

// Resting returns the subscriptions that rest, with the times until which they do unless they are woken, and how many goroutines are busy
// with others.
func (p *Poster) Resting() (until map[int64]time.Time, busy int) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	until = make(map[int64]time.Time)
	for _, f := range p.followed {
		if f.Scheduled() {
			until[f.no] = f.At
		}
	}
	busy = p.examining
	for _, queue := range p.endpoints {
		busy += queue.running
	}
	return until, busy
}

// followAll begins to follow the subscriptions that the poster does not know yet, and examines them.
func (p *Poster) followAll(subscriptions ...posted) {
	now := p.db.Now()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, one := range subscriptions {
		if p.stopped || p.followed[one.no] != nil {
			continue
		}
		f := &followed{posted: one, gatherer: p.supplier.NewGatherer(one.no, one.subscriber, one.intentNo)}
		p.followed[one.no] = f
		p.enqueue(f, now)
	}
}

// woken asks for a subscription to be examined. It ignores subscriptions that the poster does not follow.
func (p *Poster) woken(no int64) {
	now := p.db.Now()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if f := p.followed[no]; f != nil {
		p.enqueue(f, now)
	}
}

// enqueue asks for a subscription to be examined. If a goroutine is busy with it, it is examined once more afterwards. If its
// endpoint accepts nothing now, it is examined when the endpoint accepts posts again. The caller holds the mutex.
func (p *Poster) enqueue(f *followed, now time.Time) {
	switch {
	case p.stopped:
	case f.busy:
		f.again = true
	case f.restsUntil.After(now):
		p.restUntil(f, f.restsUntil)
	default:
		p.schedule.Remove(f)
		f.busy, f.again = true, false
		p.queue = append(p.queue, f)
		if p.examining < examiners {
			p.examining++
			p.running.Go(p.examineQueue)
		}
	}
}

// examineQueue examines subscriptions until the queue is empty.
func (p *Poster) examineQueue() {
	for {
		p.mutex.Lock()
		if len(p.queue) == 0 || p.stopped {
			p.examining--
			p.mutex.Unlock()
			return
		}
		f := p.queue[0]
		p.queue = p.queue[1:]
		p.mutex.Unlock()
		p.examineOne(f)
	}
}

func (p *Poster) examineOne(f *followed) {
	found, err := p.examine(p.ctx, f)
	if err != nil {
		p.fail(f, err)
		return
	}
	switch {
	case found.over:
		p.unfollow(f)
	case found.job != nil:
		p.queueJob(*found.job)
	default:
		p.rest(f, found.at)
	}
}

// fail lets a subscription rest for a short time after an error.
func (p *Poster) fail(f *followed, err error) {
	if p.ctx.Err() == nil {
		p.logger.Warn("could not examine a webhook subscription or post its deliveries; will try again", "error", err)
	}
	p.rest(f, p.db.Now().Add(p.lookAgain))
}

// rest lets a subscription rest until a time. If the time is zero, the subscription rests until it is woken or has been idle
// for a long time. A random part of that idle time keeps very many subscriptions from being examined together.
func (p *Poster) rest(f *followed, at time.Time) {
	now := p.db.Now()
	if at.IsZero() {
		at = now.Add(idleRecheck + rand.N(idleRecheck))
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	f.busy = false
	if f.again && !p.stopped {
		p.enqueue(f, now)
		return
	}
	p.restUntil(f, at)
}

// restUntil schedules a subscription. The caller holds the mutex.
func (p *Poster) restUntil(f *followed, at time.Time) {
	p.schedule.Add(f, at)
	if p.schedule.Next() == f {
		select {
		case p.rescheduled <- struct{}{}:
		default:
		}
	}
}

// unfollow forgets a subscription that has ended.
func (p *Poster) unfollow(f *followed) {
	p.unwatch(f)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.schedule.Remove(f)
	delete(p.followed, f.no)
}

// unwatch ends everything that may still wake a subscription.
func (p *Poster) unwatch(f *followed) {
	if f.watch != nil {
		f.watch.Close()
	}
}

// queueJob puts a subscription into the queue of its endpoint. As many goroutines work through that queue as the endpoint may
// have posts under way.
func (p *Poster) queueJob(j job) {
	name := p.webhooks.Endpoint(j.url)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.stopped {
		return
	}
	l := p.endpoints[name]
	if l == nil {
		l = new(endpointQueue)
		p.endpoints[name] = l
	}
	l.waiting = append(l.waiting, j)
	if l.running < webhooks.Concurrency {
		l.running++
		p.running.Go(func() { p.runQueue(name, l) })
	}
}

func (p *Poster) runQueue(name string, l *endpointQueue) {
	for {
		p.mutex.Lock()
		if len(l.waiting) == 0 || p.stopped {
			if l.running--; l.running == 0 {
				delete(p.endpoints, name)
			}
			p.mutex.Unlock()
			return
		}
		j := l.waiting[0]
		l.waiting = l.waiting[1:]
		p.mutex.Unlock()
		p.runJob(j)
	}
}

// runJob posts what is due of one subscription. If that panics, the subscription rests for a short time.
func (p *Poster) runJob(j job) {
	var err error
	defer func() {
		if err != nil {
			p.fail(j.followed, err)
		}
	}()
	defer fault.Recover(&err)
	p.dispatch(p.ctx, j)
}
