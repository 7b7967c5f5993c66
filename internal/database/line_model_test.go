package database

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

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
