package writing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/internal/jsonvalue"
	"openintent/messaging/message"
)

// queued makes a draft of a key, for an intent, of a size beside what every draft counts for.
func queued(key string, intentNo int64, size int) *submission {
	d := draftBy("alice")
	d.By.KeyID, d.IntentNo, d.payload = key, intentNo, jsonvalue.Object(bytes.Repeat([]byte(" "), size))
	return &submission{draft: d, done: make(chan Outcome, 1)}
}

// filled adds drafts to a queue, in order.
func filled(t require.TestingT, q *queue, list ...*submission) []*submission {
	for _, s := range list {
		require.NoError(t, q.add(s))
	}
	return list
}

// next takes a batch of which nothing comes back.
func next(q *queue) []*submission {
	batch := q.take(time.Now()).batch
	q.putAside(nil, time.Now())
	return batch
}

func TestQueueIsBounded(t *testing.T) {
	q := newQueue()
	for range maxQueueDrafts / 2 {
		filled(t, q, queued("flood", 1, 0))
	}
	refusal := faulttest.Require(t, q.add(queued("flood", 1, 0)), fault.Quota, "KEY_QUEUE_FULL")
	require.NotZero(t, refusal.RetryAfter)
	filled(t, q, queued("other", 1, 0))
	for key := 0; q.drafts < maxQueueDrafts; key++ {
		id := fmt.Sprint("further ", key)
		for q.add(queued(id, 1, 0)) == nil {
		}
	}
	refusal = faulttest.Require(t, q.add(queued("new", 1, 0)), fault.Unavailable, "WRITE_QUEUE_FULL")
	require.NotZero(t, refusal.RetryAfter)
	require.NotEmpty(t, next(q))
	filled(t, q, queued("new", 1, 0))
}

func TestQueueIsBoundedInBytes(t *testing.T) {
	q := newQueue()
	count := 0
	for ; q.add(queued("flood", 1, 1<<20)) == nil; count++ {
	}
	require.InDelta(t, maxQueueBytes/2/(1<<20+256), count, 1)
	filled(t, q, queued("other", 1, 1<<20))
	for left := count + 1; left > 0; {
		batch := next(q)
		require.NotEmpty(t, batch)
		require.LessOrEqual(t, len(batch), maxBatchBytes>>20)
		left -= len(batch)
	}
	require.Zero(t, q.bytes)
	require.Zero(t, q.drafts)
	require.Empty(t, q.keys)
}

// What one key floods the queue with is a part of each batch; another key's draft is in the next one.
func TestKeysTakeTurns(t *testing.T) {
	q := newQueue()
	for range 3 * maxBatchDrafts {
		filled(t, q, queued("flood", 1, 0))
	}
	require.Len(t, next(q), maxBatchDrafts, "a key that is alone has whole batches")
	late := filled(t, q, queued("victim", 1, 0), queued("third", 2, 0))
	batch := next(q)
	require.Subset(t, batch, late)
	require.Len(t, batch, maxShareDrafts+2)
	q.batches += aloneAfter
	require.Len(t, next(q), maxBatchDrafts, "and again once it is alone")
}

// Where the keys are more than a batch has room for, those that are left out are first in the next one.
func TestManyKeysTakeTurns(t *testing.T) {
	q := newQueue()
	const keys = maxBatchDrafts * 3 / 2
	for key := range keys {
		filled(t, q, queued(fmt.Sprint(key), 1, 0), queued(fmt.Sprint(key), 1, 0))
	}
	seen := make(map[string]int)
	for _, s := range append(next(q), next(q)...) {
		seen[s.draft.By.KeyID]++
	}
	require.Len(t, seen, keys)
}

func TestBatchesAreBounded(t *testing.T) {
	q := newQueue()
	filled(t, q, queued("a", 1, maxBatchBytes+1), queued("b", 1, 0), queued("c", 1, 0))
	require.Len(t, next(q), 1, "what is larger than a batch is a batch of its own")
	require.Len(t, next(q), 2)
	require.Empty(t, next(q))
}

