package subscriptions

import (
	"context"
	"slices"
	"sync"
	"time"

	"openintent/agents"
	"openintent/caller"
	"openintent/database"
	"openintent/intents"
	"openintent/messaging"
)

const (
	// commitLag is the longest time between the moment when a transaction decides a change and its commit.
	commitLag = time.Minute
	// monitorBatch bounds how many observers, or intents, one query covers.
	monitorBatch = 1000
)

// monitor finds the changes that no wake-up announced, for all streams of agents' own logs and all posted subscriptions of this
// replica together. There may be very many of them, mostly idle, and each would have to read the head of every intent that
// reaches its agent. Instead, the monitor queries which heads have changed lately. That costs about the same, however many
// intents and observers there are. It wakes the observers that saw such a head in another state. Whenever an intent begins to
// reach an agent, its head changes, so the monitor also queries which agents the changed intents reach.
type monitor struct {
	service *Service

	mutex     sync.Mutex
	observers map[*observer]struct{}
	byName    map[string]map[*observer]struct{}
	byIntent  map[int64]map[*observer]struct{}
	// polledAt is the time of the latest complete poll. If no poll has completed since the first observer came, it is the time
	// when that observer came.
	polledAt time.Time
	// found contains the heads that the latest poll found, even if that poll did not complete.
	found map[int64]intents.State

	// polling allows only one poll at a time. It is locked before mutex.
	polling sync.Mutex
	// known contains the heads that the latest complete poll found. polling guards it.
	known map[int64]intents.State
}

// observer is a stream or a posted subscription that the monitor wakes. It is registered before its first look, so that a poll
// finds everything that is committed after that look. The monitor's mutex guards it.
type observer struct {
	watch   *messaging.Watch
	no      int64
	agentID string
	// wide is true when the observer sees everything that reaches the agent, and false when it sees one intent.
	wide bool
	// ownLog is true when the observer must also be woken if the agent's record changes or another replica assigns numbers.
	ownLog bool

	// The remaining fields describe what its latest look saw.
	role       string
	departedAt time.Time
	lastNumber int64
	states     map[int64]intents.State
}

func newMonitor(s *Service) *monitor {
	return &monitor{
		service: s, observers: make(map[*observer]struct{}),
		byName: make(map[string]map[*observer]struct{}), byIntent: make(map[int64]map[*observer]struct{}),
	}
}

// add registers an observer. The caller must call remove when it is done.
func (m *monitor) add(o *observer) *observer {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if len(m.observers) == 0 {
		m.polledAt = m.service.db.Now()
	}
	m.observers[o] = struct{}{}
	if o.wide {
		put(m.byName, o.agentID, o)
	}
	return o
}

func (m *monitor) remove(o *observer) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.observers, o)
	drop(m.byName, o.agentID, o)
	drop(m.byName, caller.RolePrefix+o.role, o)
	for intentNo := range o.states {
		drop(m.byIntent, intentNo, o)
	}
}

// update records what an observer saw. A poll that ran during the look did not know which heads the observer was looking at. So
// update wakes the observer if that poll found newer states.
func (m *monitor) update(o *observer, seen *progress) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if seen.moved {
		m.moved(o, seen)
		return
	}
	m.setRole(o, heldRole(seen.presence))
	for intentNo := range o.states {
		if _, still := seen.states[intentNo]; !still {
			drop(m.byIntent, intentNo, o)
		}
	}
	behind := false
	for intentNo, state := range seen.states {
		if _, indexed := o.states[intentNo]; !indexed {
			put(m.byIntent, intentNo, o)
			found := m.found[intentNo]
			behind = behind || found.LastPosition > state.LastPosition || found.Epoch > state.Epoch
		}
	}
	o.departedAt, o.states = seen.presence.DepartedAt, seen.states
	o.lastNumber = max(o.lastNumber, seen.sub.lastNumber)
	if behind {
		o.watch.Wake()
	}
}

// moved records what an observer saw of a few of the heads that it has seen before. The states are the observer's own; the mutex
// must be held.
func (m *monitor) moved(o *observer, seen *progress) {
	for intentNo, state := range seen.states {
		if _, indexed := o.states[intentNo]; indexed {
			o.states[intentNo] = state
		}
	}
	o.lastNumber = max(o.lastNumber, seen.sub.lastNumber)
}

func (m *monitor) setRole(o *observer, role string) {
	if !o.wide || role == o.role {
		return
	}
	drop(m.byName, caller.RolePrefix+o.role, o)
	if o.role = role; role != "" {
		put(m.byName, caller.RolePrefix+role, o)
	}
}

// advance records the number that a stream has reached in its log.
func (m *monitor) advance(o *observer, number int64) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	o.lastNumber = max(o.lastNumber, number)
}

func put[K comparable](index map[K]map[*observer]struct{}, key K, o *observer) {
	if index[key] == nil {
		index[key] = make(map[*observer]struct{})
	}
	index[key][o] = struct{}{}
}

func drop[K comparable](index map[K]map[*observer]struct{}, key K, o *observer) {
	delete(index[key], o)
	if len(index[key]) == 0 {
		delete(index, key)
	}
}

// poll wakes the observers that may have missed something. If it fails, it has woken only some of them, and the next poll
// starts from the same time.
func (m *monitor) poll(ctx context.Context) error {
	m.polling.Lock()
	defer m.polling.Unlock()
	ownLogs, observed := m.observed()
	if !observed {
		m.known = nil
		return nil
	}
	for some := range slices.Chunk(ownLogs, monitorBatch) {
		if err := m.pollRecords(ctx, some); err != nil {
			return err
		}
	}
	return m.pollHeads(ctx)
}

// observed returns the observers of own logs, and reports whether there are any observers.
func (m *monitor) observed() (ownLogs []*observer, observed bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for o := range m.observers {
		if o.ownLog {
			ownLogs = append(ownLogs, o)
		}
	}
	return ownLogs, len(m.observers) > 0
}

// pollRecords wakes the streams whose agents' records have changed, whose logs got further numbers from another replica, or
// whose logs have lost numbers.
func (m *monitor) pollRecords(ctx context.Context, ownLogs []*observer) error {
	agentIDs, nos := make([]string, len(ownLogs)), make([]int64, len(ownLogs))
	for i, o := range ownLogs {
		agentIDs[i], nos[i] = o.agentID, o.no
	}
	numbers := make(map[int64]int64, len(nos))
	var presences map[string]agents.Presence
	err := m.service.db.ReadFor(ctx, caller.ReaderOf(ctx, ""), func(tx *database.Tx) error {
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
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, o := range ownLogs {
		now := presences[o.agentID]
		if numbers[o.no] != o.lastNumber || heldRole(now) != o.role || !now.DepartedAt.Equal(o.departedAt) {
			o.watch.Wake()
		}
	}
	return nil
}
