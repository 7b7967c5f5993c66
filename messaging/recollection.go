package messaging

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"openintent/agents"
	"openintent/channels"
	"openintent/intents"
)

// How much the writer remembers; of what falls out, the next batch reads anew.
const (
	keptHeads     = 16_384
	keptCounts    = 16_384
	keptRequests  = 16_384
	keptPresences = 16_384
)

// recollection is what the writer remembers of its own commits, so that it can decide about the next drafts without reading,
// and commit them in one round trip. It is a guess: every such commit says by what it has decided, and the database refuses it
// if anything of that is different by now (intents.Expect, agents.RefuseChanged). The writer's goroutine alone uses it.
//
// That holds when the database has lost commits, too. Heads are compared with a tag that each change draws (intents.Same), so
// one that is as it was left has behind it all that was left with it: counts and requests. An agent's record is compared as a
// whole, whatever history it is of. Idempotency keys are not remembered: one that was lost is free again.
type recollection struct {
	heads     *lru.Cache[int64, *leftHead]
	counts    *lru.Cache[channels.Key, recalled[channels.Count]]
	requests  *lru.Cache[string, recalled[Message]]
	presences *lru.Cache[string, presenceOrNone]
	lives     int64
}

// leftHead is an intent's head as the writer's last commit left it. What is remembered of the intent beside it belongs to
// the same life: it holds for as long as nobody else has moved the head.
type leftHead struct {
	head intents.Head
	life int64
	// contested is true once somebody else has moved the head since the writer did; then it is not worth expecting anything
	// until the writer has found it unmoved.
	contested bool
}

// recalled is a value of an intent's life.
type recalled[T any] struct {
	life  int64
	value T
}

// presenceOrNone is an agent's presence, or that it has no record.
type presenceOrNone struct {
	presence agents.Presence
	recorded bool
}

func newRecollection() *recollection {
	heads, _ := lru.New[int64, *leftHead](keptHeads) // fails only for a size that is not positive, as the others
	counts, _ := lru.New[channels.Key, recalled[channels.Count]](keptCounts)
	requests, _ := lru.New[string, recalled[Message]](keptRequests)
	presences, _ := lru.New[string, presenceOrNone](keptPresences)
	return &recollection{heads: heads, counts: counts, requests: requests, presences: presences}
}

// keep bounds what is remembered of each kind in entries.
func (r *recollection) keep(entries int) {
	r.heads.Resize(entries)
	r.counts.Resize(entries)
	r.requests.Resize(entries)
	r.presences.Resize(entries)
}

// recalledState is what a batch would read.
type recalledState struct {
	heads     []intents.Head
	counts    map[channels.Key]*channels.Count
	requests  map[string]*Message
	presences map[string]agents.Presence
	decidedBy []string
}

// recall gives what a batch would read, if all of it is remembered.
func (r *recollection) recall(w wants) (recalledState, bool) {
	state := recalledState{
		counts: make(map[channels.Key]*channels.Count), requests: make(map[string]*Message),
		presences: make(map[string]agents.Presence),
	}
	ok := !w.uncertain && !w.byName && r.recallIntents(&state, w) &&
		r.recallPresences(&state, w.names) && r.recallPresences(&state, addressees(state.requests, w.names))
	return state, ok
}

func (r *recollection) recallIntents(state *recalledState, w wants) bool {
	lives := make(map[int64]int64, len(w.intentNos))
	for _, no := range w.intentNos {
		known, ok := r.heads.Get(no)
		if !ok || known.contested {
			return false
		}
		state.heads = append(state.heads, known.head)
		lives[no] = known.life
	}
	for _, key := range w.channels {
		known, ok := r.counts.Get(key)
		if !ok || known.life != lives[key.IntentNo] {
			return false
		}
		state.counts[key] = &known.value
	}
	for _, id := range w.correlations {
		known, ok := r.requests.Get(id)
		if !ok || known.life != lives[known.value.IntentNo] {
			return false
		}
		state.requests[id] = &known.value
	}
	return true
}

func (r *recollection) recallPresences(state *recalledState, names []string) bool {
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
func (r *recollection) learn(b *batch) {
	lives := make(map[int64]int64, len(b.heads))
	for _, head := range b.heads {
		lives[head.IntentNo] = r.learnHead(head, b.began[head.IntentNo])
	}
	for key, count := range b.counts {
		r.counts.Add(key, recalled[channels.Count]{lives[key.IntentNo], *count})
	}
	for _, m := range b.requests {
		if life, held := lives[m.IntentNo]; held {
			m.Open = m.Open && !b.appender.answers(m)
			r.learnRequest(life, m)
		}
	}
	for _, out := range b.outcomes {
		if out.message != nil && !out.replayed && out.message.Type == TypeRequest {
			r.learnRequest(lives[out.message.IntentNo], out.message)
		}
	}
	for _, name := range b.decidedBy {
		presence, recorded := b.presences[name]
		r.presences.Add(name, presenceOrNone{presence, recorded})
	}
}

// learnHead begins a new life of the intent if somebody else has moved the head since the writer left it.
func (r *recollection) learnHead(head *intents.Head, began intents.Head) (life int64) {
	known, ok := r.heads.Get(head.IntentNo)
	unmoved := ok && known.head.Same(began)
	if unmoved {
		known.head, known.contested = head.Copy(), false
		return known.life
	}
	r.lives++
	r.heads.Add(head.IntentNo, &leftHead{head: head.Copy(), life: r.lives, contested: ok})
	return r.lives
}

func (r *recollection) learnRequest(life int64, m *Message) {
	facts := *m
	facts.Payload, facts.Metadata, facts.Abandoned = nil, nil, false
	r.requests.Add(m.ID, recalled[Message]{life, facts})
}

// doubt is told that a commit which expected these heads was refused.
func (r *recollection) doubt(expected []intents.Head) {
	for _, head := range expected {
		if known, ok := r.heads.Peek(head.IntentNo); ok {
			known.contested = true
		}
	}
}
