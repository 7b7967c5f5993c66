package messaging

import (
	"context"
	"fmt"
	"sync"
	"time"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
)

// slowLooks is how many ticks of the slow timer pass until a watch reads the pages of its waits although nothing seems to have
// come. The state says whether anything has, so this only makes sure.
const slowLooks = 12

// inboxWatches are the agents for whose inboxes calls wait here. All waits for one inbox share a watch, and one goroutine that reads. So a
// further wait costs the same, however many intents reach the agent, and waking it costs no read of its own.
type inboxWatches struct {
	service *Service
	running sync.WaitGroup

	mutex sync.Mutex
	of    map[string]*inboxWatch
}

// inboxWatch watches one agent's inbox for as long as calls wait for it.
//
//	wake-ups ──> which intents have changed? ──> anything for the agent? ──> a page for each query ──> its waits
//
// Whatever is committed after the watch has looked wakes it. A wait that joins has yet to see what came between its first look and now,
// so the next tick reads its page in any case.
type inboxWatch struct {
	agent   string
	service *Service
	watch   *Watch
	// ctx ends when nobody waits any more.
	ctx context.Context
	end context.CancelFunc
	// joined is filled when a wait has joined.
	joined chan struct{}

	// queries are what the waits wait for. The mutex of inboxWatches guards them.
	queries map[string]*inboxWaits

	// The rest is the goroutine's own. differs is true until the pages have been read that may differ.
	differs bool
	// ticks counts the ticks of the slow timer since all pages were read.
	ticks int
}

// inboxWaits are waits for the same page of an inbox.
type inboxWaits struct {
	query inboxQuery
	calls map[*inboxWait]struct{}
	// fresh is true while the page has not been read since the last of them joined. begun is how many readings of it have begun, and latest
	// is the page as the last of them found it, if that was empty.
	fresh  bool
	begun  int
	latest *inbox
}

// inboxWait is one call that waits.
type inboxWait struct {
	watch *inboxWatch
	key   string
	// begun is how many readings of its page had begun when it joined. These may lack what the caller knows already.
	begun int
	// came gets a page that is not empty, or why there will be none.
	came chan inboxCame
}

type inboxCame struct {
	page *inbox
	err  error
}

// key identifies a query among those of one agent. Queries with the same key have the same page.
func (q inboxQuery) key() string {
	return fmt.Sprintf("%s %q %t %p %v %d %v %t %t %d", q.by.KeyID, q.by.Agent, q.by.IsOperator, q.by.Scope, q.after, q.limit, q.policies, q.attention,
		q.unhanded, q.handedSince.UnixMicro())
}

// join begins to wait. The caller must call leave.
func (w *inboxWatches) join(q inboxQuery) *inboxWait {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	watch := w.of[q.agent]
	if watch == nil {
		watch = &inboxWatch{
			agent: q.agent, service: w.service, joined: make(chan struct{}, 1), queries: make(map[string]*inboxWaits),
			watch: w.service.Watch(Watched{Agent: q.agent}),
		}
		watch.ctx, watch.end = context.WithCancel(context.Background())
		w.of[q.agent] = watch
		w.running.Go(func() { watch.run(w) })
	}
	joined := &inboxWait{watch: watch, key: q.key(), came: make(chan inboxCame, 1)}
	waits := watch.queries[joined.key]
	if waits == nil {
		waits = &inboxWaits{query: q, calls: make(map[*inboxWait]struct{})}
		watch.queries[joined.key] = waits
	}
	if q.until.After(waits.query.until) {
		waits.query.until = q.until // the page is read for whoever waits longest
	}
	waits.calls[joined], waits.fresh, joined.begun = struct{}{}, true, waits.begun
	select {
	case watch.joined <- struct{}{}:
	default:
	}
	return joined
}

