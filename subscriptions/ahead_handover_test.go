package subscriptions

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// In these histories a replica also hands what it writes to its stream, which takes it instead of looking at the log.

// modelHandover is what one commit of a replica wrote.
type modelHandover struct {
	// after is the position before the entry, and before the message there.
	intent, after, before int
	entry                 modelMessage
}

// modelHands are what a stream was given and has not taken.
type modelHands struct {
	given []modelHandover
	// looked is true once the stream has looked since it became active, and look if it must look before it takes anything.
	looked, look bool
}

// maxModelHands is how much a stream holds.
const maxModelHands = 2

// hand gives the stream of a replica what the replica has written.
func (w *aheadWorld) hand(r *modelReplica, stored modelHandover) {
	if r.stream == nil {
		return
	}
	h := &r.stream.hands
	if len(h.given) == maxModelHands {
		w.reached["a stream was given more than it holds"]++
		h.given, h.look = nil, true
	}
	if !h.look {
		h.given = append(h.given, stored)
	}
}

// take lets a stream go on by what it was given.
func (w *aheadWorld) take(r *modelReplica) {
	st := r.stream
	if st == nil || !st.active || st.hands.look || len(st.hands.given) == 0 || st.page != nil && len(st.page.entries) > 0 {
		return
	}
	if !st.hands.looked && !w.off("a stream looks before it takes anything") {
		return
	}
	stored := st.hands.given[0]
	st.hands.given = st.hands.given[1:]
	follows := stored.after == st.positions[stored.intent] && stored.before == st.last[stored.intent]
	switch {
	case stored.after < st.positions[stored.intent]:
		return // the look has seen it
	case !follows && !w.off("what is handed over begins right after what was seen"):
		st.hands = modelHands{looked: true, look: true}
		return
	}
	w.reached["a stream took what was handed over"]++
	st.positions[stored.intent] = stored.after
	st.page = &modelPage{intent: stored.intent, after: stored.after, entries: []modelMessage{stored.entry}, settledFirst: true}
}

// rulesHanded are the rules of handing over. Without one of them the model breaks a promise.
var rulesHanded = []string{
	"what is handed over begins right after what was seen", "a stream looks before it takes anything", "a flush is refused when somebody else is the consumer",
	"a stream trusts its lease no longer than it lasts", "the window bounds what is not settled",
}

func handingWorld(seed uint64, without string) *aheadWorld {
	w := newAheadWorld(rand.New(rand.NewPCG(seed, 1)).IntN, without)
	w.handing = true
	return w
}

// Handing over keeps what doc.go promises, too.
func TestHandingOverKeepsThePromises(t *testing.T) {
	reached := make(map[string]int)
	for seed := range uint64(2000) {
		w := handingWorld(seed, "")
		w.run(stepsAhead, seed%2 == 1)
		require.Empty(t, w.failure, "history %d", seed)
		for what, count := range w.reached {
			reached[what] += count
		}
	}
	for _, what := range append(mustReachAhead, "a stream took what was handed over", "a stream was given more than it holds") {
		require.Positive(t, reached[what], what)
	}
	t.Logf("%d were taken", reached["a stream took what was handed over"])
}

func TestHandingOverNeedsEachOfItsRules(t *testing.T) {
	for _, rule := range rulesHanded {
		t.Run(rule, func(t *testing.T) {
			for seed := range uint64(historiesAhead) {
				w := handingWorld(seed, rule)
				if w.run(stepsAhead, false); w.failure != "" {
					t.Logf("history %d: %s", seed, w.failure)
					return
				}
			}
			t.Fatal("no history breaks a promise without this rule")
		})
	}
}
