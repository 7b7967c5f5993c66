package writing

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"openintent/agents"
	"openintent/channels"
	"openintent/intents"
	"openintent/messaging/message"
)

// These say how much the writer caches. What falls out of the cache is read again by the next batch that needs it.
const (
	keptHeads     = 16_384
	keptCounts    = 16_384
	keptRequests  = 16_384
	keptPresences = 16_384
	keptRefusals  = 16_384
)

// optimisticCache caches what the writer's own commits left behind, so that the writer can decide about the next drafts
// without reading, and commit them in one round trip. What is cached is a guess: every such commit says by what it was
// decided, and the database refuses it if anything of that is different by now (intents.Expect, agents.RefuseChanged). Only
// the writer's goroutine uses the cache.
//
// This also holds when the database has lost commits. Heads are compared with a tag that is drawn at each change
// (intents.Same). So if a head is as the writer left it, everything that the writer left with it is there too: counts and
// requests. An agent's record is compared as a whole, whatever its history is. Idempotency keys are not cached: a key that
// was lost is free again.
type optimisticCache struct {
	heads       *lru.Cache[int64, *cachedHead]
	counts      *lru.Cache[channels.Key, cached[channels.Count]]
	requests    *lru.Cache[string, cached[message.Message]]
	presences   *lru.Cache[string, presenceOrNone]
	refusals    *lru.Cache[agents.RefusedPair, refusal]
	generations int64
	// lost is told of a log that ends after a position, although the writer left it at a later one.
	lost func(intentID string, after, through int64)
}

// cachedHead is an intent's head as the writer's last commit left it. What is cached of the intent beside it belongs to the
// same generation: it holds for as long as nobody else has moved the head.
type cachedHead struct {
	head       intents.Head
	generation int64
	// contested is true once somebody else has moved the head since the writer did. Then a guess is not worth trying until
	// the writer has found the head unmoved.
	contested bool
}

// cached is a value that belongs to a generation of its intent.
type cached[T any] struct {
	generation int64
	value      T
}

// presenceOrNone is an agent's presence, or says that the agent has no record.
type presenceOrNone struct {
	presence agents.Presence
	recorded bool
}

func newOptimisticCache(lost func(intentID string, after, through int64)) *optimisticCache {
	heads, _ := lru.New[int64, *cachedHead](keptHeads) // fails only for a size that is not positive, as do the others
	counts, _ := lru.New[channels.Key, cached[channels.Count]](keptCounts)
	requests, _ := lru.New[string, cached[message.Message]](keptRequests)
	presences, _ := lru.New[string, presenceOrNone](keptPresences)
	refusals, _ := lru.New[agents.RefusedPair, refusal](keptRefusals)
	return &optimisticCache{
		heads: heads, counts: counts, requests: requests, presences: presences, refusals: refusals, lost: lost,
	}
}

// keep sets how many entries of each kind are cached.
func (c *optimisticCache) keep(entries int) {
	c.heads.Resize(entries)
	c.counts.Resize(entries)
	c.requests.Resize(entries)
	c.presences.Resize(entries)
	c.refusals.Resize(entries)
}

// recall returns the state of a batch as far as the cache has it, if nothing else has to be read. Rules and refusals come later
// (Writer.remember).
func (c *optimisticCache) recall(w wants) (state, bool) {
	s := state{
		remembered: true,
		counts:     make(map[channels.Key]*channels.Count), requests: make(map[string]*message.Message),
		presences: make(map[string]agents.Presence),
	}
	ok := !w.uncertain && len(w.byName) == 0 && !w.conversing && c.recallIntents(&s, w) &&
		c.recallPresences(&s, w.names) && c.recallPresences(&s, addressees(s.requests, w.names))
	return s, ok
}

