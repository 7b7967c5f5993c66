package subscriptions

import (
	"context"
	"errors"
	"time"

	"openintent/agents"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/messaging"
)

// endpointRecheck is how often the poster checks whether an agent has registered an endpoint. No wake-up announces that.
const endpointRecheck = 30 * time.Second

// These sentences explain to the owner of a subscription why nothing is posted.
const (
	noEndpoint = "The agent has registered no endpoint; deliveries wait until it registers one."
	noAccess   = "The agent has no access to what the subscription follows; nothing is delivered until it gains access."
)

// finding is the result of an examination.
type finding struct {
	// over is true when the subscription has ended.
	over bool
	// job is the work to do. When it is nil, there is nothing to do before at, or before a wake-up if at is zero.
	job *job
	at  time.Time
}

// examine gathers what is new for a subscription, and finds out whether something is due and where to post it. While another
// replica posts for the subscription, that replica does all of this.
func (p *poster) examine(ctx context.Context, f *followed) (_ finding, err error) {
	defer fault.Recover(&err) // nobody else recovers on the poster's goroutines
	seen, err := p.refresh(ctx, f)
	if err == nil {
		paused, err := p.service.paused(ctx, seen.sub)
		if err != nil || len(paused) > 0 {
			return finding{}, err // whoever takes it over wakes it
		}
	}
	if err == nil && !seen.sub.leasedByOther("", seen.now) {
		_, err = f.gatherer.gather(ctx, seen)
	}
	switch {
	case errors.Is(err, errNotFound), errors.Is(err, errEnded):
		return finding{over: true}, nil
	case isRefusal(err) && seen != nil:
		if err := p.service.storeProblem(ctx, seen.sub, noAccess); err != nil {
			return finding{}, err
		}
	case err != nil:
		return finding{}, err
	}
	if seen.sub.leasedByOther("", seen.now) {
		return finding{at: seen.sub.consumerUntil}, nil
	}
	waiting, err := p.service.readQueues(ctx, f.no)
	if err != nil {
		return finding{}, err
	}
	now := p.service.db.Now()
	if next := waiting.next(now); next.IsZero() || next.After(now) {
		if seen.more && !f.gatherer.full {
			next = now
		}
		return finding{at: next}, nil
	}
	url, err := p.destination(ctx, seen.sub)
	if err != nil {
		return finding{}, err
	}
	if url == "" {
		return finding{at: now.Add(endpointRecheck)}, p.service.storeProblem(ctx, seen.sub, noEndpoint)
	}
	return finding{job: &job{f, seen.sub, url}}, nil
}

// refresh looks how far a subscription has come and where there is something to gather.
func (p *poster) refresh(ctx context.Context, f *followed) (*progress, error) {
	if f.watch == nil {
		f.watch = p.service.messaging.Watch(messaging.Watched{
			Agent: f.subscriber, IntentNo: f.intentNo, Calls: func() { p.woken(f.no) },
		})
		f.watch.Subscription(f.no)
	}
	return f.gatherer.look(ctx, f.watch)
}

// destination returns the URL to which a subscription's deliveries are posted. It is empty while the agent has no registered
// endpoint.
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
