package messaging

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"

	"openintent/agents"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/reading"
	"openintent/messaging/wake"
)

// maxMoves bounds what is noted for one watch. A watch that has more to look at looks at everything.
const maxMoves = 256

// keptCatchments are the agents that something here watches. Of each of them this replica keeps once which intents reach the agent, and how
// far these have come, for all calls that wait for the agent and all its streams. So a further watch costs the same, however many intents
// reach its agent, and what happens in an intent is read once.
type keptCatchments struct {
	service *Service

	// mutex comes before the mutex of a keptCatchment.
	mutex   sync.Mutex
	of      map[string]*keptCatchment
	byGroup map[*wake.Group]*keptCatchment
	// narrow are the watches of a single intent, by intent.
	narrow map[int64]map[*Watch]struct{}
	missed missed
}

// keptCatchment is where something reaches one agent.
//
//	wake-ups ──> group ──wakes──> watches ──look──┐
//	               └── topics ──> one reading <───┘──> which intents have moved, for each watch
//
// The group listens for everything in it before that is read, so whatever is committed after the reading wakes it.
type keptCatchment struct {
	agent   string
	service *Service
	group   *wake.Group
	// reading is taken by whoever reads.
	reading chan struct{}

	mutex   sync.Mutex
	watches map[*Watch]struct{}
	closed  bool
	// asked is how often somebody needed a whole reading, and read is how many of these the latest one has answered.
	asked, read int
	// The rest is as it was last read. order are the intents, lowest first; it is replaced and never changed.
	presence agents.Presence
	intents  map[int64]intentState
	order    []int64
	// heard are the intents that the group listens for although they are not in it, because they were only just said to reach the agent.
	heard map[int64]struct{}
}

// intentState is how an intent that reaches an agent was last read. told is the position up to which the watches were told: what others say
// to each other is told to nobody until it is much (quietSpan).
type intentState struct {
	lastPosition, lastAt, told int64
	ruling
}

// ruling is what decides, beside the agent's record, which messages of an intent are for the agent: the epoch of the rules, whether the
// agent has sent a message there, and when a channel began to list it, in microseconds.
type ruling struct {
	epoch    int64
	sent     bool
	listedAt int64
}

func newKeptCatchments(s *Service) *keptCatchments {
	return &keptCatchments{
		service: s, of: make(map[string]*keptCatchment), byGroup: make(map[*wake.Group]*keptCatchment), narrow: make(map[int64]map[*Watch]struct{}),
	}
}

// join adds a watch of everything that reaches its agent.
func (c *keptCatchments) join(w *Watch) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.missed.begin(c)
	k := c.of[w.agent]
	if k == nil {
		k = &keptCatchment{
			agent: w.agent, service: c.service, reading: make(chan struct{}, 1), watches: make(map[*Watch]struct{}), asked: 1,
			heard: make(map[int64]struct{}),
			group: c.service.hub.NewGroup(wake.AgentTopic(w.agent), wake.AudienceTopic(w.agent)),
		}
		c.of[w.agent], c.byGroup[k.group] = k, k
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	w.catchment, w.moves.All = k, true
	k.watches[w] = struct{}{}
	k.group.Join(w.listener)
}

// joinNarrow adds a watch of one intent.
func (c *keptCatchments) joinNarrow(w *Watch) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.missed.begin(c)
	if c.narrow[w.intentNo] == nil {
		c.narrow[w.intentNo] = make(map[*Watch]struct{})
	}
	c.narrow[w.intentNo][w] = struct{}{}
}

// leave removes a watch. When the last one of an agent leaves, nothing is kept of where the agent is reached.
func (c *keptCatchments) leave(w *Watch) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if delete(c.narrow[w.intentNo], w); len(c.narrow[w.intentNo]) == 0 {
		delete(c.narrow, w.intentNo)
	}
	if k := w.catchment; k != nil && k.drop(w) {
		delete(c.of, k.agent)
		delete(c.byGroup, k.group)
		k.group.Close()
	}
}

// drop removes a watch, and reports whether it was the last one.
func (k *keptCatchment) drop(w *Watch) (last bool) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.closed {
		return false
	}
	delete(k.watches, w)
	k.closed = len(k.watches) == 0
	return k.closed
}