func (c *optimisticCache) recallIntents(state *state, w wants) bool {
	generations := make(map[int64]int64, len(w.intentNos))
	state.generations = generations
	for _, no := range w.intentNos {
		known, ok := c.heads.Get(no)
		if !ok || known.contested {
			return false
		}
		state.expected = append(state.expected, known.head)
		generations[no] = known.generation
	}
	for _, key := range w.channels {
		known, ok := c.counts.Get(key)
		if !ok || known.generation != generations[key.IntentNo] {
			return false
		}
		state.counts[key] = &known.value
	}
	for _, id := range w.correlations {
		known, ok := c.requests.Get(id)
		if !ok || known.generation != generations[known.value.IntentNo] || known.value.ExactAnswers() > 0 {
			return false // claims decide about exact answers, and are not cached
		}
		state.requests[id] = &known.value
	}
	return true
}

func (c *optimisticCache) recallPresences(state *state, names []string) bool {
	for _, name := range names {
		known, ok := c.presences.Get(name)
		if !ok {
			return false
		}
		if known.recorded {
			state.presences[name] = known.presence
		}
		state.decidedBy = append(state.decidedBy, name)
	}
	return true
}

// recallRefusals recalls which of the drafts' senders their addressees refuse, as of the addressees' presences.
func (c *optimisticCache) recallRefusals(state *state, submissions []*submission) bool {
	pairs := state.refusable(submissions)
	if len(pairs) == 0 {
		return true
	}
	state.refusals = make(map[agents.RefusedPair]refusal, len(pairs))
	for _, pair := range pairs {
		known, ok := c.refusals.Get(pair)
		if !ok || known.asOf != state.presences[pair.AgentID].Refusals {
			return false
		}
		state.refusals[pair] = known
	}
	return true
}

// learn caches what a batch has read and, after its commit, left behind.
func (c *optimisticCache) learn(b *batch) {
	generations := make(map[int64]int64, len(b.heads))
	for _, head := range b.heads {
		generations[head.IntentNo] = c.learnHead(head, b.began[head.IntentNo])
	}
	for key, count := range b.counts {
		c.counts.Add(key, cached[channels.Count]{generations[key.IntentNo], *count})
	}
	for _, m := range b.requests {
		if generation, held := generations[m.IntentNo]; held {
			m.Open = m.Open && !b.appender.answers(m)
			c.learnRequest(generation, m)
		}
	}
	for _, out := range b.outcomes {
		if out.Message != nil && !out.replayed && out.Message.Type == message.TypeRequest {
			c.learnRequest(generations[out.Message.IntentNo], out.Message)
		}
	}
	for _, name := range b.decidedBy {
		presence, recorded := b.presences[name]
		c.presences.Add(name, presenceOrNone{presence, recorded})
	}
	for pair, is := range b.refusals {
		c.refusals.Add(pair, is)
	}
}

// learnHead caches a head. It begins a new generation of the intent if somebody else has moved the head since the writer
// left it.
func (c *optimisticCache) learnHead(head *intents.Head, began intents.Head) (generation int64) {
	known, ok := c.heads.Get(head.IntentNo)
	unmoved := ok && known.head.Same(began)
	if unmoved {
		known.head, known.contested = head.Copy(), false
		return known.generation
	}
	if ok && began.LastPosition < known.head.LastPosition {
		c.lost(head.IntentID, began.LastPosition, known.head.LastPosition)
	}
	c.generations++
	c.heads.Add(head.IntentNo, &cachedHead{head: head.Copy(), generation: c.generations, contested: ok})
	return c.generations
}

func (c *optimisticCache) learnRequest(generation int64, m *message.Message) {
	facts := *m
	facts.Payload, facts.Metadata, facts.Abandoned = nil, nil, false
	facts.Conversation = m.Conversation.Outline()
	c.requests.Add(m.ID, cached[message.Message]{generation, facts})
}

// doubt is told that the database refused a commit which expected these heads.
func (c *optimisticCache) doubt(expected []intents.Head) {
	for _, head := range expected {
		if known, ok := c.heads.Peek(head.IntentNo); ok {
			known.contested = true
		}
	}
}
