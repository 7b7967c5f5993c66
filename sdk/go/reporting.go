package openintent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// mostReports bounds how many reports of each kind wait; further ones are lost.
	mostReports = 1000
	// mostRefusals is how many messages of a batch may be gone before the rest of it is lost.
	mostRefusals = 10
	// reporting is how long a report waits for more of them.
	reporting = 100 * time.Millisecond
)

// reporter tells the server which messages the handlers of an agent saw, many at a time, and what became of them. Handlers do not wait for
// it, and what cannot be told is lost. A nil reporter tells nothing.
type reporter struct {
	receiver *receiver
	wake     chan struct{}
	sending  sync.Mutex

	mutex    sync.Mutex
	surfaced []string
	disposed []disposed
}

type disposed struct {
	message *Message
	as      Disposition
}

func newReporter(r *receiver) *reporter { return &reporter{receiver: r, wake: make(chan struct{}, 1)} }

// surface notes that a message's handlers are called.
func (p *reporter) surface(message *Message) {
	if p == nil {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if len(p.surfaced) < mostReports {
		p.surfaced = append(p.surfaced, message.ID)
		signal(p.wake)
	}
}

// dispose notes what became of a message.
func (p *reporter) dispose(message *Message, as Disposition) {
	if p == nil {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if len(p.disposed) < mostReports {
		p.disposed = append(p.disposed, disposed{message, as})
		signal(p.wake)
	}
}

// outcome notes what became of a message by what its handlers returned. An answer to a request says it by itself.
func (p *reporter) outcome(agent *Agent, message *Message, answer any, err error) {
	replied := message.further.Load() > 0
	switch {
	case p == nil || len(agent.matching(message)) == 0:
	case err != nil:
		p.dispose(message, DispositionFailed)
	case message.MessageType == Request && (replied || answer != nil):
	case replied:
		p.dispose(message, DispositionResponded)
	default:
		p.dispose(message, DispositionAcknowledged)
	}
}

// run reports until the context ends.
func (p *reporter) run(ctx context.Context) {
	for {
		select {
		case <-p.wake:
		case <-ctx.Done():
			return
		}
		if pause(ctx, reporting) != nil {
			return
		}
		p.send(ctx)
	}
}

// flush reports what is left, for as long as the patience lasts.
func (p *reporter) flush(patience time.Duration) {
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(p.receiver.life, patience)
	defer cancel()
	p.send(ctx)
}

func (p *reporter) send(ctx context.Context) {
	p.sending.Lock()
	defer p.sending.Unlock()
	p.mutex.Lock()
	surfaced, disposed := p.surfaced, p.disposed
	p.surfaced, p.disposed = nil, nil
	p.mutex.Unlock()
	p.sendSurfaced(ctx, surfaced)
	for _, one := range disposed {
		if ctx.Err() != nil {
			return
		}
		_, _ = one.message.Dispose(ctx, one.as, DispositionOptions{})
	}
}

// sendSurfaced marks messages in one call. The server refuses them all when one is gone, and names that one.
func (p *reporter) sendSurfaced(ctx context.Context, ids []string) {
	for range mostRefusals {
		if len(ids) == 0 {
			return
		}
		_, err := repeated(ctx, p.receiver.client, func(ctx context.Context) (*openintentv1.MarkSurfacedResponse, error) {
			return p.receiver.client.raw.Attention.MarkSurfaced(ctx, &openintentv1.MarkSurfacedRequest{
				AgentId: p.receiver.agent.options.ID, MessageIds: ids,
			})
		})
		var refused *Error
		if !errors.As(err, &refused) || refused.MessageID() == "" {
			return
		}
		ids = slices.DeleteFunc(ids, func(id string) bool { return id == refused.MessageID() })
	}
}
