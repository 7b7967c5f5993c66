package subscriptions

import (
	"context"
	"maps"
	"slices"
	"time"

	"openintent/messaging/reading"

	"openintent/caller"
	"openintent/database"
	"openintent/intents"
)

// pollHeads wakes the observers of the heads that changed since the previous poll, and the observers that an intent has begun
// to reach.
func (m *monitor) pollHeads(ctx context.Context) error {
	now := m.service.db.Now()
	found, err := m.readHeads(ctx, m.since(now))
	if err != nil {
		return err
	}
	changed, ruled := compareHeads(m.known, found)
	m.mutex.Lock()
	m.found = found
	m.mutex.Unlock()
	for some := range slices.Chunk(changed, monitorBatch) {
		m.wakeBehind(found, some)
		if err := m.wakeReached(ctx, some, ruled); err != nil {
			return err
		}
	}
	m.known = found
	m.mutex.Lock()
	m.polledAt = now
	m.mutex.Unlock()
	return nil
}

// since returns the earliest time of any change that the previous poll may not have found. Somebody may have set the clock
// back.
func (m *monitor) since(now time.Time) time.Time {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.polledAt.After(now) {
		return now.Add(-commitLag)
	}
	return m.polledAt.Add(-commitLag)
}

// readHeads reads the heads that have changed since a time. It also reads the known heads that are no longer among them. Most
// of these are merely older now, and it leaves them out. But if the latest change of a head was lost with its commit, that is
// also a change.
func (m *monitor) readHeads(ctx context.Context, since time.Time) (map[int64]intents.State, error) {
	found := make(map[int64]intents.State, len(m.known))
	err := m.service.db.ReadFor(ctx, caller.ReaderOf(ctx, ""), func(tx *database.Tx) error {
		moved, read := intents.PrepareMoved(since)
		err := tx.Pipeline(read)
		for _, state := range *moved {
			found[state.IntentNo] = state
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	older := slices.DeleteFunc(slices.Collect(maps.Keys(m.known)), func(intentNo int64) bool {
		_, moved := found[intentNo]
		return moved
	})
	for some := range slices.Chunk(older, monitorBatch) {
		err := m.service.db.ReadFor(ctx, caller.ReaderOf(ctx, ""), func(tx *database.Tx) error {
			states, read := intents.PrepareStates(tx, some)
			err := tx.Pipeline(read)
			for _, state := range *states {
				if state != m.known[state.IntentNo] {
					found[state.IntentNo] = state
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// compareHeads returns the intents whose heads changed, and those among them whose rules may have changed.
func compareHeads(known, found map[int64]intents.State) (changed, ruled []int64) {
	for intentNo, state := range found {
		before, seen := known[intentNo]
		if seen && before == state {
			continue
		}
		changed = append(changed, intentNo)
		if !seen || before.Epoch != state.Epoch {
			ruled = append(ruled, intentNo)
		}
	}
	return changed, ruled
}

// wakeBehind wakes the observers that saw a changed head in another state. That is an earlier state or, after commits were
// lost, a later one.
func (m *monitor) wakeBehind(found map[int64]intents.State, changed []int64) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, intentNo := range changed {
		for o := range m.byIntent[intentNo] {
			if o.states[intentNo] != found[intentNo] {
				o.watch.Wake()
			}
		}
	}
}

// wakeReached wakes the observers that a changed intent reaches although they do not know it yet.
func (m *monitor) wakeReached(ctx context.Context, changed, ruled []int64) error {
	m.mutex.Lock()
	named := len(m.byName) > 0
	m.mutex.Unlock()
	if !named {
		return nil
	}
	of := make(map[int64]struct{}, len(changed))
	for _, intentNo := range changed {
		of[intentNo] = struct{}{}
	}
	ruled = slices.DeleteFunc(slices.Clone(ruled), func(intentNo int64) bool {
		_, asked := of[intentNo]
		return !asked
	})
	return m.service.db.ReadFor(ctx, caller.ReaderOf(ctx, ""), func(tx *database.Tx) error {
		return reading.ReachedBy(tx, changed, ruled, func(intentNo int64, name string) {
			m.mutex.Lock()
			defer m.mutex.Unlock()
			for o := range m.byName[name] {
				if _, known := o.states[intentNo]; !known {
					o.watch.Wake()
				}
			}
		})
	})
}
