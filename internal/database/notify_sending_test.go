package database

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

const testPatience = 20 * time.Second

// stage is a server that shows the test each batch under way, and lets the test decide how the batch ends.
type stage struct {
	sent    chan []string
	outcome chan error
	lost    chan error    // ends a connection that listens
	over    chan struct{} // closed when the test has ended, and decides nothing any more

	mutex     sync.Mutex
	connected int
	open      int
	listening int   // how many listeners the server counts; 0 means two
	away      error // why no further connection can be made
}

func newStage() *stage {
	return &stage{sent: make(chan []string), outcome: make(chan error), lost: make(chan error), over: make(chan struct{})}
}

func (s *stage) connectNotices(context.Context) (noticeConnection, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.away != nil {
		return nil, s.away
	}
	s.connected++
	s.open++
	return stageConnection{s}, nil
}

func (s *stage) leads(context.Context, string) (bool, error) { return true, nil }

func (s *stage) counts() (connected, open int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.connected, s.open
}

type stageConnection struct{ *stage }

func (c stageConnection) listen(context.Context, string) error { return nil }

func (c stageConnection) listeners(context.Context, string) (int, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return cmp.Or(c.listening, 2), nil
}

func (c stageConnection) receive(ctx context.Context) (string, error) {
	select {
	case err := <-c.lost:
		return "", err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (c stageConnection) send(_ context.Context, _ string, payloads []string) error {
	if strings.HasSuffix(payloads[0], greeting) {
		return nil
	}
	select {
	case c.sent <- payloads:
	case <-c.over:
		return nil
	}
	select {
	case err := <-c.outcome:
		return err
	case <-c.over:
		return nil
	}
}

func (c stageConnection) close() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.open--
}

// batch waits for the next batch, which stays under way until the test sends its outcome.
func (s *stage) batch(t *testing.T) []string {
	t.Helper()
	select {
	case payloads := <-s.sent:
		return payloads
	case <-time.After(testPatience):
		require.FailNow(t, "nothing is sent")
		return nil
	}
}

func onStage(t *testing.T) (*stage, *Notifier) {
	s := newStage()
	n := newNotifier(s, NotifierConfig{Channel: "test", Heard: func([]string) {}, Unheard: func() {}})
	n.Start()
	t.Cleanup(func() {
		close(s.over)
		n.Stop()
	})
	return s, n
}

// noticesIn returns the notices of payloads, in order.
func noticesIn(t *testing.T, n *Notifier, payloads []string) (notices []string) {
	t.Helper()
	for _, payload := range payloads {
		require.LessOrEqual(t, len(payload), payloadBytes)
		replica, rest, some := strings.Cut(payload, "\n")
		require.Equal(t, n.replica, replica)
		require.True(t, some, "anything may have happened")
		notices = append(notices, strings.Split(rest, "\n")...)
	}
	slices.Sort(notices)
	return notices
}

func requireEverything(t *testing.T, n *Notifier, payloads []string) {
	t.Helper()
	require.Equal(t, []string{n.replica}, payloads)
}

// Notices that are told while a batch is under way go with the next batch, each of them once. Tell never waits.
func TestNoticesMergeWhileABatchIsUnderWay(t *testing.T) {
	s, n := onStage(t)
	n.Tell("first")
	require.Equal(t, []string{"first"}, noticesIn(t, n, s.batch(t)))
	for range 1000 {
		n.Tell("second", "third")
	}
	n.Tell("fourth")
	s.outcome <- nil
	require.Equal(t, []string{"fourth", "second", "third"}, noticesIn(t, n, s.batch(t)))
	s.outcome <- nil
	n.Tell("fifth")
	require.Equal(t, []string{"fifth"}, noticesIn(t, n, s.batch(t)), "no notice is sent twice")
	s.outcome <- nil
	n.Stop()
	_, open := s.counts()
	require.Zero(t, open)
}

// After a batch, notices gather for a multiple of the time that it took. The first notice after that time goes at once.
func TestNoticesGatherAfterABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, n := onStage(t)
		batchTaking := func(taking time.Duration) (notices []string, ended time.Time) {
			notices = noticesIn(t, n, s.batch(t))
			pause(t.Context(), taking)
			s.outcome <- nil
			return notices, time.Now()
		}
		n.Tell("first")
		_, ended := batchTaking(time.Millisecond)
		n.Tell("second")
		pause(t.Context(), (restFactor-1)*time.Millisecond)
		n.Tell("third")
		require.Equal(t, []string{"second", "third"}, noticesIn(t, n, s.batch(t)))
		require.Equal(t, restFactor*time.Millisecond, time.Since(ended))
		pause(t.Context(), time.Hour)
		s.outcome <- nil
		ended = time.Now()
		n.Tell("fourth")
		_, began := batchTaking(0)
		require.Equal(t, longestRest, began.Sub(ended), "the rest has a bound")
		n.Tell("fifth")
		_, at := batchTaking(0)
		require.Equal(t, began, at, "a batch that took no time needs no rest")
	})
}

