package subscriptions

import (
	"context"
	"slices"
	"sync"
	"time"

	"openintent/messaging/reading"

	"openintent/agents"
	"openintent/caller"
	"openintent/database"
	"openintent/intents"
	"openintent/messaging"
)

const (
	// commitLag is how long after its decision a change is committed at the latest.
	commitLag = time.Minute
	// watchersAtOnce bounds of how many streams, or changed intents, one read asks.
	watchersAtOnce = 1000
)

// lookout looks for what no wake-up told of, for all streams of agents' own logs at this replica at once: very many of them may
// be idle, and each would have to look at every intent that reaches its agent. It asks which heads have changed lately, which
// is much the same however many intents and streams there are, and wakes whose sight is older. Whatever comes to reach an
// agent changes the head of its intent, so it is found by asking whom the changed intents reach.
type lookout struct {
	service *Service

	mutex    sync.Mutex
	watchers map[*watcher]struct{}
	byName   map[string]map[*watcher]struct{}
	byIntent map[int64]map[*watcher]struct{}

	// Only survey uses these: the time of the latest one, and the heads that it found.
	surveyed time.Time
	known    map[int64]intents.State
}

// watcher is a stream for which the lookout looks. It is one from before its first look on: what is committed later than that
// one saw, a survey sees. The lookout's mutex guards it.
type watcher struct {
	watch   *messaging.Watch
	no      int64
	agentID string
	// What its latest look saw.
	role       string
	departedAt time.Time
	lastNumber int64
	states     map[int64]intents.State
}

func newLookout(s *Service) *lookout {
	return &lookout{
		service: s, watchers: make(map[*watcher]struct{}),
		byName: make(map[string]map[*watcher]struct{}), byIntent: make(map[int64]map[*watcher]struct{}),
	}
}

// enter adds a stream. Call leave when done.
func (l *lookout) enter(r *receiver) *watcher {
	w := &watcher{watch: r.watch, no: r.sub.no, agentID: r.sub.subscriber}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.watchers[w] = struct{}{}
	put(l.byName, w.agentID, w)
	return w
}

func (l *lookout) leave(w *watcher) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	delete(l.watchers, w)
	drop(l.byName, w.agentID, w)
	drop(l.byName, caller.RolePrefix+w.role, w)
	for intentNo := range w.states {
		drop(l.byIntent, intentNo, w)
	}
}

// note notes what a stream's look saw.
func (l *lookout) note(w *watcher, seen *sight) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if role := heldRole(seen.presence); role != w.role {
		drop(l.byName, caller.RolePrefix+w.role, w)
		if w.role = role; role != "" {
			put(l.byName, caller.RolePrefix+role, w)
		}
	}
	for intentNo := range w.states {
		if _, still := seen.states[intentNo]; !still {
			drop(l.byIntent, intentNo, w)
		}
	}
	for intentNo := range seen.states {
		if _, indexed := w.states[intentNo]; !indexed {
			put(l.byIntent, intentNo, w)
		}
	}
	w.departedAt, w.states = seen.presence.DepartedAt, seen.states
	w.lastNumber = max(w.lastNumber, seen.sub.lastNumber)
}

// reached notes up to which number of its log a stream has come.
func (l *lookout) reached(w *watcher, number int64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	w.lastNumber = max(w.lastNumber, number)
}

func put[K comparable](index map[K]map[*watcher]struct{}, key K, w *watcher) {
	if index[key] == nil {
		index[key] = make(map[*watcher]struct{})
	}
	index[key][w] = struct{}{}
}

func drop[K comparable](index map[K]map[*watcher]struct{}, key K, w *watcher) {
	delete(index[key], w)
	if len(index[key]) == 0 {
		delete(index, key)
	}
}

// survey wakes the streams that may have missed something. With an error it has woken some of them, and the next one looks
// from the same time on.
func (l *lookout) survey(ctx context.Context) error {
	l.mutex.Lock()
	watchers := make([]*watcher, 0, len(l.watchers))
	for w := range l.watchers {
		watchers = append(watchers, w)
	}
	l.mutex.Unlock()
	if len(watchers) == 0 {
		l.surveyed, l.known = time.Time{}, nil
		return nil
	}
	for some := range slices.Chunk(watchers, watchersAtOnce) {
		if err := l.surveyRecords(ctx, some); err != nil {
			return err
		}
	}
	return l.surveyHeads(ctx)
}