// look brings what is kept up to date. One watch reads at a time; the others then find that nothing is left to read.
func (k *keptCatchment) look(ctx context.Context) error {
	select {
	case k.reading <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-k.reading }()
	topics, all := k.group.Noted()
	k.mutex.Lock()
	if all { // whatever was known may be lost
		k.asked++
		for w := range k.watches {
			w.moves = Moves{All: true}
		}
	}
	asked := k.asked
	whole := asked > k.read
	k.mutex.Unlock()
	if !whole && len(topics) == 0 {
		return nil
	}
	moved, known := k.movedIn(topics)
	var err error
	if whole = whole || !known; !whole {
		k.listenAlso(moved)
		whole, err = k.readMoved(ctx, moved)
	}
	for again := whole; again && err == nil; {
		again, err = k.readWhole(ctx)
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	switch {
	case err != nil && whole:
		k.asked++ // what woke this reading is forgotten
	case err != nil:
		k.group.Note(topics)
	case whole:
		k.read = asked
	}
	return err
}

// refresh asks for a whole reading at the next look. What that reading tells the other watches, no wake-up need have told them, and
// LookForMissed finds nothing that is not read by then. So refresh wakes them.
func (k *keptCatchment) refresh() {
	k.mutex.Lock()
	k.asked++
	k.mutex.Unlock()
	k.group.Rouse()
}

// movedIn returns the intents whose topics are among these, with true for those that have begun to reach the agent in some way. known is
// false if another topic is, by which any further intent may reach the agent. The agent's own topic says only that its record may have
// changed, which every reading shows.
func (k *keptCatchment) movedIn(topics map[any]struct{}) (moved map[int64]bool, known bool) {
	moved = make(map[int64]bool)
	for topic := range topics {
		switch topic := topic.(type) {
		case wake.FeedTopic:
			moved[int64(topic)] = moved[int64(topic)]
		case wake.IntentTopic:
			moved[int64(topic)] = moved[int64(topic)]
		case wake.Reached:
			moved[topic.IntentNo] = true
		case wake.AgentTopic:
		default:
			return nil, false
		}
	}
	for no, reached := range moved {
		if _, there := k.intents[no]; !there && !reached { // only who reads changes them
			return nil, false
		}
	}
	return moved, true
}

// listenAlso listens for what moved and is not kept. A reading then keeps it, or a whole reading forgets it.
func (k *keptCatchment) listenAlso(moved map[int64]bool) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	for no := range moved {
		_, there := k.intents[no]
		if _, heard := k.heard[no]; there || heard || k.closed {
			continue
		}
		k.group.Also(wake.FeedTopic(no), wake.IntentTopic(no))
		k.heard[no] = struct{}{}
	}
}

// readMoved reads what has happened in a few intents, and from where those reach the agent that begin to. whole is true if only a whole
// reading shows what has become of the catchment.
func (k *keptCatchment) readMoved(ctx context.Context, moved map[int64]bool) (whole bool, err error) {
	var later map[int64]*laterState
	var ends []LogEnd
	var times EntryTimes
	err = k.service.db.ReadFor(ctx, caller.ReaderOf(ctx, k.agent), func(tx *database.Tx) error {
		later, whole, ends = make(map[int64]*laterState, len(moved)), false, nil
		read, presences := agents.PreparePresences(tx, []string{k.agent})
		states, readStates := intents.PrepareStates(tx, slices.Sorted(maps.Keys(moved)))
		if err := tx.Pipeline(read, readStates); err != nil {
			return err
		}
		if whole = presenceIn(presences, k.agent) != k.presence || len(*states) < len(moved); whole {
			return nil
		}
		var further []database.Statement
		for _, state := range *states {
			before, known := k.intents[state.IntentNo]
			if whole = state.Purged || state.LastPosition < before.lastPosition; whole {
				return nil
			}
			now, statements := k.prepareLater(tx, before, state, moved[state.IntentNo], !known || len(moved) > maxProbes)
			later[state.IntentNo], further = now, append(further, statements...)
			if known && state.LastPosition > before.lastPosition {
				ends = append(ends, LogEnd{state.IntentNo, before.lastPosition, before.lastAt})
			}
		}
		var compare []database.Statement
		times, compare = PrepareEntryTimes(tx, ends)
		return tx.Pipeline(append(further, compare...)...)
	})
	if err == nil && !whole {
		whole = k.forgetReplaced(ends, times)
	}
	if err == nil && !whole {
		k.mutex.Lock()
		defer k.mutex.Unlock()
		var further []int64
		for no, now := range later {
			now.learn(no)
			before, known := k.intents[no]
			k.intents[no] = k.tell(no, before, now.intentState, now.news)
			if !known {
				further = append(further, no)
				delete(k.heard, no)
			}
		}
		if len(further) > 0 {
			k.order = database.Distinct(slices.Concat(k.order, further))
		}
	}
	return whole, err
}

