package database

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// newLine returns a line that has its places for itself.
func newLine(running, most, mostEach int) *line {
	return newPlaces(running).line(running, most, mostEach)
}

// of is a reader whose agent has the name of its key.
func of(name string) Reader { return Reader{Key: name, Agent: name} }

// waiter puts a read into the line and returns it.
func waiter(t require.TestingT, l *line, by Reader) *waitingRead {
	w, err := l.join(by)
	require.NoError(t, err)
	require.NotNil(t, w, "all places were taken")
	return w
}

func came(w *waitingRead) bool {
	select {
	case <-w.turn:
		return true
	default:
		return false
	}
}

// comeIn checks that the reads come in this order, one for each that leaves, beginning with the one that runs. It returns which runs then.
func comeIn(t *testing.T, l *line, running Reader, order ...*waitingRead) Reader {
	t.Helper()
	for i, next := range order {
		require.False(t, came(next), "the read %d came too early", i)
		l.leave(running)
		require.True(t, came(next), "it was the turn of read %d", i)
		running = next.by
	}
	return running
}

func TestKeysComeInTurn(t *testing.T) {
	l := newLine(1, 10, 10)
	require.NoError(t, l.enter(t.Context(), of("ann")))
	first, second, third := waiter(t, l, of("ann")), waiter(t, l, of("ann")), waiter(t, l, of("ann"))
	bob, again := waiter(t, l, of("bob")), waiter(t, l, of("bob"))
	running := comeIn(t, l, of("ann"), bob, first, again)
	cat := waiter(t, l, of("cat"))
	running = comeIn(t, l, running, cat, second, third)
	l.leave(running)
	require.NoError(t, l.enter(t.Context(), of("cat")), "the place is free again")
}

// TestWhoComesBackGainsNothing lets two readers that come back at once not keep a third one away.
func TestWhoComesBackGainsNothing(t *testing.T) {
	l := newLine(1, 10, 10)
	require.NoError(t, l.enter(t.Context(), of("ann")))
	first, second := waiter(t, l, of("ann")), waiter(t, l, of("ann"))
	bob, cat := waiter(t, l, of("bob")), waiter(t, l, of("cat"))
	running := comeIn(t, l, of("ann"), bob)
	bob = waiter(t, l, of("bob"))
	running = comeIn(t, l, running, cat)
	cat = waiter(t, l, of("cat"))
	comeIn(t, l, running, first, bob, cat, second)
}

func TestTheAgentsOfAKeyComeInTurn(t *testing.T) {
	l := newLine(1, 100, 100)
	require.NoError(t, l.enter(t.Context(), of("bob")))
	var greedy []*waitingRead
	for range 5 {
		greedy = append(greedy, waiter(t, l, Reader{"shared", "greedy"}))
	}
	modest := []*waitingRead{waiter(t, l, Reader{"shared", "modest"}), waiter(t, l, Reader{"shared", "modest"})}
	other := waiter(t, l, Reader{"shared", "other"})
	bob := waiter(t, l, of("bob"))
	comeIn(t, l, of("bob"), greedy[0], bob, modest[0], other, greedy[1], modest[1], greedy[2], greedy[3], greedy[4])
}

// TestAKeyHasHalfOfALine leaves the other half free for others, whether or not they come.
func TestAKeyHasHalfOfALine(t *testing.T) {
	l := newLine(3, 10, 10)
	require.NoError(t, l.enter(t.Context(), Reader{"ann", "one"}))
	require.NoError(t, l.enter(t.Context(), Reader{"ann", "two"}))
	third, fourth := waiter(t, l, Reader{"ann", "three"}), waiter(t, l, Reader{"ann", "four"})
	require.NoError(t, l.enter(t.Context(), of("bob")))
	bob := waiter(t, l, of("bob"))
	require.False(t, came(bob), "three reads run")
	l.leave(Reader{"ann", "one"})
	require.True(t, came(third))
	l.leave(of("bob"))
	require.True(t, came(bob))
	l.leave(of("bob"))
	require.False(t, came(fourth), "two of ann's reads run")
	l.leave(Reader{"ann", "two"})
	require.True(t, came(fourth))
	l.leave(third.by)
	l.leave(fourth.by)
	empty(t, l)
}

// TestALongReadGivesWay lets the reads of another key in between, one for each portion, but no further read of its own agent.
func TestALongReadGivesWay(t *testing.T) {
	p := newPlaces(1)
	l := p.line(4, 10, 10)
	require.NoError(t, l.enter(t.Context(), of("ann")))
	require.True(t, came(l.pause(of("ann"))), "nobody waits")
	next := waiter(t, l, of("ann"))
	bob, again := waiter(t, l, of("bob")), waiter(t, l, of("bob"))
	for _, w := range []*waitingRead{bob, again} {
		paused := l.pause(of("ann"))
		require.True(t, came(w))
		require.False(t, came(paused), "two run in one place")
		l.leave(of("bob"))
		require.True(t, came(paused))
	}
	other := waiter(t, l, Reader{"ann", "other"})
	paused := l.pause(of("ann"))
	require.True(t, came(other), "the agents of a key have turns, too")
	otherPaused := l.pause(other.by)
	require.True(t, came(paused), "two of ann's reads are under way, which is half of the line")
	l.leave(of("ann"))
	require.True(t, came(otherPaused), "what has begun goes on first")
	l.leave(other.by)
	require.True(t, came(next))
	l.leave(next.by)
	require.Equal(t, []int{1, 4}, []int{p.free, l.free})
	empty(t, l)
}

