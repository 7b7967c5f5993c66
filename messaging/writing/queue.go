package writing

import (
	"context"
	"slices"
	"sync"
	"time"

	"openintent/messaging/message"
)

// These bound the queue.
const (
	// maxQueueDrafts and maxQueueBytes bound all that waits. One API key may have as much waiting as it leaves free for
	// others, which is half of all when no other key sends.
	maxQueueDrafts = 16384
	maxQueueBytes  = 256 << 20
	// maxStreamedDrafts and maxStreamedBytes are what a key may have waiting before its streams of messages pause. It is
	// enough for the next batches; more would only wait here instead of at the client.
	maxStreamedDrafts = 1024
	maxStreamedBytes  = 16 << 20
)

// These bound a batch: in all, and one key's drafts in it while several keys send. A draft waits for the batch before its
// own, whoever filled that, and those whom a batch wakes compete with it for the processors; so the shares are small. A key
// that sends alone gets whole batches. It counts as alone after aloneAfter batches in which no other key's draft came.
const (
	maxBatchDrafts = 512
	maxBatchBytes  = 8 << 20
	maxShareDrafts = 16
	maxShareBytes  = 32 << 10
	aloneAfter     = 256
)

// queue holds the drafts that wait for the writer, and keeps those of each API key apart. A batch takes them from the keys
// in turn, one by one, so that a flood from one key does not make another key wait. The drafts of one key leave in the
// order in which they came. Drafts of intents that another replica holds are put aside (set_aside_drafts.go).
type queue struct {
	mutex         sync.Mutex
	keys          map[string]*keyQueue
	turns         turns // of the keys whose drafts wait
	drafts, bytes int   // that wait or are put aside
	aside         aside
	batches       int // that were taken
	// latest is the key of the draft that came last. sharedIn is how many batches had been taken when a draft last came from
	// another key than the draft before it.
	latest   string
	sharedIn int
	stopping bool
	arrived  chan struct{}
}

// keyQueue is what waits of one API key.
type keyQueue struct {
	id            string
	waiting       []*submission
	drafts, bytes int          // that wait or are put aside
	streamed      []*forStream // what streams have received and found no place for
	// share is what the key has had of the batch with this number.
	share struct{ batch, drafts, bytes int }

	inTurns bool
	next    *keyQueue
}

// forStream is a draft of a stream of messages that waits for a place in the queue.
type forStream struct {
	*submission
	placed chan error // nil once it has one
}

func newQueue() *queue {
	return &queue{keys: make(map[string]*keyQueue), sharedIn: -aloneAfter - 1, aside: newAside(), arrived: make(chan struct{}, 1)}
}

// add queues a draft, or refuses it when too much waits.
func (q *queue) add(s *submission) error {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	k := q.keyOf(s)
	defer q.forget(k)
	if err := q.checkRoom(k, s); err != nil {
		return err
	}
	q.append(k, s)
	return nil
}

// addInTurn is add for a stream of messages: it waits until the stream's key has fewer drafts waiting.
func (q *queue) addInTurn(ctx context.Context, s *submission) error {
	q.mutex.Lock()
	k := q.keyOf(s)
	if len(k.streamed) == 0 && k.takesStreamed() {
		defer q.mutex.Unlock()
		defer q.forget(k)
		if err := q.checkRoom(k, s); err != nil {
			return err
		}
		q.append(k, s)
		return nil
	}
	if q.stopping {
		defer q.mutex.Unlock()
		return message.ErrStopping
	}
	place := &forStream{s, make(chan error, 1)}
	k.streamed = append(k.streamed, place)
	q.mutex.Unlock()
	select {
	case err := <-place.placed:
		return err
	case <-ctx.Done():
		return q.giveUp(ctx, k, place)
	}
}

// giveUp takes a draft back that waits for a place, unless it has got one meanwhile.
func (q *queue) giveUp(ctx context.Context, k *keyQueue, place *forStream) error {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	select {
	case err := <-place.placed:
		return err
	default:
	}
	k.streamed = slices.DeleteFunc(k.streamed, func(other *forStream) bool { return other == place })
	q.forget(k)
	return context.Cause(ctx)
}

func (q *queue) checkRoom(k *keyQueue, s *submission) error {
	size := s.draft.Size()
	switch {
	case q.stopping:
		return message.ErrStopping
	case q.drafts >= maxQueueDrafts || q.bytes+size > maxQueueBytes:
		return message.ErrQueueFull
	case k.drafts >= maxQueueDrafts-q.drafts || k.bytes+size > maxQueueBytes-q.bytes:
		return message.ErrKeyQueueFull
	}
	return nil
}

func (k *keyQueue) takesStreamed() bool {
	return k.drafts < maxStreamedDrafts && k.bytes < maxStreamedBytes
}

// keyOf finds what waits of a draft's key, and begins it where nothing waits.
func (q *queue) keyOf(s *submission) *keyQueue {
	id := s.draft.By.KeyID
	k := q.keys[id]
	if k == nil {
		k = &keyQueue{id: id}
		q.keys[id] = k
	}
	return k
}

