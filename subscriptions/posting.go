package subscriptions

import (
	"context"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"openintent/intents"
	"openintent/messaging"
	"openintent/webhooks"
)

const (
	// examiners is how many subscriptions are examined at once. They ask the database only, so endpoints cannot hold them up.
	examiners = 4
	// idleLook is after how long a subscription is examined although nothing asked for it, in case a wake-up was lost that the
	// survey cannot make good.
	idleLook = 5 * time.Minute
	// idleLooks bounds how many of these there are in one survey.
	idleLooks = 500
)

// poster is the consumer of the subscriptions whose deliveries are posted. Every replica has one; the lease on a subscription
// decides which of them posts.
//
//	wake-ups, survey ──> examine: gather, find what is due ──> lane of the endpoint ──> turn: take, post, settle, leave
//
// A subscription at rest costs a watch and no goroutine. What is due is posted in lanes, one for each endpoint, so that one
// that hangs holds up nothing but itself.
type poster struct {
	service *Service
	encode  func(proto.Message) ([]byte, error)
	poke    chan struct{}
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mutex     sync.Mutex
	stopped   bool
	followed  map[int64]*followed
	byIntent  map[int64]map[*followed]struct{}
	queue     []*followed
	examining int
	lanes     map[string]*lane
	// heads are how the followed intents' heads stood at the last survey, or when they came to be followed.
	heads map[int64]intents.State
}

// followed is a subscription whose deliveries are posted. What is below busy belongs to who is busy with it.
type followed struct {
	no int64
	// busy is true from when it is queued to be examined until it rests again; again, when it was woken meanwhile.
	busy, again bool
	// at is when it is examined without being woken; zero: at the next survey that finds it idle for long.
	at time.Time
	// restedAt is when it was last found to have nothing to be posted.
	restedAt time.Time
	// heldUntil is until when its endpoint takes nothing, so that examining is of no use.
	heldUntil time.Time

	subscriber string
	gatherer   *gatherer
	watch      *messaging.Watch
	intents    map[int64]struct{}
}

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
		service: s, encode: encode, poke: make(chan struct{}, 1),
		followed: make(map[int64]*followed), byIntent: make(map[int64]map[*followed]struct{}), lanes: make(map[string]*lane),
		heads: make(map[int64]intents.State),
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
		if f.watch != nil {
			f.watch.Close()
		}
	}
	clear(p.followed)
}

// run surveys now and then, and examines each subscription when its time has come.
func (p *poster) run() {
	surveys := time.NewTicker(p.service.lookAgain)
	defer surveys.Stop()
	p.surveyOnce()
	for {
		timer := time.NewTimer(p.untilNext())
		select {
		case <-p.ctx.Done():
			timer.Stop()
			return
		case <-surveys.C:
			p.surveyOnce()
		case <-timer.C:
		case <-p.poke:
			timer.Stop()
		}
		p.examineDue()
	}
}

func (p *poster) surveyOnce() {
	if err := p.survey(p.ctx); err != nil && p.ctx.Err() == nil {
		p.service.logger.Warn("the webhook subscriptions could not be looked through; it is tried again", "error", err)
	}
}

// untilNext is how long until a resting subscription is to be examined.
func (p *poster) untilNext() time.Duration {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var next time.Time
	for _, f := range p.followed {
		if !f.busy && !f.at.IsZero() && (next.IsZero() || f.at.Before(next)) {
			next = f.at
		}
	}
	if next.IsZero() {
		return p.service.lookAgain
	}
	return max(next.Sub(p.service.db.Now()), time.Millisecond)
}

func (p *poster) examineDue() {
	now := p.service.db.Now()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, f := range p.followed {
		if !f.busy && !f.at.IsZero() && !f.at.After(now) {
			p.enqueue(f, now)
		}
	}
}

// follow begins to care for a subscription, if that is not done yet, and examines it.
func (p *poster) follow(no int64, subscriber string) {
	now := p.service.db.Now()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.stopped || p.followed[no] != nil {
		return
	}
	f := &followed{no: no, subscriber: subscriber, gatherer: p.service.newGatherer(no), intents: make(map[int64]struct{})}
	p.followed[no] = f
	p.enqueue(f, now)
}

// woken asks for a subscription to be examined; one whose deliveries are not posted is none of ours.
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
		f.at = f.heldUntil
	default:
		f.busy, f.again, f.at = true, false, time.Time{}
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

// rest ends being busy with a subscription, until a time or, with none, until it is woken.
func (p *poster) rest(f *followed, at time.Time) {
	now := p.service.db.Now()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	f.busy, f.at, f.restedAt = false, at, now
	if f.again {
		p.enqueue(f, now)
	}
	if !f.busy && !f.at.IsZero() {
		select {
		case p.poke <- struct{}{}:
		default:
		}
	}
}

// unfollow ends caring for a subscription that is over.
func (p *poster) unfollow(f *followed) {
	if f.watch != nil {
		f.watch.Close()
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	delete(p.followed, f.no)
	for intentNo := range f.intents {
		p.forgetIntent(f, intentNo)
	}
}

func (p *poster) forgetIntent(f *followed, intentNo int64) {
	delete(p.byIntent[intentNo], f)
	if len(p.byIntent[intentNo]) == 0 {
		delete(p.byIntent, intentNo)
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