// leave ends a wait. It returns the latest page for it, and nil if none was read since it joined.
func (w *inboxWatches) leave(left *inboxWait) (latest *inbox) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	watch := left.watch
	if waits := watch.queries[left.key]; waits != nil {
		if waits.begun > left.begun {
			latest = waits.latest
		}
		if delete(waits.calls, left); len(waits.calls) == 0 {
			delete(watch.queries, left.key)
		}
	}
	if len(watch.queries) == 0 && w.of[watch.agent] == watch {
		delete(w.of, watch.agent)
		watch.end()
		watch.watch.Close()
	}
	return latest
}

// run takes turns until nobody waits any more.
func (w *inboxWatch) run(all *inboxWatches) {
	timer := time.NewTimer(w.service.lookAgain)
	defer timer.Stop()
	for {
		tick := false
		select {
		case <-w.joined:
		case <-w.watch.C():
		case <-timer.C:
			tick = true
		case <-w.ctx.Done():
			return
		}
		err := w.lookAgain(all, tick)
		timer.Reset(w.service.lookAgain)
		switch {
		case err == nil, w.ctx.Err() != nil:
		case database.IsUnavailable(err):
			w.differs = true // what woke it is forgotten
			w.service.logger.Warn("calls that wait for an inbox could not look into it; they look again", "error", err)
		default:
			w.differs = true
			all.deliver(w.all(all), inboxCame{err: err})
		}
	}
}

// lookAgain finds out whether anything may have come for the agent, and reads the pages that may differ.
func (w *inboxWatch) lookAgain(all *inboxWatches, tick bool) (err error) {
	defer fault.Recover(&err) // nobody else recovers on this goroutine
	reading, ok := w.reading(all)
	if !ok {
		return nil
	}
	if err := w.look(reading); err != nil {
		return err
	}
	if w.ticks++; !tick {
		w.ticks--
	}
	if w.ticks >= slowLooks {
		w.differs = true
	}
	for _, waits := range w.due(all) {
		query := all.queryOf(waits)
		page, err := w.service.lookIntoInbox(caller.NewContext(w.ctx, query.by), query)
		switch {
		case database.IsUnavailable(err), w.ctx.Err() != nil:
			w.differs = true
			return err
		case err != nil || len(page.items) > 0:
			all.deliver([]*inboxWaits{waits}, inboxCame{page, err})
		default:
			all.saw(waits, page)
		}
	}
	if w.differs {
		w.differs, w.ticks = false, 0
	}
	return nil
}

// reading returns the context in which the watch reads: that of one of the callers who wait. ok is false if nobody does.
func (w *inboxWatch) reading(all *inboxWatches) (_ context.Context, ok bool) {
	all.mutex.Lock()
	defer all.mutex.Unlock()
	for _, waits := range w.queries {
		return caller.NewContext(w.ctx, waits.query.by), true
	}
	return nil, false
}

// all returns all waits.
func (w *inboxWatch) all(watches *inboxWatches) (all []*inboxWaits) {
	watches.mutex.Lock()
	defer watches.mutex.Unlock()
	for _, waits := range w.queries {
		all = append(all, waits)
	}
	return all
}

// queryOf returns what waits wait for. A call that joins them may have changed how long they wait.
func (w *inboxWatches) queryOf(waits *inboxWaits) inboxQuery {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return waits.query
}

// due returns the waits whose page is to be read now: all of them if something may have come, and else those that have just
// begun.
func (w *inboxWatch) due(watches *inboxWatches) (due []*inboxWaits) {
	watches.mutex.Lock()
	defer watches.mutex.Unlock()
	for _, waits := range w.queries {
		if waits.fresh || w.differs {
			waits.fresh, waits.latest = false, nil
			waits.begun++
			due = append(due, waits)
		}
	}
	return due
}

// deliver ends waits, by what came of the reading that has begun last. The calls leave by themselves.
func (w *inboxWatches) deliver(to []*inboxWaits, came inboxCame) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, waits := range to {
		for call := range waits.calls {
			if came.err == nil && call.begun >= waits.begun {
				continue // it has joined since the reading began
			}
			select {
			case call.came <- came:
			default: // it has been told before
			}
		}
	}
}

// saw notes a page that was empty.
func (w *inboxWatches) saw(waits *inboxWaits, page *inbox) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	waits.latest = page
}
