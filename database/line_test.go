package database

import (
	"context"
	"fmt"
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

// comeIn checks that the reads come in this order, one for each that leaves.
func comeIn(t *testing.T, l *line, order ...*waitingRead) {
	t.Helper()
	for i, next := range order {
		require.False(t, came(next), "the read %d came too early", i)
		l.leave()
		require.True(t, came(next), "it was the turn of read %d", i)
	}
}

func TestKeysComeInTurn(t *testing.T) {
	l := newLine(1, 10, 10)
	require.NoError(t, l.enter(t.Context(), of("ann")))
	first, second, third := waiter(t, l, of("ann")), waiter(t, l, of("ann")), waiter(t, l, of("ann"))
	bob := waiter(t, l, of("bob"))
	comeIn(t, l, first, bob, second, third)
	l.leave()
	require.NoError(t, l.enter(t.Context(), of("cat")), "the place is free again")
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
	comeIn(t, l, greedy[0], bob, modest[0], other, greedy[1], modest[1], greedy[2], greedy[3], greedy[4])
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
	comeIn(t, l, cat)
	empty(t, l)
}

// empty checks that a line keeps nothing of reads that have come or gone.
func empty(t require.TestingT, l *line) {
	require.Zero(t, l.count())
	require.Empty(t, l.keys.byName)
	require.Zero(t, l.keys.turns.Len())
}

// TestLinesShareTheirPlaces takes a place in turn from two lines, as SQLite's do.
func TestLinesShareTheirPlaces(t *testing.T) {
	p := newPlaces(2)
	reads, heavy := p.line(2, 10, 10), p.line(1, 10, 10)
	require.NoError(t, reads.enter(t.Context(), of("ann")))
	require.NoError(t, heavy.enter(t.Context(), of("ann")))
	first, second := waiter(t, reads, of("ann")), waiter(t, reads, of("ann"))
	large, larger := waiter(t, heavy, of("ann")), waiter(t, heavy, of("ann"))
	reads.leave()
	require.True(t, came(first), "only one heavy read runs at a time, so the free place is not for another")
	require.False(t, came(large))
	heavy.leave()
	require.True(t, came(large), "the lines take turns")
	require.False(t, came(second))
	heavy.leave()
	require.True(t, came(second))
	require.False(t, came(larger))
	reads.leave()
	require.True(t, came(larger))
	reads.leave()
	heavy.leave()
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
			l.leave()
		})
	}
	all.Wait()
	require.Equal(t, 2, l.free)
}

// simpleLine says whose turn it is, in the simplest way: by the order in which keys, and agents of a key, have to come next.
type simpleLine struct {
	keys    []string
	agents  map[string][]string // by key
	waiting map[Reader][]*waitingRead
}

func (s *simpleLine) join(w *waitingRead) {
	if !slices.Contains(s.keys, w.by.Key) {
		s.keys = append(s.keys, w.by.Key)
	}
	if !slices.Contains(s.agents[w.by.Key], w.by.Agent) {
		s.agents[w.by.Key] = append(s.agents[w.by.Key], w.by.Agent)
	}
	s.waiting[w.by] = append(s.waiting[w.by], w)
}

func (s *simpleLine) quit(w *waitingRead) {
	s.waiting[w.by] = slices.DeleteFunc(s.waiting[w.by], func(other *waitingRead) bool { return other == w })
	if len(s.waiting[w.by]) == 0 {
		s.agents[w.by.Key] = slices.DeleteFunc(s.agents[w.by.Key], func(agent string) bool { return agent == w.by.Agent })
	}
	if len(s.agents[w.by.Key]) == 0 {
		s.keys = slices.DeleteFunc(s.keys, func(key string) bool { return key == w.by.Key })
	}
}

func (s *simpleLine) next() *waitingRead {
	key := s.keys[0]
	agent := s.agents[key][0]
	w := s.waiting[Reader{key, agent}][0]
	s.keys = append(s.keys[1:], key)
	s.agents[key] = append(s.agents[key][1:], agent)
	s.quit(w)
	return w
}

func (s *simpleLine) all() (all []*waitingRead) {
	for _, key := range s.keys {
		for _, agent := range s.agents[key] {
			all = append(all, s.waiting[Reader{key, agent}]...)
		}
	}
	return all
}

// TestWhoseTurnItIsInALine lets reads come, give up and leave in any order. No place is lost, and none is given to two reads.
func TestWhoseTurnItIsInALine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		places, inside := rapid.IntRange(1, 3).Draw(t, "places"), 0
		l := newLine(places, 12, 6)
		expected := &simpleLine{agents: make(map[string][]string), waiting: make(map[Reader][]*waitingRead)}
		t.Repeat(map[string]func(*rapid.T){
			"join": func(t *rapid.T) {
				by := Reader{rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key"), rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "agent")}
				ofKey := 0
				for _, w := range expected.all() {
					if w.by.Key == by.Key {
						ofKey++
					}
				}
				w, err := l.join(by)
				switch {
				case inside < places:
					require.NoError(t, err)
					require.Nil(t, w)
					inside++
				case ofKey == 6 || len(expected.all()) == 12:
					require.ErrorIs(t, err, ErrCrowded)
				default:
					require.NoError(t, err)
					expected.join(w)
				}
			},
			"give up": func(t *rapid.T) {
				if all := expected.all(); len(all) > 0 {
					w := rapid.SampledFrom(all).Draw(t, "read")
					require.True(t, l.quit(w))
					require.False(t, l.quit(w))
					expected.quit(w)
				}
			},
			"leave": func(t *rapid.T) {
				switch {
				case inside == 0:
					return
				case len(expected.all()) == 0:
					inside--
				default:
					defer func(w *waitingRead) { require.True(t, came(w)) }(expected.next())
				}
				l.leave()
			},
			"": func(t *rapid.T) {
				require.Equal(t, len(expected.all()), l.count())
				for _, w := range expected.all() {
					require.False(t, came(w))
				}
			},
		})
		for _, w := range expected.all() {
			require.True(t, l.quit(w))
		}
		for range inside {
			l.leave()
		}
		require.Equal(t, places, l.free)
		require.Equal(t, places, l.places.free)
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
		require.NoError(t, l.enter(t.Context(), of("ann")))
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
	empty(t, l)
}
