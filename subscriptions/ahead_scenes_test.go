package subscriptions

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// scenesAhead are histories that show why a rule is needed which random histories seldom need.
var scenesAhead = map[string]func(w *aheadWorld){
	"the lease has a margin": func(w *aheadWorld) {
		w.getReady(w.replicas[0])
		w.ahead, w.now = modelSkew-1, modelLease-modelSkew+1
		w.acquire(w.replicas[1])
		w.send(w.replicas[0])
	},
	"the lease counts from before the transaction": func(w *aheadWorld) {
		w.calm = false
		w.getReady(w.replicas[0])
		w.calm = true
		w.ahead = modelSkew - 1
		w.now = w.db.until - w.ahead
		w.acquire(w.replicas[1])
		w.send(w.replicas[0])
	},
	"a fetch leaves a takeover cautious": func(w *aheadWorld) {
		w.repeatPoison(func() {
			intents := w.draw
			w.draw = func(n int) int { return n - 1 } // it fetches from the other intent
			w.fetch()
			w.draw = intents
		})
	},
	"a takeover knows what was left only by the block": func(w *aheadWorld) {
		w.repeatPoison(func() {
			w.acquire(w.replicas[1])
			w.crash(w.replicas[1])
			w.now += 2 * modelLease
		})
	},
}

// getReady lets a stream become active and read the log of the first intent.
func (w *aheadWorld) getReady(r *modelReplica) {
	w.acquire(r)
	w.reserve(r)
	w.offer(r)
	w.deliver(r)
	w.readPage(r)
}

// repeatPoison lets streams deliver a poisonous message again and again. Something else happens between two of them.
func (w *aheadWorld) repeatPoison(between func()) {
	w.db.logs[0][0].poison = true
	for range 3 * modelAttempts {
		r := w.replicas[0]
		w.getReady(r)
		w.send(r)
		w.deliver(r)
		w.now += 2 * modelLease
		w.db.giveUp(w.clock())
		between()
	}
	if w.crashes > modelAttempts+1 {
		w.fails("a poisonous message crashed %d servers", w.crashes)
	}
}

func TestNumberingAheadNeedsItsRulesInScenes(t *testing.T) {
	for rule, scene := range scenesAhead {
		t.Run(rule, func(t *testing.T) {
			play := func(without string) string {
				w := newAheadWorld(func(n int) int {
					if n == modelIntents {
						return 0
					}
					return n - 1
				}, without)
				w.calm = true
				w.db.logs[0] = []modelMessage{{id: 1, visible: true}}
				scene(w)
				return w.failure
			}
			require.Empty(t, play(""))
			require.NotEmpty(t, play(rule))
		})
	}
}
