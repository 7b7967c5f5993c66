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

// brakes remember the conversations of the intents to which this writer has written. Only the writer's goroutine uses them. Nothing of
// dialogues is stored: after a crash the counting begins anew, and messages that are braked stay so. A replica knows nothing of what others
// write. Crowds are read from the log (conversation_brake_read.go), and count on here for as long as no other replica moves the head.
//
// A message is counted when it is decided, because the next one of its batch may depend on that. So the brakes note what an attempt has
// changed, until its commit. The next attempt after one that failed takes that back.
type brakes struct {
	intents *lru.Cache[int64, *lru.Cache[loopbrake.Place, *keptPlace]]
	changed []loopbrake.Before
	crowded []loopbrake.CrowdBefore
}

// keptPlace is what is remembered of one place; nil for what is not known. The crowd holds for a generation of the intent's head
// (cachedHead), and is not known if that is 0.
type keptPlace struct {
	dialogue   *loopbrake.Dialogue
	crowd      *loopbrake.Crowd
	generation int64
}

func newBrakes() *brakes {
	intents, _ := lru.New[int64, *lru.Cache[loopbrake.Place, *keptPlace]](brakedIntents) // fails only for a size that is not positive
	return &brakes{intents: intents}
}

// place returns what is remembered of a place, with nothing in it if nothing is.
func (b *brakes) place(intentNo int64, place loopbrake.Place) *keptPlace {
	places, known := b.intents.Get(intentNo)
	if !known {
		places, _ = lru.New[loopbrake.Place, *keptPlace](brakedPlaces) // fails only for a size that is not positive
		b.intents.Add(intentNo, places)
	}
	kept, known := places.Get(place)
	if !known {
		kept = new(keptPlace)
		places.Add(place, kept)
	}
	return kept
}

// known is place for callers that want nothing in its place; nil if nothing is remembered.
func (b *brakes) known(intentNo int64, place loopbrake.Place) *keptPlace {
	if places, known := b.intents.Get(intentNo); known {
		kept, _ := places.Get(place)
		return kept
	}
	return nil
}

// dialogue returns the dialogue of a place. It is new if nothing of that place is remembered.
func (b *brakes) dialogue(intentNo int64, place loopbrake.Place) (d *loopbrake.Dialogue, known bool) {
	kept := b.place(intentNo, place)
	if known = kept.dialogue != nil; !known {
		kept.dialogue = new(loopbrake.Dialogue)
	}
	return kept.dialogue, known
}

// turn counts a message (loopbrake.Dialogue.Turn), and notes how to take that back.
func (b *brakes) turn(d *loopbrake.Dialogue, agent string, at time.Time, budget loopbrake.Budget) (braked, first bool) {
	b.changed = append(b.changed, d.Before())
	return d.Turn(agent, at, budget)
}

// note notes a turn of a crowd, reset that a person wrote, and tell that the coordinator is told. Each notes how to take that back.
func (b *brakes) note(c *loopbrake.Crowd, t loopbrake.Turn, counts bool, budget loopbrake.Budget) {
	b.crowded = append(b.crowded, c.Before(t))
	c.Note(t, counts, budget)
}

func (b *brakes) reset(c *loopbrake.Crowd) {
	b.crowded = append(b.crowded, c.Before(loopbrake.Turn{}))
	c.Reset()
}

func (b *brakes) tell(c *loopbrake.Crowd, at time.Time, within time.Duration) bool {
	b.crowded = append(b.crowded, c.Before(loopbrake.Turn{}))
	return c.Tell(at, within)
}

// keep is told that what was counted is committed.
func (b *brakes) keep() {
	for _, before := range b.crowded {
		before.Crowd().Forget()
	}
	b.changed, b.crowded = b.changed[:0], b.crowded[:0]
}

// takeBack forgets what was counted since the last commit.
func (b *brakes) takeBack() {
	for i := len(b.changed) - 1; i >= 0; i-- {
		b.changed[i].TakeBack()
	}
	for i := len(b.crowded) - 1; i >= 0; i-- {
		b.crowded[i].TakeBack()
	}
	b.changed, b.crowded = b.changed[:0], b.crowded[:0]
}
