package messaging

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"openintent/channels"
	"openintent/database"
	"openintent/fault"
	"openintent/intents"
)

// Bounds of the writer. A batch is what waits at the moment it begins, up to these; the queue refuses beyond its own.
const (
	maxBatchDrafts = 512
	maxBatchBytes  = 8 << 20
	maxQueueDrafts = 16384
	maxQueueBytes  = 256 << 20

	// commitPatience is how long an unknown outcome is looked into before the senders are told that it is unknown.
	commitPatience = 10 * time.Second
	// batchTimeout bounds one attempt; no caller's context does.
	batchTimeout = 30 * time.Second
)

// writer commits drafts in groups: it takes those that wait, never delaying one for others, and stores them in one
// transaction. While it commits, the next group gathers.
type writer struct {
	db        *database.DB
	intents   *intents.Service
	channels  *channels.Service
	hub       *hub
	audiences audiences
	// remembered is the writer's goroutine's own.
	remembered *recollection
	logger     *slog.Logger
	observe    func(size int, atOnce bool)

	mutex    sync.Mutex
	waiting  []*submission
	bytes    int
	running  bool
	stopping bool
	arrived  chan struct{}
	finished chan struct{}
}

// submission is a draft in the queue and what became of it.
type submission struct {
	draft *draft
	done  chan outcome
	// passedOver is true once another replica held the intent's lock; the draft is then committed with its intent alone.
	passedOver bool
	// uncertain is true once the draft may have been stored without anybody hearing of it; from then on its message is
	// looked for before anything is decided anew.
	uncertain bool
}

// fail tells the sender why there is no message, or that nobody knows whether there is one.
func (s *submission) fail(err error) {
	if s.uncertain {
		err = errOutcomeUnknown.Because(err)
	}
	s.done <- outcome{err: err}
}

// outcome is the stored message, or why there is none. replayed is true when the message was stored earlier under the same
// idempotency key.
type outcome struct {
	message  *Message
	replayed bool
	err      error
}

func newWriter(cfg Config, hub *hub) *writer {
	return &writer{
		db: cfg.DB, intents: cfg.Intents, channels: cfg.Channels, hub: hub, logger: cfg.Logger, observe: cfg.ObserveBatch,
		audiences: newAudiences(), remembered: newRecollection(),
		arrived: make(chan struct{}, 1), finished: make(chan struct{}),
	}
}

// submit queues a draft and waits until it is committed or refused. When the context ends first the draft is stored or
// refused all the same; only nobody hears of it.
func (w *writer) submit(ctx context.Context, d *draft) (*Message, bool, error) {
	s := &submission{draft: d, done: make(chan outcome, 1)}
	if err := w.enqueue(s); err != nil {
		return nil, false, err
	}
	select {
	case out := <-s.done:
		return out.message, out.replayed, out.err
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
}

func (w *writer) enqueue(s *submission) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	switch {
	case w.stopping:
		return errStopping
	case len(w.waiting) >= maxQueueDrafts || w.bytes+s.draft.size() > maxQueueBytes:
		return errQueueFull
	}
	w.waiting = append(w.waiting, s)
	w.bytes += s.draft.size()
	w.signal()
	return nil
}

func (w *writer) signal() {
	select {
	case w.arrived <- struct{}{}:
	default:
	}
}

// start begins committing, unless stop came first.
func (w *writer) start() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if !w.stopping && !w.running {
		w.running = true
		go w.run()
	}
}

// run commits batches until stop was called and the queue is empty.
func (w *writer) run() {
	defer close(w.finished)
	for {
		batch, stopping := w.take()
		switch {
		case len(batch) > 0:
			w.commit(batch)
		case stopping:
			return
		default:
			<-w.arrived
		}
	}
}

// stop refuses further drafts, commits those that wait, and returns when that is done.
func (w *writer) stop() {
	w.mutex.Lock()
	w.stopping = true
	running := w.running
	w.mutex.Unlock()
	w.signal()
	if running {
		<-w.finished
	}
}