// TestNobodyGivesWayWithoutAConnection goes on if all connections of the line are taken: nobody could use the place.
func TestNobodyGivesWayWithoutAConnection(t *testing.T) {
	l := newLine(1, 10, 10)
	require.NoError(t, l.enter(t.Context(), of("ann")))
	bob := waiter(t, l, of("bob"))
	require.True(t, came(l.pause(of("ann"))))
	comeIn(t, l, of("ann"), bob)
}

func TestALineIsBounded(t *testing.T) {
	l := newLine(1, 3, 2)
	require.NoError(t, l.enter(t.Context(), of("ann")))
	waiter(t, l, Reader{"ann", "one"})
	waiter(t, l, Reader{"ann", "two"})
	require.ErrorIs(t, l.enter(t.Context(), Reader{"ann", "three"}), ErrCrowded, "a key's agents share its bound")
	waiter(t, l, of("bob"))
	require.ErrorIs(t, l.enter(t.Context(), of("cat")), ErrCrowded)
	waiter(t, l, Reader{}) // what many share is never refused
}

func TestWhoGivesUpLeavesTheLine(t *testing.T) {
	l := newLine(1, 10, 10)
	require.NoError(t, l.enter(t.Context(), of("ann")))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, l.enter(ended, of("bob")), context.Canceled)
	cat := waiter(t, l, of("cat"))
	l.leave(comeIn(t, l, of("ann"), cat))
	empty(t, l)
}

// empty checks that a line keeps nothing of reads that have come or gone.
func empty(t require.TestingT, l *line) {
	require.Zero(t, l.count())
	require.Empty(t, l.keys)
	require.True(t, l.turns.empty())
	require.Zero(t, l.turns.next.Len()+l.turns.later.Len()+len(l.paused))
}

// TestLinesShareTheirPlaces takes a place in turn from two lines, as SQLite's do.
func TestLinesShareTheirPlaces(t *testing.T) {
	p := newPlaces(2)
	reads, heavy := p.line(2, 10, 10), p.line(1, 10, 10)
	require.NoError(t, reads.enter(t.Context(), of("ann")))
	require.NoError(t, heavy.enter(t.Context(), of("ann")))
	first, second := waiter(t, reads, of("ann")), waiter(t, reads, of("ann"))
	large, larger := waiter(t, heavy, of("ann")), waiter(t, heavy, of("ann"))
	reads.leave(of("ann"))
	require.True(t, came(first), "only one heavy read runs at a time, so the free place is not for another")
	require.False(t, came(large))
	heavy.leave(of("ann"))
	require.True(t, came(large), "the lines take turns")
	require.False(t, came(second))
	heavy.leave(of("ann"))
	require.True(t, came(larger), "a key has half of a line of two")
	require.False(t, came(second))
	reads.leave(of("ann"))
	require.True(t, came(second))
	reads.leave(of("ann"))
	heavy.leave(of("ann"))
	require.Equal(t, []int{2, 2, 1}, []int{p.free, reads.free, heavy.free})
}

func TestALineLetsFewInAtATime(t *testing.T) {
	l := newLine(2, 1000, 1000)
	var all sync.WaitGroup
	inside := make(chan struct{}, 2)
	for i := range 200 {
		all.Go(func() {
			if err := l.enter(t.Context(), of(fmt.Sprint(i%7))); err != nil {
				t.Error(err)
				return
			}
			select {
			case inside <- struct{}{}:
			default:
				t.Error("three callers are inside")
			}
			<-inside
			l.leave(of(fmt.Sprint(i % 7)))
		})
	}
	all.Wait()
	require.Equal(t, 2, l.free)
}

// TestCallersReadsLeaveRoom leaves a processor to senders, and connections to what they look up.
func TestCallersReadsLeaveRoom(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	for _, test := range []struct{ processors, reads, sqlite, sqliteReads, postgres int }{
		{1, 0, 1, 1, 6}, {2, 0, 1, 1, 6}, {3, 0, 2, 2, 6}, {16, 0, 15, 3, 6}, {16, 1, 15, 1, 1}, {4, 20, 3, 3, 15},
	} {
		runtime.GOMAXPROCS(test.processors)
		reads, heavy := Connections{Read: test.reads}.orDefaults(SQLite).lines(SQLite)
		require.Same(t, reads.places, heavy.places, "all of a SQLite file's reads compute in this process")
		require.Equal(t, test.sqlite, reads.places.free)
		require.Equal(t, test.sqliteReads, min(reads.free, reads.places.free))
		reads, heavy = Connections{Read: test.reads}.orDefaults(PostgreSQL).lines(PostgreSQL)
		require.Equal(t, []int{test.postgres, test.postgres}, []int{reads.free, reads.places.free})
		require.Equal(t, []int{2, 2}, []int{heavy.free, heavy.places.free})
	}
}

// TestManyAgentsOfAKeyMayWait lets a broadcast wake a hundred agents of one key a hundred times before their reads are too many.
func TestManyAgentsOfAKeyMayWait(t *testing.T) {
	l, _ := Connections{}.orDefaults(PostgreSQL).lines(PostgreSQL)
	for l.free > 0 {
		require.NoError(t, l.enter(t.Context(), of(fmt.Sprint("key ", l.free))))
	}
	var waiting []*waitingRead
	for n := range 10_000 {
		waiting = append(waiting, waiter(t, l, Reader{"shared", fmt.Sprint(n % 100)}))
	}
	_, err := l.join(Reader{"shared", "one more"})
	require.ErrorIs(t, err, ErrCrowded)
	waiting = append(waiting, waiter(t, l, of("bob")))
	for _, w := range waiting {
		require.True(t, l.quit(w))
	}
	require.Zero(t, l.count())
	require.True(t, l.turns.empty())
}