// forgetReplaced forgets the intents whose logs have lost what was read of them, and have grown as far again. It reports whether there are any.
// The group still listens for them, and the next whole reading tells the watches of them as of intents that begin to reach the agent.
func (k *keptCatchment) forgetReplaced(ends []LogEnd, times EntryTimes) (some bool) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	for _, end := range ends {
		if end.replaced(times) {
			delete(k.intents, end.IntentNo)
			k.heard[end.IntentNo], some = struct{}{}, true
		}
	}
	return some
}

// readWhole reads everything, and listens for it. again is true if there was anything new to listen for: what was stored before it
// listened has woken nobody, so it is read again.
func (k *keptCatchment) readWhole(ctx context.Context) (again bool, err error) {
	var presence agents.Presence
	var reached reading.Catchment
	var states *[]intents.State
	err = k.service.db.ReadFor(ctx, caller.ReaderOf(ctx, k.agent), func(tx *database.Tx) (err error) {
		if presence, err = presenceOf(tx, k.agent); err != nil {
			return err
		}
		var statements []database.Statement
		reached, statements = reading.PrepareCatchment(tx, k.agent, presence.Role())
		if err := tx.Pipeline(statements...); err != nil {
			return err
		}
		var read database.Statement
		states, read = intents.PrepareStates(tx, reached.Intents())
		return tx.Pipeline(read)
	})
	if err != nil {
		return false, err
	}
	later, order := make(map[int64]intentState, len(*states)), make([]int64, 0, len(*states))
	for _, state := range *states {
		if no := state.IntentNo; !state.Purged {
			order = append(order, no)
			later[no] = intentState{
				lastPosition: state.LastPosition, lastAt: state.LastAt, ruling: ruling{state.Epoch, reached.Spoken[no], database.MicrosOrZero(reached.Listed[no])},
			}
		}
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if presence != k.presence {
		for w := range k.watches {
			w.moves = Moves{All: true}
		}
	}
	for no, now := range later {
		later[no] = k.tell(no, k.intents[no], now, news{addressed: true}) // it may be
	}
	again = k.listen(later, presence.Role())
	k.presence, k.intents, k.order = presence, later, order
	return again, nil
}

// tell tells the watches what has happened in an intent, unless it is only a little that others have said to each other. It returns the
// state that is kept. The mutex is held.
func (k *keptCatchment) tell(no int64, before, now intentState, what news) intentState {
	_, known := k.intents[no]
	grown := now.lastPosition > before.lastPosition
	lost := now.lastPosition < before.lastPosition || !grown && now.lastAt != before.lastAt // the database has lost commits, it seems
	ruled := !known || lost || now.ruling != before.ruling
	now.told = before.told
	if !ruled && (!grown || !what.addressed && !what.concerns && now.lastPosition-before.told < quietSpan) {
		return now
	}
	move := Move{Since: min(before.told, now.lastPosition), Ruled: ruled, Addressed: grown && what.addressed}
	for w := range k.watches {
		w.moves.note(no, move)
	}
	now.told = now.lastPosition
	return now
}

// listen listens for everything that was read, and for nothing else. It reports whether there was anything new. The mutex is held.
func (k *keptCatchment) listen(later map[int64]intentState, role string) (added bool) {
	var further, dropped []any
	for no := range later {
		_, heard := k.heard[no]
		if _, already := k.intents[no]; !already && !heard {
			further = append(further, wake.FeedTopic(no), wake.IntentTopic(no))
		}
	}
	for _, before := range []iter.Seq[int64]{maps.Keys(k.intents), maps.Keys(k.heard)} {
		for no := range before {
			if _, still := later[no]; !still {
				dropped = append(dropped, wake.FeedTopic(no), wake.IntentTopic(no))
			}
		}
	}
	clear(k.heard)
	if before := k.presence.Role(); role != before {
		if before != "" {
			dropped = append(dropped, wake.AudienceTopic(caller.RolePrefix+before))
		}
		if role != "" {
			further = append(further, wake.AudienceTopic(caller.RolePrefix+role))
		}
	}
	if k.closed {
		return false // nobody watches any more
	}
	k.group.Also(further...)
	k.group.Forget(dropped...)
	return len(further) > 0
}

// after returns up to so many of the intents that reach the agent, those with the lowest numbers above a given one.
func (k *keptCatchment) after(intentNo int64, most int) []int64 {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	at, found := slices.BinarySearch(k.order, intentNo)
	if found {
		at++
	}
	return k.order[at:min(at+most, len(k.order))]
}