// A small message does not overtake a large one of its key that the batch has no room for.
func TestBatchesKeepTheOrderOfAKey(t *testing.T) {
	q := newQueue()
	list := filled(t, q, queued("a", 1, 1), queued("a", 1, maxBatchBytes/2), queued("a", 1, maxBatchBytes/2), queued("a", 1, 1))
	requireSubmissions(t, next(q), list[:2]...)
	requireSubmissions(t, next(q), list[2:]...)
}

// A stream whose key has enough waiting pauses until there is room, and then goes on in order.
func TestStreamsWaitForTheirKey(t *testing.T) {
	q := newQueue()
	for range maxStreamedDrafts {
		require.NoError(t, q.addInTurn(t.Context(), queued("flood", 1, 0)))
	}
	placed := make(chan error, 1)
	go func() { placed <- q.addInTurn(t.Context(), queued("flood", 1, 0)) }()
	waiting := func() bool {
		q.mutex.Lock()
		defer q.mutex.Unlock()
		return len(q.keys["flood"].streamed) == 1
	}
	require.Eventually(t, waiting, time.Minute, time.Millisecond, "it does not wait")
	filled(t, q, queued("flood", 1, 0)) // a call of its own does not
	require.NoError(t, q.addInTurn(t.Context(), queued("other", 1, 0)))
	require.NotEmpty(t, next(q))
	require.NoError(t, <-placed)

	for q.keys["flood"].takesStreamed() {
		require.NoError(t, q.addInTurn(t.Context(), queued("flood", 1, 0)))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { placed <- q.addInTurn(ctx, queued("flood", 1, 0)) }()
	require.Eventually(t, waiting, time.Minute, time.Millisecond, "it does not wait")
	gone := errors.New("gone")
	cancel(gone)
	require.ErrorIs(t, <-placed, gone)

	go func() { placed <- q.addInTurn(t.Context(), queued("flood", 1, 0)) }()
	require.Eventually(t, waiting, time.Minute, time.Millisecond, "it does not wait")
	q.stop()
	require.ErrorIs(t, <-placed, message.ErrStopping)
	require.ErrorIs(t, q.addInTurn(t.Context(), queued("flood", 1, 0)), message.ErrStopping)
}

// Drafts of an intent that is held are put aside with all that follow in the intent, and tried again after a pause, while
// others go on.
func TestHeldIntentsArePutAside(t *testing.T) {
	q, now := newQueue(), time.Now()
	list := filled(t, q, queued("a", 1, 0), queued("a", 2, 0), queued("a", 1, 0))
	require.Len(t, q.take(now).batch, 3)
	q.putAside([]*submission{list[0], list[2]}, now)
	behind, free := queued("b", 1, 0), queued("b", 2, 0)
	filled(t, q, behind, free)
	taken := q.take(now)
	requireSubmissions(t, taken.batch, free)
	require.True(t, taken.until.After(now) && taken.until.Before(now.Add(2*firstPause)))
	q.putAside(nil, now)
	require.Equal(t, 3, q.drafts)

	now = taken.until
	taken = q.take(now)
	requireSubmissions(t, taken.batch, list[0], behind, list[2])
	later, elsewhere := queued("a", 1, 0), queued("a", 2, 0)
	filled(t, q, later, elsewhere)
	q.putAside(taken.batch, now)
	requireSubmissions(t, next(q), elsewhere)
	taken = q.take(now.Add(time.Second))
	requireSubmissions(t, taken.batch, list[0], behind, list[2], later)
	q.putAside(nil, now)
	require.Empty(t, q.keys)
	require.Empty(t, q.aside.intents)
	requireSubmissions(t, filled(t, q, queued("a", 1, 0)), next(q)...)
}

func requireSubmissions(t require.TestingT, got []*submission, want ...*submission) {
	require.Len(t, got, len(want))
	for i := range want {
		require.Same(t, want[i], got[i], "the draft at %d", i)
	}
}

// Of an intent that was held, too, one key's flood is a part of the batch.
func TestKeysTakeTurnsInAHeldIntent(t *testing.T) {
	q, now := newQueue(), time.Now()
	for range maxBatchDrafts {
		filled(t, q, queued("flood", 1, 0))
	}
	q.putAside(q.take(now).batch, now)
	victim := filled(t, q, queued("victim", 1, 0))
	require.Empty(t, q.take(now).batch)
	batch := q.take(now.Add(time.Second)).batch
	require.Contains(t, batch[:2], victim[0])
	require.Len(t, batch, 2*maxShareDrafts)
}

// A key that floods an intent which was held has its share of each batch, as it has elsewhere, while others send.
func TestSharesHoldInAHeldIntent(t *testing.T) {
	q, now := newQueue(), time.Now()
	for range 3 * maxShareDrafts {
		filled(t, q, queued("flood", 1, 0))
	}
	q.putAside(q.take(now).batch, now)
	filled(t, q, queued("victim", 2, 0))
	now = now.Add(time.Second)
	var sizes []int
	for q.drafts > 0 {
		sizes = append(sizes, len(q.take(now).batch))
		q.putAside(nil, now)
	}
	require.ElementsMatch(t, []int{1, maxShareDrafts, maxShareDrafts, maxShareDrafts}, sizes)
}

func TestHeldIntentsAreGivenUpInTheEnd(t *testing.T) {
	q, now := newQueue(), time.Now()
	list := filled(t, q, queued("a", 1, 0))
	q.putAside(q.take(now).batch, now)
	list = append(list, filled(t, q, queued("a", 1, 0))...)
	require.Empty(t, q.take(now).batch, "it follows the first")
	taken := q.take(now.Add(asidePatience + time.Millisecond))
	require.Len(t, taken.overdue, 2)
	require.Empty(t, taken.batch)
	require.Same(t, list[0], taken.overdue[0])
	q.putAside(nil, now)
	require.Empty(t, q.keys)

	filled(t, q, queued("a", 1, 0))
	q.putAside(q.take(now).batch, now)
	q.stop()
	require.False(t, q.take(now).finished)
	taken = q.take(now.Add(stopPatience + time.Millisecond))
	require.Len(t, taken.overdue, 1)
	require.True(t, taken.finished)
}

// What held up a whole batch is tried with its intent alone.
func TestWhatHoldsUpOthersIsTriedAlone(t *testing.T) {
	q, now := newQueue(), time.Now()
	list := filled(t, q, queued("a", 1, 0), queued("a", 2, 0))
	require.Len(t, q.take(now).batch, 2)
	for _, s := range list {
		s.alone = true
	}
	q.putAside(list, now)
	now = now.Add(time.Second)
	require.Len(t, q.take(now).batch, 1)
	q.putAside(nil, now)
	require.Len(t, q.take(now).batch, 1)
}

// However keys, intents, sizes and held intents mix, each draft leaves the queue once for good, and those of one key and
// intent in the order in which they came.
func TestQueueKeepsTheOrderOfAKeysIntents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, now := newQueue(), time.Now()
		order := make(map[*submission]int)
		done := make(map[*submission]bool)
		last := make(map[string]int)
		settle := func() {
			taken := q.take(now)
			require.Empty(t, taken.overdue)
			var again []*submission
			held := make(map[int64]bool)
			for _, s := range taken.batch {
				intentNo := s.draft.IntentNo
				if _, drawn := held[intentNo]; !drawn {
					held[intentNo] = rapid.Bool().Draw(t, "held")
				}
				if held[intentNo] {
					again = append(again, s)
					continue
				}
				place := fmt.Sprint(s.draft.By.KeyID, intentNo)
				require.False(t, done[s])
				require.Greater(t, order[s], last[place])
				done[s], last[place] = true, order[s]
			}
			q.putAside(again, now)
		}
		count := rapid.IntRange(1, 60).Draw(t, "drafts")
		for number := range count {
			s := queued(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key"), rapid.Int64Range(1, 3).Draw(t, "intent"),
				rapid.SampledFrom([]int{0, maxShareBytes / 2, maxShareBytes}).Draw(t, "size"))
			order[s] = number + 1
			require.NoError(t, q.add(s))
			if rapid.Bool().Draw(t, "take") {
				settle()
				now = now.Add(time.Duration(rapid.IntRange(0, 10).Draw(t, "milliseconds")) * time.Millisecond)
			}
		}
		for round := 0; len(done) < count; round++ {
			require.Less(t, round, 10_000)
			settle()
			now = now.Add(10 * time.Millisecond)
		}
		require.Zero(t, q.drafts)
		require.Zero(t, q.bytes)
		require.Empty(t, q.keys)
	})
}
