package database

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
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

// simpleRounds say whose turn it is, in the simplest way: names in the order in which they joined or had their turns, and who had one in
// this round.
type simpleRounds struct {
	names []string
	had   map[string]bool
}

func (r *simpleRounds) join(name string) {
	if !slices.Contains(r.names, name) {
		r.names = append(r.names, name)
	}
}

func (r *simpleRounds) drop(name string) {
	r.names = slices.DeleteFunc(r.names, func(other string) bool { return other == name })
}

// first returns the first name that has had no turn in this round or, if all had, in the next one; empty if there is none.
func (r *simpleRounds) first() string {
	for _, name := range r.names {
		if !r.had[name] {
			return name
		}
	}
	return slices.Concat(r.names, []string{""})[0]
}

// turn gives a name its turn. It begins a round if all had theirs.
func (r *simpleRounds) turn(name string) {
	if first := r.first(); r.had == nil || first == "" || r.had[first] {
		r.had = make(map[string]bool)
	}
	if r.had[name] = true; slices.Contains(r.names, name) {
		r.drop(name)
		r.join(name)
	}
}

// simpleLine is a line that is written down in the simplest way. Only keys of which a read may begin or go on have turns.
type simpleLine struct {
	places, connections int
	keys                simpleRounds
	agents              map[string]*simpleRounds // by key
	waiting             map[Reader][]*waitingRead
	running             []Reader
	paused              []*waitingRead
}

// underWay counts the reads of a key that run or gave way.
func (s *simpleLine) underWay(key string) (count int) {
	for _, by := range s.running {
		if by.Key == key {
			count++
		}
	}
	return count + s.gaveWay(key)
}

func (s *simpleLine) gaveWay(key string) (count int) {
	for _, w := range s.paused {
		if w.by.Key == key {
			count++
		}
	}
	return count
}

// mayBegin reports whether a further read of a key may begin.
func (s *simpleLine) mayBegin(key string) bool {
	return len(s.running)+len(s.paused) < s.connections && s.underWay(key) < max(1, (s.connections+1)/2)
}

// settle notes whether a key has turns, and forgets a key of which nothing is left.
func (s *simpleLine) settle(key string) {
	begins := len(s.all(key)) > s.gaveWay(key) && s.underWay(key) < max(1, (s.connections+1)/2)
	if begins || s.gaveWay(key) > 0 {
		s.keys.join(key)
	} else {
		s.keys.drop(key)
	}
	if len(s.all(key)) == 0 && s.underWay(key) == 0 {
		delete(s.agents, key)
	}
}

func (s *simpleLine) join(w *waitingRead) {
	s.agentsOf(w.by.Key).join(w.by.Agent)
	if w.paused {
		s.waiting[w.by] = append([]*waitingRead{w}, s.waiting[w.by]...)
	} else {
		s.waiting[w.by] = append(s.waiting[w.by], w)
	}
	s.settle(w.by.Key)
}

func (s *simpleLine) agentsOf(key string) *simpleRounds {
	if s.agents[key] == nil {
		s.agents[key] = &simpleRounds{}
	}
	return s.agents[key]
}

func (s *simpleLine) quit(w *waitingRead) {
	is := func(other *waitingRead) bool { return other == w }
	s.waiting[w.by], s.paused = slices.DeleteFunc(s.waiting[w.by], is), slices.DeleteFunc(s.paused, is)
	if len(s.waiting[w.by]) == 0 {
		s.agents[w.by.Key].drop(w.by.Agent)
	}
	s.settle(w.by.Key)
}

// run notes that a read runs.
func (s *simpleLine) run(by Reader) {
	s.keys.turn(by.Key)
	s.agentsOf(by.Key).turn(by.Agent)
	s.running = append(s.running, by)
	s.settle(by.Key)
}

// stop notes that a read does not run any more, and returns which one it was.
func (s *simpleLine) stop(index int) Reader {
	by := s.running[index]
	s.running = slices.Delete(s.running, index, index+1)
	return by
}

