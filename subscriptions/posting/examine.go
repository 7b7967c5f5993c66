package posting

import (
	"context"
	"errors"
	"time"

	"openintent/agents"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/messaging"
	"openintent/subscriptions/delivering"
	"openintent/subscriptions/record"
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
func (p *Poster) examine(ctx context.Context, f *followed) (_ finding, err error) {
	defer fault.Recover(&err) // nobody else recovers on the poster's goroutines
	seen, err := p.refresh(ctx, f)
	if err == nil {
		paused, err := p.paused(ctx, seen.Sub)
		if err != nil || len(paused) > 0 {
			return finding{}, err // whoever takes it over wakes it
		}
	}
	if err == nil && !seen.Sub.LeasedByOther("", seen.Now) {
		_, err = f.gatherer.Gather(ctx, seen)
	}
	switch {
	case errors.Is(err, record.ErrNotFound), errors.Is(err, record.ErrEnded):
		return finding{over: true}, nil
	case delivering.IsRefusal(err) && seen != nil:
		if err := p.storeProblem(ctx, seen.Sub, noAccess); err != nil {
			return finding{}, err
		}
	case err != nil:
		return finding{}, err
	}
	if seen.Sub.LeasedByOther("", seen.Now) {
		return finding{at: seen.Sub.ConsumerUntil}, nil
	}
	waiting, err := p.readQueues(ctx, f.no)
	if err != nil {
		return finding{}, err
	}
	now := p.db.Now()
	if next := waiting.next(now); next.IsZero() || next.After(now) {
		if seen.More && !f.gatherer.Full {
			next = now
		}
		return finding{at: next}, nil
	}
	url, err := p.destination(ctx, seen.Sub)
	if err != nil {
		return finding{}, err
	}
	if url == "" {
		return finding{at: now.Add(endpointRecheck)}, p.storeProblem(ctx, seen.Sub, noEndpoint)
	}
	return finding{job: &job{f, seen.Sub, url}}, nil
}

// refresh looks how far a subscription has come and where there is something to gather.
func (p *Poster) refresh(ctx context.Context, f *followed) (*delivering.Progress, error) {
	if f.watch == nil {
		f.watch = p.messaging.Watch(messaging.Watched{
			Agent: f.subscriber, IntentNo: f.intentNo, Calls: func() { p.woken(f.no) },
		})
		f.watch.Subscription(f.no)
	}
	return f.gatherer.Look(ctx, f.watch)
}

// destination returns the URL to which a subscription's deliveries are posted. It is empty while the agent has no registered
// endpoint.
func (p *Poster) destination(ctx context.Context, sub *record.Subscription) (url string, err error) {
	if !sub.UseEndpoint {
		return sub.WebhookURL, nil
	}
	err = p.db.ReadStatement(ctx, func(tx *database.Tx) error {
		url, err = agents.Endpoint(tx, sub.Subscriber)
		return err
	})
	return url, err
}
