package writing

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"openintent/channels"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/messaging/message"
	"openintent/messaging/wake"
)

// batchTimeout bounds one transaction of the writer. No caller's context ends it.
const batchTimeout = 30 * time.Second

// Writer commits drafts in groups. It takes the drafts that wait, without delaying one for others, and stores them in one
// transaction. While it commits, the next group forms. Its one goroutine never waits for an intent's lock.
type Writer struct {
	// db has a lane for the writer's transactions, so that no other transaction holds them up.
	db        *database.DB
	intents   *intents.Service
	channels  *channels.Service
	hub       *wake.Hub
	audiences audiences
	// cache belongs to the writer's goroutine alone.
	cache   *optimisticCache
	brakes  *brakes // likewise
	logger  *slog.Logger
	observe func(size int, atOnce bool)
	refused func(reason string)
	tracing Tracing
	queue   *queue
	// concluded counts the drafts that were stored or refused.
	concluded atomic.Int64
	// troubled is true once the database was away, until nameLosses has compared the logs. moves is how often another server of the
	// database had become the primary by then. Both belong to the writer's goroutine.
	troubled bool
	moves    int64

	mutex    sync.Mutex
	running  bool
	stopped  bool
	finished chan struct{}
}

// Config is what a writer needs.
type Config struct {
	DB       *database.DB
	Intents  *intents.Service
	Channels *channels.Service
	Hub      *wake.Hub
	Logger   *slog.Logger
	// ObserveBatch is told the size of each committed batch, and whether one round trip stored it. ObserveRefused is told
	// why a message did not get into the queue.
	ObserveBatch   func(size int, atOnce bool)
	ObserveRefused func(reason string)
	// Tracing shows what becomes of drafts.
	Tracing Tracing
	// Lost is told that an intent's log ends after a position, although it was stored up to another one.
	Lost func(intentID string, after, through int64)
}

// submission is a draft in the queue, and the channel on which its sender hears what became of it.
type submission struct {
	draft *Draft
	done  chan Outcome
	// asideAt is when the draft was first put aside; it is zero before. alone is true once the draft is tried with its
	// intent alone, because something about it held up the others of its batch.
	asideAt time.Time
	alone   bool
	// uncertain is true once the draft may have been stored without anybody hearing of it. From then on the writer looks
	// for its message before it decides anything anew.
	uncertain bool
	// traced is set if the draft's call is traced.
	traced *TracedDraft
}

// fail tells the sender why there is no message, or that nobody knows whether there is one.
func (s *submission) fail(err error) {
	if s.uncertain {
		err = message.ErrOutcomeUnknown.Because(err)
	}
	s.end(Outcome{Err: err})
}

// end tells the sender what became of the draft.
func (s *submission) end(out Outcome) {
	s.draft.land()
	s.done <- out
}

// land says that the draft is under way no more.
func (d *Draft) land() {
	if d.UnderWay != nil {
		d.UnderWay.Add(-1)
	}
}

// Outcome is the stored message, or why there is none. replayed is true when the message was stored earlier, under the same
// idempotency key.
type Outcome struct {
	Message  *message.Message
	replayed bool
	Err      error
}

// New makes a writer. It writes between Start and Stop.
func New(cfg Config) *Writer {
	return &Writer{
		db: cfg.DB, intents: cfg.Intents, channels: cfg.Channels, hub: cfg.Hub, logger: cfg.Logger,
		observe: cfg.ObserveBatch, refused: cfg.ObserveRefused, tracing: cfg.Tracing,
		audiences: newAudiences(), cache: newOptimisticCache(cfg.Lost), brakes: newBrakes(), queue: newQueue(), finished: make(chan struct{}),
	}
}

// Keep sets how many entries of each kind are cached.
func (w *Writer) Keep(entries int) {
	w.audiences.keep(entries)
	w.cache.keep(entries)
}

// Waiting counts the drafts that wait, and the intents of which some are put aside.
func (w *Writer) Waiting() (drafts, intents int) { return w.queue.waits() }

// Concluded counts the drafts that were stored or refused. As long as it does not rise and none wait, the writer has nothing to do.
func (w *Writer) Concluded() int64 { return w.concluded.Load() }

// Submit queues a draft and waits until it is committed or refused. When the context ends first, the draft is still stored
// or refused, but nobody hears of it.
func (w *Writer) Submit(ctx context.Context, d *Draft) (*message.Message, bool, error) {
	s := &submission{draft: d, done: make(chan Outcome, 1)}
	w.tracing.mark(ctx, s, false)
	err := d.By.Account.Admit()
	if err == nil {
		err = d.By.Quota.Take(d.contentBytes())
	}
	if err == nil {
		err = w.queue.add(s)
	}
	if err != nil {
		d.land()
		w.noteRefusal(err)
		return nil, false, err
	}
	steps, _ := ctx.Value(stepsKey{}).(*Steps)
	steps.queued()
	defer steps.ended()
	select {
	case out := <-s.done:
		return out.Message, out.replayed, out.Err
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
}

// SubmitInTurn queues a draft of a stream of messages, once the quota of its key and the places in the queue allow it. What
// becomes of the draft goes to done, which must have room for it. After an error nothing goes there.
func (w *Writer) SubmitInTurn(ctx context.Context, d *Draft, done chan Outcome) error {
	s := &submission{draft: d, done: done}
	w.tracing.mark(ctx, s, true)
	err := d.By.Account.Await(ctx)
	if err == nil {
		err = d.By.Quota.Await(ctx, d.contentBytes())
	}
	if err == nil {
		err = w.queue.addInTurn(ctx, s)
	}
	if err != nil {
		d.land()
	}
	w.noteRefusal(err)
	return err
}

func (w *Writer) noteRefusal(err error) {
	var refusal *fault.Fault
	if errors.As(err, &refusal) {
		w.refused(refusal.Reason)
	}
}

// Start begins to commit, unless Stop came first.
func (w *Writer) Start() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if !w.stopped && !w.running {
		w.running = true
		go w.run()
	}
}