// take removes the next batch from the queue. Drafts that were passed over go first, one intent at a time. An intent's drafts
// leave the queue in the order in which they came: what does not fit any more holds up all that is behind it.
func (w *writer) take() (batch []*submission, stopping bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if len(w.waiting) == 0 {
		return nil, w.stopping
	}
	first, bytes, full := w.waiting[0], 0, false
	rest := w.waiting[:0:0]
	for _, s := range w.waiting {
		full = full || len(batch) == maxBatchDrafts || len(batch) > 0 && bytes+s.draft.size() > maxBatchBytes
		if full || first.passedOver && s.draft.intentNo != first.draft.intentNo {
			rest = append(rest, s)
			continue
		}
		batch = append(batch, s)
		bytes += s.draft.size()
	}
	w.waiting = rest
	w.bytes -= bytes
	return batch, w.stopping
}

// putBack returns drafts whose intents another replica held to the head of the queue.
func (w *writer) putBack(passedOver []*submission) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, s := range passedOver {
		s.passedOver = true
		w.bytes += s.draft.size()
	}
	w.waiting = append(passedOver, w.waiting...)
}

// commit brings every draft of the batch to an outcome. One refused draft does not touch its neighbours; an error that
// some row caused reruns the drafts singly, so that it falls on that row's draft alone.
func (w *writer) commit(batch []*submission) {
	b, err := w.attempt(batch)
	switch {
	case err == nil:
		w.observe(len(batch)-len(b.passedOver), b.atOnce)
		b.wakeReaders()
		b.deliver()
		w.putBack(b.passedOver)
	case database.IsData(err) && len(batch) > 1:
		w.logger.Warn("a batch was refused by the database; its messages are stored one by one", "error", err)
		for _, s := range batch {
			w.commit([]*submission{s})
		}
	default:
		w.logger.Error("messages could not be stored", "messages", len(batch), "error", err)
		for _, s := range batch {
			s.fail(err)
		}
	}
}

// attempt commits the batch once. When the commit's acknowledgement is lost it finds out what became of it: the next
// attempt takes the heads' locks, which the lost transaction held until its end, and looks for the batch's message ids
// before it decides anything anew.
func (w *writer) attempt(submissions []*submission) (*batch, error) {
	return backoff.Retry(context.Background(), func() (*batch, error) {
		b, err := w.transact(submissions)
		if database.IsCommitUnknown(err) {
			for _, s := range submissions {
				s.uncertain = true
			}
			w.hub.wakeUp(b.topics()...) // there may be something to see
		}
		if err == nil || anyUncertain(submissions) && database.IsUnavailable(err) {
			return b, err
		}
		return nil, backoff.Permanent(err)
	}, backoff.WithMaxElapsedTime(commitPatience))
}

func anyUncertain(submissions []*submission) bool {
	return slices.ContainsFunc(submissions, func(s *submission) bool { return s.uncertain })
}

func (w *writer) transact(submissions []*submission) (b *batch, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), batchTimeout)
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil {
			err = fault.New(fault.Internal, "INTERNAL", "The server failed; the failure has been logged.").
				Because(errors.New("panic while storing messages"))
			w.logger.Error("panic while storing messages", "cause", cause)
		}
	}()
	wants := w.wants(submissions)
	if recalled, ok := w.remembered.recall(wants); ok {
		b, err = w.transactAtOnce(ctx, submissions, recalled)
		if err == nil || database.IsCommitUnknown(err) {
			return b, err
		}
	}
	err = w.db.Write(ctx, func(tx *database.Tx) error {
		b = newBatch(w, tx, submissions)
		return b.run(wants)
	})
	return b, err
}

// transactAtOnce stores the batch by what is remembered. After any error but that of an unknown outcome nothing of it is
// stored, and reading tells what is right.
func (w *writer) transactAtOnce(ctx context.Context, submissions []*submission, recalled recalledState) (b *batch, err error) {
	err = w.db.WriteAtOnce(ctx, func(tx *database.Tx) error {
		b = newBatch(w, tx, submissions)
		return b.runAtOnce(recalled)
	})
	if err != nil && !errors.Is(err, errRefusedAtOnce) {
		w.remembered.doubt(recalled.heads)
	}
	return b, err
}