// admit returns the read whose turn it is; nil if there is none.
func (s *simpleLine) admit() *waitingRead {
	var w *waitingRead
	key := s.keys.first()
	switch {
	case len(s.running) == s.places || key == "":
		return nil
	case len(s.running)+len(s.paused) == s.connections:
		if len(s.paused) == 0 {
			return nil
		}
		w = s.paused[0]
	case s.mayBegin(key):
		w = s.waiting[Reader{key, s.agents[key].first()}][0]
	default:
		w = s.paused[slices.IndexFunc(s.paused, func(w *waitingRead) bool { return w.by.Key == key })]
	}
	s.run(w.by)
	s.quit(w)
	return w
}

// all returns the reads that wait, those of one key or of all.
func (s *simpleLine) all(keys ...string) (all []*waitingRead) {
	if len(keys) == 0 {
		keys = slices.Sorted(maps.Keys(s.agents))
	}
	for _, key := range keys {
		for _, agent := range s.agentsOf(key).names {
			all = append(all, s.waiting[Reader{key, agent}]...)
		}
	}
	return all
}

// TestWhoseTurnItIsInALine lets reads come, give way, give up and leave in any order. No place is lost, and none is given to two reads.
func TestWhoseTurnItIsInALine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		connections := rapid.IntRange(1, 5).Draw(t, "connections")
		places := rapid.IntRange(1, connections).Draw(t, "places")
		p := newPlaces(places)
		l := p.line(connections, 12, 6)
		expected := &simpleLine{
			places: places, connections: connections, agents: make(map[string]*simpleRounds), waiting: make(map[Reader][]*waitingRead),
		}
		admitted := func(t *rapid.T) {
			for w := expected.admit(); w != nil; w = expected.admit() {
				require.True(t, came(w))
			}
		}
		waiting := func(keys ...string) []*waitingRead {
			return slices.DeleteFunc(expected.all(keys...), func(w *waitingRead) bool { return w.paused })
		}
		t.Repeat(map[string]func(*rapid.T){
			"join": func(t *rapid.T) {
				by := Reader{rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key"), rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "agent")}
				w, err := l.join(by)
				switch {
				case len(expected.running) < places && expected.mayBegin(by.Key):
					require.NoError(t, err)
					require.Nil(t, w)
					expected.run(by)
				case len(waiting(by.Key)) == 6 || len(waiting()) == 12:
					require.ErrorIs(t, err, ErrCrowded)
				default:
					require.NoError(t, err)
					expected.join(w)
				}
			},
			"give up": func(t *rapid.T) {
				if all := waiting(); len(all) > 0 {
					w := rapid.SampledFrom(all).Draw(t, "read")
					require.True(t, l.quit(w))
					require.False(t, l.quit(w))
					expected.quit(w)
				}
			},
			"give way": func(t *rapid.T) {
				if len(expected.running) > 0 {
					w := l.pause(expected.stop(rapid.IntRange(0, len(expected.running)-1).Draw(t, "which")))
					expected.paused = append(expected.paused, w)
					expected.join(w)
					admitted(t)
				}
			},
			"leave": func(t *rapid.T) {
				if len(expected.running) > 0 {
					by := expected.stop(rapid.IntRange(0, len(expected.running)-1).Draw(t, "which"))
					expected.settle(by.Key)
					l.leave(by)
					admitted(t)
				}
			},
			"": func(t *rapid.T) {
				require.Equal(t, len(waiting()), l.count())
				for _, w := range expected.all() {
					require.False(t, came(w))
				}
			},
		})
		for _, w := range waiting() {
			require.True(t, l.quit(w))
		}
		for len(expected.running)+len(expected.paused) > 0 { // what gave way goes on
			for _, by := range expected.running {
				l.leave(by)
			}
			expected.running = nil
			for _, w := range slices.Clone(expected.paused) {
				if came(w) {
					expected.running = append(expected.running, w.by)
					expected.paused = slices.DeleteFunc(expected.paused, func(other *waitingRead) bool { return other == w })
				}
			}
		}
		require.Equal(t, []int{places, connections}, []int{p.free, l.free})
		empty(t, l)
	})
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