// run commits batches until Stop was called and the queue is empty.
func (w *Writer) run() {
	defer close(w.finished)
	for {
		next := w.queue.take(processTime())
		for _, s := range next.overdue {
			s.fail(message.ErrIntentBusy)
		}
		switch {
		case len(next.batch) > 0:
			w.queue.putAside(w.commit(next.batch), processTime())
		case next.finished:
			return
		default:
			w.rest(next.until)
		}
	}
}

// rest waits for drafts to arrive and, if a time is given, no longer than until then.
func (w *Writer) rest(until time.Time) {
	if until.IsZero() {
		<-w.queue.arrived
		return
	}
	timer := time.NewTimer(until.Sub(processTime()))
	defer timer.Stop()
	select {
	case <-w.queue.arrived:
	case <-timer.C:
	}
}

// processTime is the time of the process: how long drafts stay aside is no matter of the domain's clock.
func processTime() time.Time { return time.Now() } //nolint:forbidigo // see above

// Stop refuses further drafts, commits those that wait, and then returns.
func (w *Writer) Stop() {
	w.mutex.Lock()
	w.stopped = true
	running := w.running
	w.mutex.Unlock()
	w.queue.stop()
	if running {
		<-w.finished
	}
}

// commit brings the drafts of the batch to an outcome, and returns those that have to be put aside. A refused draft does
// not affect the others. When one of the drafts spoiled the transaction, they run again one by one, so that only that one fails.
func (w *Writer) commit(submissions []*submission) (again []*submission) {
	began := w.tracing.time()
	var b *batch
	outcome, err := database.Together(len(submissions), func() (err error) {
		b, err = w.transact(submissions)
		return err
	})
	switch outcome {
	case database.Stored:
		concluded := len(submissions) - len(b.passedOver)
		w.concluded.Add(int64(concluded))
		w.observe(concluded, b.remembered)
		b.wakeReaders()
		w.tracing.show(submissions, b, began, nil)
		b.deliver()
		w.nameLosses()
		return b.passedOver
	case database.Uncertain:
		// The lost transaction may hold its locks for a while. Once the writer gets them, it looks for each message.
		for _, s := range submissions {
			s.uncertain = true
		}
		w.noteTrouble()
		w.hub.WakeUp(b.topics()...) // there may be something to see
		return submissions
	case database.Contended:
		for _, s := range submissions {
			s.alone = true
		}
		return submissions
	case database.Spoiled:
		w.logger.Warn("a batch could not be stored; its messages are stored one by one", "error", err)
		return w.commitSingly(submissions)
	default:
		w.tracing.show(submissions, b, began, err)
		return w.fail(submissions, err)
	}
}

// commitSingly commits each draft by itself. When a draft is put aside, the later ones of its intent are put aside with it.
func (w *Writer) commitSingly(submissions []*submission) (again []*submission) {
	behind := make(map[int64]bool)
	for _, s := range submissions {
		rest := []*submission{s}
		if !behind[s.draft.IntentNo] {
			rest = w.commit(rest)
		}
		if len(rest) > 0 {
			behind[s.draft.IntentNo] = true
			again = append(again, rest...)
		}
	}
	return again
}

// fail tells the senders that their messages could not be stored. It keeps those that may be stored after all when the
// database is away: the writer goes on looking for their outcome for a while.
func (w *Writer) fail(submissions []*submission, err error) (again []*submission) {
	if database.IsUnavailable(err) {
		w.noteTrouble()
	}
	w.logger.Error("messages could not be stored", "messages", len(submissions), "error", err)
	for _, s := range submissions {
		if s.uncertain && database.IsUnavailable(err) {
			again = append(again, s)
		} else {
			s.fail(err)
		}
	}
	return again
}

func (w *Writer) transact(submissions []*submission) (b *batch, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), batchTimeout)
	defer cancel()
	all := w.wants(submissions)
	if remembered, ok := w.remember(all, submissions); ok {
		err = w.db.Lane().WriteAtOnce(ctx, func(tx *database.Tx) error {
			b = newBatch(w, tx, submissions)
			return b.decideByMemory(remembered)
		})
		if err == nil || database.IsCommitUnknown(err) {
			return b, err
		}
		if !errors.Is(err, errNeedsReading) {
			w.cache.doubt(remembered.expected)
		}
	}
	err = w.db.Lane().Write(ctx, func(tx *database.Tx) error {
		b = newBatch(w, tx, submissions)
		return b.decideByReading(all)
	})
	return b, err
}
