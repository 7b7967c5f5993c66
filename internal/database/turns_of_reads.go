package database

import (
	"container/list"
	"context"
	"slices"
	"sync"
	"time"

	"openintent/internal/fault"
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
// a key with many reads delays another key by only the one that runs, and an agent delays another agent of its key by only one. No key has
// more than half of the line, whether or not others come. It refuses a read if too many are waiting.
//
// A read that takes long gives way between its portions (Tx.GiveWay). It keeps its connection, and takes a further turn of its key and
// agent to go on, before their other reads.
type line struct {
	places *places
	// free is how many more reads of this line may be under way, and eachRuns how many of one key. Those that run have places, too.
	free, eachRuns int
	// most and mostEach are how many may wait, in all and of one key.
	most, mostEach int

	waiting int
	// keys are those of which reads wait or are under way. turns has those of which one may be admitted or go on.
	keys  map[string]*readsOfKey
	turns rotation[*readsOfKey]
	// paused are the reads that gave way, the one that gave way first in front. They are few, because each has a connection.
	paused []*waitingRead
}

// readsOfKey are the reads of a key.
type readsOfKey struct {
	name string
	// waiting have not begun, and paused gave way. underWay are those that run and those that gave way.
	waiting, paused, underWay int
	agents                    rotation[*list.List] // of *waitingRead, the next one first
}

// waitingRead is a read that waits. turn is closed when its turn comes.
type waitingRead struct {
	by     Reader
	paused bool
	turn   chan struct{}
	at     *list.Element // its place among its agent's; nil once its turn has come
}

// places are taken by the reads of some lines while they run. While reads of several lines wait, each free place goes to the next line.
type places struct {
	mutex sync.Mutex // also guards the lines
	free  int
	lines []*line // the next one first
}

func newPlaces(free int) *places { return &places{free: free} }

// line adds a line, of which at most so many reads are under way, and wait in all and of each key.
func (p *places) line(running, most, mostEach int) *line {
	l := &line{
		places: p, free: running, eachRuns: max(1, (running+1)/2), most: most, mostEach: mostEach, keys: make(map[string]*readsOfKey),
	}
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
			l.leave(by) // the turn came meanwhile
		}
		return ctx.Err()
	}
}

// join takes a free place, or returns a read that waits for one.
func (l *line) join(by Reader) (*waitingRead, error) {
	l.places.mutex.Lock()
	defer l.places.mutex.Unlock()
	key := l.keys[by.Key]
	if key == nil {
		key = &readsOfKey{name: by.Key}
	}
	if l.places.free > 0 && l.free > 0 && key.underWay < l.eachRuns {
		l.places.free--
		l.keys[by.Key] = key
		l.turns.note(by.Key)
		key.agents.note(by.Agent)
		l.begin(key)
		return nil, nil
	}
	if by != (Reader{}) && (l.waiting >= l.most || key.waiting >= l.mostEach) {
		return nil, ErrCrowded
	}
	l.keys[by.Key] = key
	w := &waitingRead{by: by, turn: make(chan struct{})}
	w.at = key.readsOf(by.Agent).PushBack(w)
	key.waiting++
	l.waiting++
	l.offer(key)
	return w, nil
}

// readsOf returns an agent's list.
func (k *readsOfKey) readsOf(agent string) *list.List {
	reads := k.agents.find(agent)
	if reads == nil {
		reads = list.New()
		k.agents.join(agent, reads)
	}
	return reads
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

// leave gives a read's place to the next read.
func (l *line) leave(by Reader) {
	l.places.mutex.Lock()
	defer l.places.mutex.Unlock()
	key := l.keys[by.Key]
	key.underWay--
	l.free++
	l.offer(key)
	l.places.free++
	l.places.admit()
}

// giveWay lets other reads have the place of one, until its turn comes. It returns at once if it is nobody else's.
func (l *line) giveWay(by Reader) { <-l.pause(by).turn }

// pause takes the place of a read away, and returns it as one that waits to go on.
func (l *line) pause(by Reader) *waitingRead {
	l.places.mutex.Lock()
	defer l.places.mutex.Unlock()
	key, w := l.keys[by.Key], &waitingRead{by: by, paused: true, turn: make(chan struct{})}
	w.at = key.readsOf(by.Agent).PushFront(w)
	key.paused++
	l.paused = append(l.paused, w)
	l.offer(key)
	l.places.free++
	l.places.admit()
	return w
}

// admit gives free places to reads that wait for them.
func (p *places) admit() {
	for i := 0; p.free > 0 && i < len(p.lines); {
		l := p.lines[i]
		w := l.next()
		if w == nil {
			i++
			continue
		}
		p.free--
		close(w.turn)
		copy(p.lines[i:], p.lines[i+1:])
		p.lines[len(p.lines)-1] = l
		i = 0
	}
}

// next removes the read whose turn it is from the line, if there is one that may begin or go on.
func (l *line) next() *waitingRead {
	var w *waitingRead
	switch {
	case l.turns.empty():
		return nil
	case l.free > 0:
		w = l.nextOf(l.turns.turn())
	case len(l.paused) == 0:
		return nil
	default: // without a connection, only what has one
		w = l.paused[0]
		l.turns.note(w.by.Key)
		l.keys[w.by.Key].agents.note(w.by.Agent)
	}
	if !w.paused {
		l.begin(l.keys[w.by.Key])
	}
	l.remove(w)
	return w
}

// nextOf returns the read of a key whose turn it is. If the key has its half of the line, that is one that gave way.
func (l *line) nextOf(key *readsOfKey) *waitingRead {
	if key.underWay < l.eachRuns {
		return key.agents.turn().Front().Value.(*waitingRead)
	}
	w := l.paused[slices.IndexFunc(l.paused, func(w *waitingRead) bool { return w.by.Key == key.name })]
	key.agents.note(w.by.Agent)
	return w
}

// begin notes that a read of a key is under way.
func (l *line) begin(key *readsOfKey) {
	key.underWay++
	l.free--
	l.offer(key)
}

// offer gives a key turns if one of its reads may be admitted or go on, and takes them away otherwise. It forgets a key without reads.
func (l *line) offer(key *readsOfKey) {
	may, does := key.paused > 0 || key.waiting > 0 && key.underWay < l.eachRuns, l.turns.find(key.name) != nil
	switch {
	case may && !does:
		l.turns.join(key.name, key)
	case does && !may:
		l.turns.drop(key.name)
	}
	if key.waiting+key.underWay == 0 {
		delete(l.keys, key.name)
	}
}

// remove takes a waiting read out of the line.
func (l *line) remove(w *waitingRead) {
	key := l.keys[w.by.Key]
	reads := key.readsOf(w.by.Agent)
	reads.Remove(w.at)
	w.at = nil
	if reads.Len() == 0 {
		key.agents.drop(w.by.Agent)
	}
	if w.paused {
		key.paused--
		l.paused = slices.DeleteFunc(l.paused, func(other *waitingRead) bool { return other == w })
	} else {
		key.waiting--
		l.waiting--
	}
	l.offer(key)
}

// count returns how many reads wait.
func (l *line) count() int {
	l.places.mutex.Lock()
	defer l.places.mutex.Unlock()
	return l.waiting
}
