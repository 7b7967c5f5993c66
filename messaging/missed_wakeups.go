package messaging

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"openintent/agents"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/reading"
	"openintent/messaging/wake"
)

const (
	// commitLag is the longest time between the moment when a transaction decides a change and its commit.
	commitLag = time.Minute
	// missedBatch bounds how many agents, or intents, one query covers.
	missedBatch = 1000
)

// missed is what LookForMissed remembers. Wake-ups can be lost, and each watch would have to read the head of every intent that reaches its
// agent to find out. Instead, one look for all of them reads which heads have changed lately. That costs about the same, however many
// intents and watches there are. It wakes the watches of the agents of which such a head is kept in another state. Whenever an intent
// begins to reach an agent, its head changes, so the look also reads which agents the changed intents reach.
type missed struct {
	// lookedAt is the time of the latest complete look. If none has completed since something is watched, it is the time when the
	// first watch began. The mutex of keptCatchments guards it.
	lookedAt time.Time
	// looking allows only one look at a time. It is locked before other mutexes. known are the heads that the latest complete look found.
	looking sync.Mutex
	known   map[int64]intents.State
}

// begin notes that a watch begins. The mutex of keptCatchments is held.
func (m *missed) begin(c *keptCatchments) {
	if len(c.of)+len(c.narrow) == 0 {
		m.lookedAt = c.service.db.Now()
	}
}

// LookForMissed wakes the watches that may have missed something. If it fails, it has woken only some of them, and the next look
// starts from the same time.
func (s *Service) LookForMissed(ctx context.Context) error {
	c := s.catchments
	c.missed.looking.Lock()
	defer c.missed.looking.Unlock()
	kept, watched := c.watched()
	if !watched {
		c.missed.known = nil
		return nil
	}
	for some := range slices.Chunk(kept, missedBatch) {
		if err := c.lookAtRecords(ctx, some); err != nil {
			return err
		}
	}
	return c.lookAtHeads(ctx)
}

// watched returns what is kept, and reports whether anything is watched.
func (c *keptCatchments) watched() (kept []*keptCatchment, watched bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return slices.Collect(maps.Values(c.of)), len(c.of)+len(c.narrow) > 0
}

// lookAtRecords wakes the watches of agents whose records have changed.
func (c *keptCatchments) lookAtRecords(ctx context.Context, kept []*keptCatchment) error {
	names := make([]string, len(kept))
	for i, k := range kept {
		names[i] = k.agent
	}
	var presences map[string]agents.Presence
	err := c.service.db.ReadFor(ctx, caller.ReaderOf(ctx, ""), func(tx *database.Tx) (err error) {
		presences, err = agents.LoadPresences(tx, names)
		return err
	})
	if err != nil {
		return err
	}
	for _, k := range kept {
		if k.differs(presenceIn(presences, k.agent)) {
			k.group.Wake(wake.AgentTopic(k.agent))
		}
	}
	return nil
}

// differs reports whether an agent's record is not the one that is kept.
func (k *keptCatchment) differs(presence agents.Presence) bool {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.presence != presence
}

// lookAtHeads wakes the watches that have missed what changed heads since the previous look.
func (c *keptCatchments) lookAtHeads(ctx context.Context) error {
	now := c.service.db.Now()
	found, err := c.changedHeads(ctx, c.since(now))
	if err != nil {
		return err
	}
	changed, ruled := compareHeads(c.missed.known, found)
	for some := range slices.Chunk(changed, missedBatch) {
		c.wakeBehind(found, some)
		if err := c.wakeReached(ctx, some, ruled); err != nil {
			return err
		}
	}
	c.missed.known = found
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.missed.lookedAt = now
	return nil
}

// since returns the earliest time of any change that the previous look may not have found. Somebody may have set the clock back.
func (c *keptCatchments) since(now time.Time) time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.missed.lookedAt.After(now) {
		return now.Add(-commitLag)
	}
	return c.missed.lookedAt.Add(-commitLag)
}

// changedHeads reads the heads that have changed since a time. It also reads the known heads that are no longer among them. Most
// of these are merely older now, and it leaves them out. But if the latest change of a head was lost with its commit, that is
// also a change.
func (c *keptCatchments) changedHeads(ctx context.Context, since time.Time) (map[int64]intents.State, error) {
	known := c.missed.known
	found := make(map[int64]intents.State, len(known))
	err := c.service.db.ReadFor(ctx, caller.ReaderOf(ctx, ""), func(tx *database.Tx) error {
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
	older := slices.DeleteFunc(slices.Collect(maps.Keys(known)), func(intentNo int64) bool {
		_, moved := found[intentNo]
		return moved
	})
	for some := range slices.Chunk(older, missedBatch) {
		err := c.service.db.ReadFor(ctx, caller.ReaderOf(ctx, ""), func(tx *database.Tx) error {
			states, read := intents.PrepareStates(tx, some)
			err := tx.Pipeline(read)
			for _, state := range *states {
				if state != known[state.IntentNo] {
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

// wakeBehind wakes the watches for which a changed head is kept in another state. That is an earlier state or, after commits were
// lost, a later one.
func (c *keptCatchments) wakeBehind(found map[int64]intents.State, changed []int64) {
	var behind []*Watch
	c.mutex.Lock()
	for _, intentNo := range changed {
		for w := range c.narrow[intentNo] {
			if w.seen != found[intentNo] {
				behind = append(behind, w)
			}
		}
	}
	c.mutex.Unlock()
	for _, w := range behind {
		w.Wake()
	}
	for _, intentNo := range changed {
		for _, k := range c.listeningFor(wake.FeedTopic(intentNo)) {
			if k.isBehind(found[intentNo]) {
				k.group.Wake(wake.FeedTopic(intentNo))
			}
		}
	}
}

// listeningFor returns what is kept of the agents that listen under a topic.
func (c *keptCatchments) listeningFor(topic any) (kept []*keptCatchment) {
	groups := c.service.hub.GroupsOf(topic)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, group := range groups {
		if k := c.byGroup[group]; k != nil {
			kept = append(kept, k)
		}
	}
	return kept
}

// isBehind reports whether an intent has another state than the one that is kept.
func (k *keptCatchment) isBehind(state intents.State) bool {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	kept, known := k.intents[state.IntentNo]
	return !known || state.Purged || kept.lastPosition != state.LastPosition || kept.lastAt != state.LastAt || kept.epoch != state.Epoch
}

// knows reports whether it is kept that an intent reaches the agent.
func (k *keptCatchment) knows(intentNo int64) bool {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	_, known := k.intents[intentNo]
	return known
}

// wakeReached wakes the watches of agents that a changed intent reaches although that is not kept.
func (c *keptCatchments) wakeReached(ctx context.Context, changed, ruled []int64) error {
	if kept, _ := c.watched(); len(kept) == 0 {
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
	return c.service.db.ReadFor(ctx, caller.ReaderOf(ctx, ""), func(tx *database.Tx) error {
		return reading.ReachedBy(tx, changed, ruled, func(intentNo int64, name string) {
			audience := wake.AudienceTopic(name)
			for _, k := range c.listeningFor(audience) {
				if !k.knows(intentNo) {
					k.group.Wake(wake.Reached{Audience: audience, IntentNo: intentNo})
				}
			}
		})
	})
}
