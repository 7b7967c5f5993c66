package subscriptions

import (
	"context"
	"errors"
	"time"

	"openintent/agents"
	"openintent/database"
)

// endpointLook is after how long it is looked whether an agent has registered an endpoint: nothing tells of it.
const endpointLook = 30 * time.Second

// What keeps a subscription from being posted, for its owner to read.
const (
	noEndpoint = "The agent has registered no endpoint; deliveries wait until it does."
	noAccess   = "The agent has no access to what the subscription follows; nothing is delivered until it has."
)

// finding is what an examination of a subscription led to.
type finding struct {
	// over is true when the subscription delivers no more.
	over bool
	// job is what there is to do; nil: nothing before at, or with the zero time before something wakes.
	job *job
	at  time.Time
}

// examine gathers what is new for a subscription and finds whether something is due, and where to post it. While another
// replica posts, that one does all of it.
func (p *poster) examine(ctx context.Context, f *followed) (finding, error) {
	seen, err := p.look(ctx, f)
	if err == nil && !seen.sub.held("", seen.now) {
		_, err = f.gatherer.gather(ctx, seen)
	}
	switch {
	case errors.Is(err, errNotFound), errors.Is(err, errEnded):
		return finding{over: true}, nil
	case isRefusal(err) && seen != nil:
		if err := p.service.noteProblem(ctx, seen.sub, noAccess); err != nil {
			return finding{}, err
		}
	case err != nil:
		return finding{}, err
	}
	if seen.sub.held("", seen.now) {
		return finding{at: seen.sub.consumerUntil}, nil
	}
	waiting, err := p.service.readQueues(ctx, f.no)
	if err != nil {
		return finding{}, err
	}
	now := p.service.db.Now()
	if next := waiting.next(); next.IsZero() || next.After(now) {
		return finding{at: next}, nil
	}
	url, err := p.destination(ctx, seen.sub)
	if err != nil {
		return finding{}, err
	}
	if url == "" {
		return finding{at: now.Add(endpointLook)}, p.service.noteProblem(ctx, seen.sub, noEndpoint)
	}
	return finding{job: &job{f, seen.sub, url}}, nil
}

// look looks at a subscription and lets its watch follow what it found to be of interest.
func (p *poster) look(ctx context.Context, f *followed) (*sight, error) {
	if f.watch == nil {
		f.watch = p.service.messaging.WatchIntentsCalling(f.subscriber, func() { p.woken(f.no) })
		f.watch.Subscription(f.no)
	}
	seen, err := f.gatherer.look(ctx, f.subscriber)
	if err != nil {
		return nil, err
	}
	if follow(f.watch, seen) { // what was stored before the watch began to listen did not wake it
		if seen, err = f.gatherer.look(ctx, f.subscriber); err != nil {
			return nil, err
		}
	}
	p.index(f, seen.intents)
	return seen, p.noteHeads(ctx, seen.intents)
}

// index notes which intents a subscription follows, for the survey.
func (p *poster) index(f *followed, intentNos []int64) {
	wanted := make(map[int64]struct{}, len(intentNos))
	for _, intentNo := range intentNos {
		wanted[intentNo] = struct{}{}
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for intentNo := range wanted {
		if _, indexed := f.intents[intentNo]; indexed {
			continue
		}
		if p.byIntent[intentNo] == nil {
			p.byIntent[intentNo] = make(map[*followed]struct{})
		}
		p.byIntent[intentNo][f] = struct{}{}
	}
	for intentNo := range f.intents {
		if _, still := wanted[intentNo]; !still {
			p.forgetIntent(f, intentNo)
		}
	}
	f.intents = wanted
}

// destination is where a subscription's deliveries are posted to; empty while its agent has registered no endpoint.
func (p *poster) destination(ctx context.Context, sub *subscription) (url string, err error) {
	if !sub.useEndpoint {
		return sub.webhookURL, nil
	}
	err = p.service.db.ReadStatement(ctx, func(tx *database.Tx) error {
		url, err = agents.Endpoint(tx, sub.subscriber)
		return err
	})
	return url, err
}