// surveyHeads wakes the streams whose intents have changed since they looked, and those that an intent reaches of which their
// look did not know.
func (l *lookout) surveyHeads(ctx context.Context) error {
	now := l.service.db.Now()
	since := now // the clock may have been set back, or on
	if !l.surveyed.IsZero() && l.surveyed.Before(now) {
		since = l.surveyed
	}
	found, read := intents.PrepareMoved(since.Add(-commitLag))
	err := l.service.db.ReadStatement(ctx, func(tx *database.Tx) error { return tx.Pipeline(read) })
	if err != nil {
		return err
	}
	known := make(map[int64]intents.State, len(*found))
	var changed, ruled []int64
	for _, state := range *found {
		known[state.IntentNo] = state
		before, seen := l.known[state.IntentNo]
		if seen && before == state {
			continue
		}
		changed = append(changed, state.IntentNo)
		if !seen || before.Epoch != state.Epoch {
			ruled = append(ruled, state.IntentNo)
		}
	}
	for some := range slices.Chunk(changed, watchersAtOnce) {
		l.wakeBehind(known, some)
		if err := l.wakeReached(ctx, some, ruled); err != nil {
			return err
		}
	}
	l.surveyed, l.known = now, known
	return nil
}

// wakeBehind wakes those who saw a head otherwise: when it had not come so far, or further than it has come since commits
// were lost.
func (l *lookout) wakeBehind(states map[int64]intents.State, changed []int64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, intentNo := range changed {
		now := states[intentNo]
		for w := range l.byIntent[intentNo] {
			if w.states[intentNo] != now {
				w.watch.Wake()
			}
		}
	}
}

// wakeReached wakes those whom changed intents reach that they do not know.
func (l *lookout) wakeReached(ctx context.Context, changed, ruled []int64) error {
	of := make(map[int64]struct{}, len(changed))
	for _, intentNo := range changed {
		of[intentNo] = struct{}{}
	}
	ruled = slices.DeleteFunc(slices.Clone(ruled), func(intentNo int64) bool {
		_, asked := of[intentNo]
		return !asked
	})
	return l.service.db.Read(ctx, func(tx *database.Tx) error {
		return reading.ReachedBy(tx, changed, ruled, func(intentNo int64, name string) {
			l.mutex.Lock()
			defer l.mutex.Unlock()
			for w := range l.byName[name] {
				if _, known := w.states[intentNo]; !known {
					w.watch.Wake()
				}
			}
		})
	})
}

// surveyRecords wakes the streams whose agents' records changed, or whose logs another replica has numbered further, or which
// have lost numbers.
func (l *lookout) surveyRecords(ctx context.Context, watchers []*watcher) error {
	agentIDs, nos := make([]string, len(watchers)), make([]int64, len(watchers))
	for i, w := range watchers {
		agentIDs[i], nos[i] = w.agentID, w.no
	}
	numbers := make(map[int64]int64, len(nos))
	var presences map[string]agents.Presence
	err := l.service.db.Read(ctx, func(tx *database.Tx) error {
		var read database.Statement
		read, presences = agents.PreparePresences(tx, agentIDs)
		in, argument := tx.In("subscription_no", nos)
		return tx.Pipeline(read, database.Statement{
			SQL:  "SELECT subscription_no, last_number FROM subscriptions WHERE " + in,
			Args: []any{argument},
			Scan: func(row database.Row) error {
				var no, number int64
				err := row.Scan(&no, &number)
				numbers[no] = number
				return err
			},
		})
	})
	if err != nil {
		return err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, w := range watchers {
		now := presences[w.agentID]
		if numbers[w.no] != w.lastNumber || heldRole(now) != w.role || !now.DepartedAt.Equal(w.departedAt) {
			w.watch.Wake()
		}
	}
	return nil
}