func TestManyNoticesTakeSeveralPayloads(t *testing.T) {
	s, n := onStage(t)
	n.Tell("first")
	s.batch(t)
	var told []string
	for i := range noticesPending {
		told = append(told, fmt.Sprintf("%05d", i))
	}
	n.Tell(told...)
	s.outcome <- nil
	payloads := s.batch(t)
	require.Len(t, payloads, 7, "all payloads are full")
	require.Equal(t, told, noticesIn(t, n, payloads))
	n.Tell(told...)
	n.Tell("one more")
	s.outcome <- nil
	requireEverything(t, n, s.batch(t))
	s.outcome <- nil
	n.Tell("again")
	require.Equal(t, []string{"again"}, noticesIn(t, n, s.batch(t)))
	s.outcome <- nil
}

// A notice that cannot be part of a payload is replaced by "anything may have happened", which includes it.
func TestNoticesThatFitNoPayload(t *testing.T) {
	s, n := onStage(t)
	longest := strings.Repeat("x", payloadBytes-len(n.replica)-1)
	n.Tell(longest)
	require.Equal(t, []string{longest}, noticesIn(t, n, s.batch(t)))
	for _, notice := range []string{longest + "x", "", "two\nlines", "a\x00b", "not UTF-8 \xff"} {
		n.Tell("good", notice, "good too")
		n.Tell("one that can be told")
		s.outcome <- nil
		requireEverything(t, n, s.batch(t))
	}
	s.outcome <- nil
}

// While the database is away no notices pile up, and afterwards everyone is told to look at everything.
func TestNoticesThatCouldNotBeSent(t *testing.T) {
	s, n := onStage(t)
	n.Tell("lost")
	require.Equal(t, []string{"lost"}, noticesIn(t, n, s.batch(t)))
	for range 3 {
		s.outcome <- errors.New("the database is away")
		n.Tell("meanwhile")
		requireEverything(t, n, s.batch(t))
	}
	s.outcome <- nil
	n.Tell("later")
	require.Equal(t, []string{"later"}, noticesIn(t, n, s.batch(t)))
	connected, open := s.counts()
	require.Equal(t, 5, connected, "one to listen, and one for each time it was lost")
	require.Equal(t, 2, open)
	s.outcome <- nil
}

// A notice that is pending at the stop is sent, whichever of the two the sender sees first.
func TestAStopForgetsNoNotice(t *testing.T) {
	for range 20 { // whoever sees both at a time takes either
		s, n := onStage(t)
		n.Tell("first")
		s.batch(t)
		n.Tell("last")
		n.cancel()
		s.outcome <- nil
		require.Equal(t, []string{"last"}, noticesIn(t, n, s.batch(t)))
		s.outcome <- nil
		n.Stop()
	}
}

