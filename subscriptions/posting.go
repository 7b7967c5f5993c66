package subscriptions

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"openintent/messaging"
	"openintent/webhooks"
)

const (
	// examiners is how many subscriptions are examined at once. They ask the database only, so endpoints cannot hold them up.
	examiners = 4
	// idleCheck is after how long at least a subscription is examined although nothing asked for it, in case a wake-up was lost
	// that the monitor cannot make good.
	idleCheck = 5 * time.Minute
)

// poster is the consumer of the subscriptions whose deliveries are posted. Every replica has one; the lease on a subscription
// decides which of them posts.
//
//	wake-ups, monitor, schedule ──> examine: gather, find what is due ──> lane of the endpoint ──> turn: take, post, settle, leave
//
// A subscription at rest costs a watch, a place in the schedule, and no goroutine. What is due is posted in lanes, one for each
// endpoint, so that one that hangs holds up nothing but itself.
type poster struct {
	service *Service
	encode  func(proto.Message) ([]byte, error)
	// rescheduled tells that something is to be examined earlier than everything else.
	rescheduled chan struct{}
	ctx         context.Context
	cancel      context.CancelFunc
	running     sync.WaitGroup

	mutex     sync.Mutex
	stopped   bool
	followed  map[int64]*followed
	schedule  schedule
	queue     []*followed
	examining int
	lanes     map[string]*lane
}

// postedSubscription is a subscription whose deliveries are posted, as it is stored.
type postedSubscription struct {
	no         int64
	subscriber string
	// wide is true when it follows whatever reaches the subscriber.
	wide bool
}

// followed is what the poster keeps of a posted subscription. The gatherer, the watch and the observer belong to whoever is
// busy with it, the rest is guarded by the poster's mutex.
type followed struct {
	postedSubscription
	// busy is true from when it is queued to be examined until it rests again; again, when it was woken meanwhile.
	busy, again bool
	// at is when it is examined without being woken, and index its place in the schedule, from 1; 0 while it does not rest.
	at    time.Time
	index int
	// heldUntil is until when its endpoint takes nothing, so that examining is of no use.
	heldUntil time.Time

	gatherer *gatherer
	watch    *messaging.Watch
	observer *observer
}

func (f *followed) scheduled() bool { return f.index > 0 }

// lane is what waits for one endpoint.
type lane struct {
	waiting []job
	running int
}

// job is a subscription with something to be posted.
type job struct {
	followed *followed
	sub      *subscription
	url      string
}

func newPoster(s *Service, encode func(proto.Message) ([]byte, error)) *poster {
	p := &poster{
		service: s, encode: encode, rescheduled: make(chan struct{}, 1),
		followed: make(map[int64]*followed), lanes: make(map[string]*lane),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

func (p *poster) start() { p.running.Go(p.run) }

// stop ends posting and waits until what was delivered is noted.
func (p *poster) stop() {
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

// run examines each resting subscription when its time has come. The time may come earlier than it seemed, when the clock is
// set, so it is compared with the clock at the pace of the slow timer.
func (p *poster) run() {
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
		p.examineDue()
	}
}

// untilNext is how long to wait for the next subscription that is to be examined.
func (p *poster) untilNext() time.Duration {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	next := p.schedule.next()
	if next == nil {
		return p.service.lookAgain
	}
	return min(max(next.at.Sub(p.service.db.Now()), time.Millisecond), p.service.lookAgain)
}

func (p *poster) examineDue() {
	now := p.service.db.Now()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for next := p.schedule.next(); next != nil && !p.stopped && !next.at.After(now); next = p.schedule.next() {
		p.enqueue(next, now)
	}
}

// follow begins to care for the subscriptions that it does not care for yet, and examines them.
func (p *poster) follow(subscriptions ...postedSubscription) {
	now := p.service.db.Now()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, one := range subscriptions {
		if p.stopped || p.followed[one.no] != nil {
			continue
		}
		f := &followed{postedSubscription: one, gatherer: p.service.newGatherer(one.no)}
		p.followed[one.no] = f
		p.enqueue(f, now)
	}
}

// woken asks for a subscription to be examined. It ignores one whose deliveries are not posted.
func (p *poster) woken(no int64) {
	now := p.service.db.Now()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if f := p.followed[no]; f != nil {
		p.enqueue(f, now)
	}
}

// enqueue asks for a subscription to be examined: once more if somebody is busy with it, and when its endpoint takes posts
// again if it does not now. The mutex is held.
func (p *poster) enqueue(f *followed, now time.Time) {
	switch {
	case p.stopped:
	case f.busy:
		f.again = true
	case f.heldUntil.After(now):
		p.restUntil(f, f.heldUntil)
	default:
		p.schedule.remove(f)
		f.busy, f.again = true, false
		p.queue = append(p.queue, f)
		if p.examining < examiners {
			p.examining++
			p.running.Go(p.examineQueue)
		}
	}
}

// examineQueue examines what is queued until nothing is.
func (p *poster) examineQueue() {
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

func (p *poster) examineOne(f *followed) {
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

// fail lets a subscription rest that could not be dealt with.
func (p *poster) fail(f *followed, err error) {
	if p.ctx.Err() == nil {
		p.service.logger.Warn("a webhook subscription could not be dealt with; it is tried again", "error", err)
	}
	p.rest(f, p.service.db.Now().Add(p.service.lookAgain))
}

// rest ends being busy with a subscription, until a time or, with none, until it is woken or was idle for long. A random part
// of that time keeps very many from being examined at once.
func (p *poster) rest(f *followed, at time.Time) {
	now := p.service.db.Now()
	if at.IsZero() {
		at = now.Add(idleCheck + rand.N(idleCheck))
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

// restUntil schedules a subscription. The mutex is held.
func (p *poster) restUntil(f *followed, at time.Time) {
	p.schedule.add(f, at)
	if p.schedule.next() == f {
		select {
		case p.rescheduled <- struct{}{}:
		default:
		}
	}
}

// unfollow ends caring for a subscription that is over.
func (p *poster) unfollow(f *followed) {
	p.unwatch(f)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.schedule.remove(f)
	delete(p.followed, f.no)
}

// unwatch ends what may still wake a subscription.
func (p *poster) unwatch(f *followed) {
	if f.watch != nil {
		f.watch.Close()
		p.service.monitor.remove(f.observer)
	}
}

// queueJob puts a subscription into its endpoint's lane, on which as many run at once as the endpoint takes posts.
func (p *poster) queueJob(j job) {
	name := p.service.webhooks.Endpoint(j.url)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.stopped {
		return
	}
	l := p.lanes[name]
	if l == nil {
		l = new(lane)
		p.lanes[name] = l
	}
	l.waiting = append(l.waiting, j)
	if l.running < webhooks.Concurrency {
		l.running++
		p.running.Go(func() { p.runLane(name, l) })
	}
}

func (p *poster) runLane(name string, l *lane) {
	for {
		p.mutex.Lock()
		if len(l.waiting) == 0 || p.stopped {
			if l.running--; l.running == 0 {
				delete(p.lanes, name)
			}
			p.mutex.Unlock()
			return
		}
		j := l.waiting[0]
		l.waiting = l.waiting[1:]
		p.mutex.Unlock()
		p.turn(p.ctx, j)
	}
}