// forget drops a key that has nothing waiting.
func (q *queue) forget(k *keyQueue) {
	if k.drafts == 0 && len(k.streamed) == 0 {
		delete(q.keys, k.id)
	}
}

// append puts a draft at the end of its key's line.
func (q *queue) append(k *keyQueue, s *submission) {
	q.count(k, s, 1)
	k.waiting = append(k.waiting, s)
	q.turns.add(k)
	if k.id != q.latest {
		if q.latest != "" {
			q.sharedIn = q.batches
		}
		q.latest = k.id
	}
	q.signal()
}

// count adds a draft that comes (1) to the counts, or takes one that leaves (-1) off.
func (q *queue) count(k *keyQueue, s *submission, sign int) {
	size := sign * s.draft.Size()
	q.drafts, q.bytes = q.drafts+sign, q.bytes+size
	k.drafts, k.bytes = k.drafts+sign, k.bytes+size
}

// leave takes drafts that leave the queue off the counts, and gives their places to streams that wait.
func (q *queue) leave(left []*submission) {
	for _, s := range left {
		k := q.keyOf(s)
		q.count(k, s, -1)
		for len(k.streamed) > 0 && k.takesStreamed() {
			place := k.streamed[0]
			k.streamed = k.streamed[1:]
			err := q.checkRoom(k, place.submission)
			if err == nil {
				q.append(k, place.submission)
			}
			place.placed <- err
		}
		q.forget(k)
	}
}

func (q *queue) signal() {
	select {
	case q.arrived <- struct{}{}:
	default:
	}
}

// stop refuses further drafts.
func (q *queue) stop() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.stopping = true
	for _, k := range q.keys {
		for _, place := range k.streamed {
			place.placed <- message.ErrStopping
		}
		k.streamed = nil
	}
	q.signal()
}

// taken says what the writer does next. When there is nothing to do, the writer waits for drafts to arrive or, if some
// intent is held, until it is worth trying again.
type taken struct {
	batch []*submission
	// overdue are drafts whose intents were held for too long.
	overdue []*submission
	until   time.Time
	// finished is true when the queue was stopped and nothing is left.
	finished bool
}

// take removes the next batch. It takes by turns drafts that were put aside and are due, and drafts that wait in the keys'
// lines.
func (q *queue) take(now time.Time) taken {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	var t taken
	q.batches++
	if q.batches%2 == 0 || q.turns.first == nil {
		t.batch, t.overdue = q.aside.take(now, q.stopping, q.shared())
	}
	if len(t.batch) == 0 {
		t.batch = q.fill(now)
	}
	q.leave(t.batch)
	q.leave(t.overdue)
	t.until = q.aside.due()
	t.finished = q.stopping && q.drafts == 0 && len(t.batch) == 0
	return t
}

// fill takes drafts from the keys' lines, in turn. A draft that does not fit into the batch any more waits for the next
// one, with all that is behind it.
func (q *queue) fill(now time.Time) (batch []*submission) {
	bytes := 0
	var spent turns // keys that have had all of their share in this batch
	for len(batch) < maxBatchDrafts {
		k := q.turns.pop()
		if k == nil {
			break
		}
		s := q.firstOf(k, now)
		if s == nil {
			continue
		}
		size := s.draft.Size()
		if len(batch) > 0 && bytes+size > maxBatchBytes {
			q.turns.unpop(k)
			break
		}
		if q.shared() && !k.takeShare(q.batches, size) {
			spent.add(k)
			continue
		}
		batch = append(batch, s)
		bytes += size
		k.waiting[0] = nil
		if k.waiting = k.waiting[1:]; len(k.waiting) > 0 {
			q.turns.add(k)
		}
	}
	q.turns.join(spent)
	return batch
}

// firstOf returns the first draft of a key's line, after it has put those aside that belong behind others.
func (q *queue) firstOf(k *keyQueue, now time.Time) *submission {
	for len(k.waiting) > 0 {
		s := k.waiting[0]
		if !q.aside.follow(s, now) {
			return s
		}
		k.waiting[0] = nil
		k.waiting = k.waiting[1:]
	}
	return nil
}

// shared reports whether several keys send.
func (q *queue) shared() bool { return q.batches-q.sharedIn <= aloneAfter }

// takeShare gives a draft room in a batch, unless its key has had its share of that batch.
func (k *keyQueue) takeShare(batch, size int) bool {
	if k.share.batch != batch {
		k.share.batch, k.share.drafts, k.share.bytes = batch, 0, 0
	}
	if k.share.drafts == maxShareDrafts || k.share.drafts > 0 && k.share.bytes+size > maxShareBytes {
		return false
	}
	k.share.drafts++
	k.share.bytes += size
	return true
}

// putAside puts drafts of the last batch aside, because their intents are held, and ends that batch.
func (q *queue) putAside(again []*submission, now time.Time) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for _, s := range again {
		q.count(q.keyOf(s), s, 1)
	}
	q.aside.put(again, now)
}

// waits counts the drafts that wait, and the intents of which some are put aside.
func (q *queue) waits() (drafts, intents int) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return q.drafts, len(q.aside.intents)
}