// The last notices before the stop are sent.
func TestStopTellsWhatIsPending(t *testing.T) {
	s, n := onStage(t)
	n.Tell("first")
	s.batch(t)
	n.Tell("last")
	stopped := make(chan struct{})
	go func() {
		n.Stop()
		close(stopped)
	}()
	s.outcome <- nil
	require.Equal(t, []string{"last"}, noticesIn(t, n, s.batch(t)))
	s.outcome <- nil
	select {
	case <-stopped:
	case <-time.After(testPatience):
		require.Fail(t, "the notifier does not stop")
	}
	n.Tell("too late")
	n.Stop()
}

func TestReceivedPayloads(t *testing.T) {
	var heard []string
	unheard, received := 0, 0
	n := newNotifier(newStage(), NotifierConfig{
		Heard:   func(notices []string) { heard = append(heard, notices...) },
		Unheard: func() { unheard++ },
		Observe: func(_, count int) { received += count },
	})
	n.receive(n.replica + "\nown")
	n.receive(n.replica)
	require.Empty(t, heard)
	require.Zero(t, unheard)
	require.Zero(t, received)
	n.receive("other\none\ntwo")
	require.Equal(t, []string{"one", "two"}, heard)
	n.receive("other")
	n.receive("")
	require.Equal(t, 2, unheard)
	require.Equal(t, 3, received)
}

// A replica that has counted no other listeners sends nothing until another one may have come.
func TestWhoIsAloneTellsNothing(t *testing.T) {
	s, n := onStage(t)
	s.mutex.Lock()
	s.listening = 1
	s.mutex.Unlock()
	require.Eventually(t, func() bool {
		n.mutex.Lock()
		defer n.mutex.Unlock()
		return n.listening
	}, testPatience, time.Millisecond)
	n.Tell("a")
	require.Len(t, s.batch(t), 1, "the replica does not know that it is alone before it has counted")
	s.outcome <- nil
	require.Eventually(t, func() bool {
		n.mutex.Lock()
		defer n.mutex.Unlock()
		return n.alone
	}, testPatience, time.Millisecond)
	n.Tell("b")
	n.mutex.Lock()
	require.Empty(t, n.pending)
	n.mutex.Unlock()
	n.receive("another" + greeting)
	requireEverything(t, n, s.batch(t)) // the new replica may have begun to listen and looked before "b"
	n.Tell("c")
	s.outcome <- nil
	require.Equal(t, []string{"c"}, noticesIn(t, n, s.batch(t)))
	n.receive("a third" + greeting)
	n.Tell("d")
	s.outcome <- nil
	require.Equal(t, []string{"d"}, noticesIn(t, n, s.batch(t)), "a replica that was not alone has sent everything already")
	s.outcome <- nil

	// The count does not overlook a replica that comes meanwhile.
	n.mutex.Lock()
	n.counted = time.Time{}
	n.mutex.Unlock()
	require.NoError(t, n.count(t.Context(), comingMeanwhile{stageConnection{s}, n}))
	require.False(t, n.alone)

	// A replica that cannot hear others does not believe that it is alone. It tells replicas that may have come meanwhile to look.
	n.mutex.Lock()
	n.alone = true
	n.mutex.Unlock()
	s.mutex.Lock()
	s.away = errors.New("the database is away")
	s.mutex.Unlock()
	s.lost <- s.away
	requireEverything(t, n, s.batch(t))
	s.outcome <- nil
	n.mutex.Lock()
	n.counted = time.Time{}
	n.mutex.Unlock()
	require.NoError(t, n.count(t.Context(), stageConnection{s}))
	require.False(t, n.alone)
}

// comingMeanwhile is a connection that makes another replica begin to listen right after the listeners were counted.
type comingMeanwhile struct {
	stageConnection
	notifier *Notifier
}

func (c comingMeanwhile) listeners(ctx context.Context, channel string) (int, error) {
	count, err := c.stageConnection.listeners(ctx, channel)
	c.notifier.receive("another" + greeting)
	return count, err
}
