package writing

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"openintent/messaging/loopbrake"
)

// These bound what the brakes remember: intents, and the places in each, so that a busy intent pushes out nothing of another one.
// What is pushed out is counted anew.
const (
	brakedIntents = 1024
	brakedPlaces  = 32
)

// brakes remember the dialogues of the intents to which this writer has written. Only the writer's goroutine uses them. Nothing of them
// is stored: after a crash the counting begins anew, and messages that are braked stay so. A replica knows nothing of what others write.
//
// A message is counted when it is decided, because the next one of its batch may depend on that. So the brakes note what an attempt has
// changed, until its commit. The next attempt after one that failed takes that back.
type brakes struct {
	intents *lru.Cache[int64, *lru.Cache[loopbrake.Place, *loopbrake.Dialogue]]
	changed []loopbrake.Before
}

func newBrakes() *brakes {
	intents, _ := lru.New[int64, *lru.Cache[loopbrake.Place, *loopbrake.Dialogue]](brakedIntents) // fails only for a size that is not positive
	return &brakes{intents: intents}
}

// dialogue returns the dialogue of a place. It is new if nothing of that place is remembered.
func (b *brakes) dialogue(intentNo int64, place loopbrake.Place) (d *loopbrake.Dialogue, known bool) {
	places, known := b.intents.Get(intentNo)
	if !known {
		places, _ = lru.New[loopbrake.Place, *loopbrake.Dialogue](brakedPlaces) // fails only for a size that is not positive
		b.intents.Add(intentNo, places)
	}
	if d, known = places.Get(place); !known {
		d = new(loopbrake.Dialogue)
		places.Add(place, d)
	}
	return d, known
}

// turn counts a message (loopbrake.Dialogue.Turn), and notes how to take that back.
func (b *brakes) turn(d *loopbrake.Dialogue, agent string, at time.Time, budget loopbrake.Budget) (braked, first bool) {
	b.changed = append(b.changed, d.Before())
	return d.Turn(agent, at, budget)
}

// keep is told that what was counted is committed.
func (b *brakes) keep() { b.changed = b.changed[:0] }

// takeBack forgets what was counted since keep.
func (b *brakes) takeBack() {
	for i := len(b.changed) - 1; i >= 0; i-- {
		b.changed[i].TakeBack()
	}
	b.keep()
}
