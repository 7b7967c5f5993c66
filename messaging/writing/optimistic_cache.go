package writing

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"openintent/agents"
	"openintent/channels"
	"openintent/intents"
	"openintent/messaging/message"
)

// How much the writer remembers; of what falls out, the next batch reads anew.
const (
	keptHeads     = 16_384
	keptCounts    = 16_384
	keptRequests  = 16_384
	keptPresences = 16_384
)

// optimisticCache is what the writer remembers of its own commits, so that it can decide about the next drafts without reading,
// and commit them in one round trip. It is a guess: every such commit says by what it has decided, and the database refuses it
// if anything of that is different by now (intents.Expect, agents.RefuseChanged). The writer's goroutine alone uses it.
//
// That holds when the database has lost commits, too. Heads are compared with a tag that each change draws (intents.Same), so
// one that is as it was left has behind it all that was left with it: counts and requests. An agent's record is compared as a
// whole, whatever history it is of. Idempotency keys are not remembered: one that was lost is free again.
type optimisticCache struct {
	heads       *lru.Cache[int64, *cachedHead]
	counts      *lru.Cache[channels.Key, cached[channels.Count]]
	requests    *lru.Cache[string, cached[message.Message]]
	presences   *lru.Cache[string, presenceOrNone]
	generations int64
}

// cachedHead is an intent's head as the writer's last commit left it. What is remembered of the intent beside it belongs to
// the same life: it holds for as long as nobody else has moved the head.
type cachedHead struct {
	head       intents.Head
	generation int64
	// contested is true once somebody else has moved the head since the writer did; then it is not worth expecting anything
	// until the writer has found it unmoved.
	contested bool
}

// cached is a value of an intent's life.
type cached[T any] struct {
	generation int64
	value      T
}

// presenceOrNone is an agent's presence, or that it has no record.
type presenceOrNone struct {
	presence agents.Presence
	recorded bool
}

func newOptimisticCache() *optimisticCache {
	heads, _ := lru.New[int64, *cachedHead](keptHeads) // fails only for a size that is not positive, as the others
	counts, _ := lru.New[channels.Key, cached[channels.Count]](keptCounts)
	requests, _ := lru.New[string, cached[message.Message]](keptRequests)
	presences, _ := lru.New[string, presenceOrNone](keptPresences)
	return &optimisticCache{heads: heads, counts: counts, requests: requests, presences: presences}
}

// keep bounds what is remembered of each kind in entries.
func (r *optimisticCache) keep(entries int) {
	r.heads.Resize(entries)
	r.counts.Resize(entries)
	r.requests.Resize(entries)
	r.presences.Resize(entries)
}

// cachedState is what a batch would read.
type cachedState struct {
	heads     []intents.Head
	counts    map[channels.Key]*channels.Count
	requests  map[string]*message.Message
	presences map[string]agents.Presence
	decidedBy []string
}

// recall gives what a batch would read, if all of it is remembered.
func (r *optimisticCache) recall(w wants) (cachedState, bool) {
	state := cachedState{
		counts: make(map[channels.Key]*channels.Count), requests: make(map[string]*message.Message),
		presences: make(map[string]agents.Presence),
	}
	ok := !w.uncertain && !w.byName && r.recallIntents(&state, w) &&
		r.recallPresences(&state, w.names) && r.recallPresences(&state, addressees(state.requests, w.names))
	return state, ok
}

func (r *optimisticCache) recallIntents(state *cachedState, w wants) bool {
	lives := make(map[int64]int64, len(w.intentNos))
	for _, no := range w.intentNos {
		known, ok := r.heads.Get(no)
		if !ok || known.contested {
			return false
		}
		state.heads = append(state.heads, known.head)
		lives[no] = known.generation
	}
	for _, key := range w.channels {
		known, ok := r.counts.Get(key)
		if !ok || known.generation != lives[key.IntentNo] {
			return false
		}
		state.counts[key] = &known.value
	}
	for _, id := range w.correlations {
		known, ok := r.requests.Get(id)
		if !ok || known.generation != lives[known.value.IntentNo] {
			return false
		}
		state.requests[id] = &known.value
	}
	return true
}

func (r *optimisticCache) recallPresences(state *cachedState, names []string) bool {
	for _, name := range names {
		known, ok := r.presences.Get(name)
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

// learn remembers what a batch has read and, after its commit, left behind.
func (r *optimisticCache) learn(b *batch) {
	lives := make(map[int64]int64, len(b.heads))
	for _, head := range b.heads {
		lives[head.IntentNo] = r.learnHead(head, b.began[head.IntentNo])
	}
	for key, count := range b.counts {
		r.counts.Add(key, cached[channels.Count]{lives[key.IntentNo], *count})
	}
	for _, m := range b.requests {
		if life, held := lives[m.IntentNo]; held {
			m.Open = m.Open && !b.appender.answers(m)
			r.learnRequest(life, m)
		}
	}
	for _, out := range b.outcomes {
		if out.Message != nil && !out.replayed && out.Message.Type == message.TypeRequest {
			r.learnRequest(lives[out.Message.IntentNo], out.Message)
		}
	}
	for _, name := range b.decidedBy {
		presence, recorded := b.presences[name]
		r.presences.Add(name, presenceOrNone{presence, recorded})
	}
}

// learnHead begins a new life of the intent if somebody else has moved the head since the writer left it.
func (r *optimisticCache) learnHead(head *intents.Head, began intents.Head) (life int64) {
	known, ok := r.heads.Get(head.IntentNo)
	unmoved := ok && known.head.Same(began)
	if unmoved {
		known.head, known.contested = head.Copy(), false
		return known.generation
	}
	r.generations++
	r.heads.Add(head.IntentNo, &cachedHead{head: head.Copy(), generation: r.generations, contested: ok})
	return r.generations
}

func (r *optimisticCache) learnRequest(life int64, m *message.Message) {
	facts := *m
	facts.Payload, facts.Metadata, facts.Abandoned = nil, nil, false
	r.requests.Add(m.ID, cached[message.Message]{life, facts})
}

// doubt is told that a commit which expected these heads was refused.
func (r *optimisticCache) doubt(expected []intents.Head) {
	for _, head := range expected {
		if known, ok := r.heads.Peek(head.IntentNo); ok {
			known.contested = true
		}
	}
}
