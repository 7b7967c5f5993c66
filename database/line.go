package database

import (
	"container/list"
	"context"
	"sync"
	"time"

	"openintent/fault"
)

const (
	// heavyWaiting bounds the heavy reads that wait; heavyWaitingEach bounds those of one key.
	heavyWaiting     = 256
	heavyWaitingEach = 64
	// readsWaiting and readsWaitingEach are the same bounds for callers' other reads. They are generous, because a message to everybody
	// wakes all agents of a key at once.
	readsWaiting     = 40_000
	readsWaitingEach = 10_000
)

// ErrCrowded refuses a caller's read while too many are waiting.
var ErrCrowded = fault.New(fault.Quota, "TOO_MANY_READS",
	"Too many reads are waiting already, from this key or from all keys; send fewer at a time and try again in a moment.").
	After(time.Second)

// Reader says for which key and agent a read is. Reads take their turns by it: first the keys, and within a key its agents.
//
// The zero Reader is for what the server reads once for many callers at a time. It has turns of its own, as a key has, so neither can
// a key's reads stop such reads, nor they a key's. Such reads are never refused, because the server makes one at a time for each thing
// that is shared.
type Reader struct {
	Key, Agent string
}

// line admits a few reads at a time. It admits waiting reads in turn: one of each key, and within a key one of each of its agents. So
// a key with many reads delays another key by only one of them, and an agent delays another agent of its key by only one. It refuses a
// read if too many are waiting.
type line struct {
	places         *places
	free           int // how many more reads of this line may run, if there are places
	most, mostEach int

	waiting int
	keys    rotation[*waitingKey]
}

// waitingKey is a key of which reads wait.
type waitingKey struct {
	waiting int
	agents  rotation[*waitingAgent]
}

// waitingAgent has the reads of an agent that wait, the oldest first.
type waitingAgent struct{ reads list.List }

// waitingRead is a read that waits. turn is closed when its turn comes.
type waitingRead struct {
	by   Reader
	turn chan struct{}
	at   *list.Element // its place in its agent's list; nil once its turn has come
}

// places are taken by the reads of some lines. While reads of several lines wait, each free place goes to the next line.
type places struct {
	mutex sync.Mutex // also guards the lines
	free  int
	lines []*line // the next one first
}

func newPlaces(free int) *places { return &places{free: free} }

// line adds a line, of which at most so many reads run, and wait in all and of each key.
func (p *places) line(running, most, mostEach int) *line {
	l := &line{places: p, free: running, most: most, mostEach: mostEach}
	p.lines = append(p.lines, l)
	return l
}

// enter waits for the reader's turn. A reader that has entered must leave.
func (l *line) enter(ctx context.Context, by Reader) error {
	w, err := l.join(by)
	if w == nil {
		return err
	}
	select {
	case <-w.turn:
		return nil
	case <-ctx.Done():
		if !l.quit(w) {
			l.leave() // the turn came meanwhile
		}
		return ctx.Err()
	}
}

// join takes a free place, or returns a read that waits for one.
func (l *line) join(by Reader) (*waitingRead, error) {
	l.places.mutex.Lock()
	defer l.places.mutex.Unlock()
	if l.places.free > 0 && l.free > 0 {
		l.places.free--
		l.free--
		return nil, nil
	}
	key := l.keys.find(by.Key)
	if by != (Reader{}) && (l.waiting >= l.most || key != nil && key.waiting >= l.mostEach) {
		return nil, ErrCrowded
	}
	if key == nil {
		key = l.keys.join(by.Key, &waitingKey{})
	}
	agent := key.agents.find(by.Agent)
	if agent == nil {
		agent = key.agents.join(by.Agent, &waitingAgent{})
	}
	w := &waitingRead{by: by, turn: make(chan struct{})}
	w.at = agent.reads.PushBack(w)
	key.waiting++
	l.waiting++
	return w, nil
}

// quit removes a waiting read from the line, and reports whether it was still in there.
func (l *line) quit(w *waitingRead) bool {
	l.places.mutex.Lock()
	defer l.places.mutex.Unlock()
	if w.at == nil {
		return false
	}
	l.remove(w)
	return true
}

// leave gives the place to the next read.
func (l *line) leave() {
	l.places.mutex.Lock()
	defer l.places.mutex.Unlock()
	l.free++
	l.places.free++
	l.places.admit()
}

// admit gives free places to reads that wait for them.
func (p *places) admit() {
	for i := 0; p.free > 0 && i < len(p.lines); {
		l := p.lines[i]
		if l.free == 0 || l.waiting == 0 {
			i++
			continue
		}
		p.free--
		l.free--
		close(l.next().turn)
		copy(p.lines[i:], p.lines[i+1:])
		p.lines[len(p.lines)-1] = l
		i = 0
	}
}

// next removes the read whose turn it is from the line. After it come the other agents of its key, and before these the other keys.
func (l *line) next() *waitingRead {
	key := l.keys.first()
	agent := key.agents.first()
	w := agent.reads.Front().Value.(*waitingRead)
	key.agents.later(w.by.Agent)
	l.keys.later(w.by.Key)
	l.remove(w)
	return w
}

func (l *line) remove(w *waitingRead) {
	key := l.keys.find(w.by.Key)
	agent := key.agents.find(w.by.Agent)
	agent.reads.Remove(w.at)
	w.at = nil
	l.waiting--
	key.waiting--
	if agent.reads.Len() == 0 {
		key.agents.drop(w.by.Agent)
	}
	if key.waiting == 0 {
		l.keys.drop(w.by.Key)
	}
}

// count returns how many reads wait.
func (l *line) count() int {
	l.places.mutex.Lock()
	defer l.places.mutex.Unlock()
	return l.waiting
}
