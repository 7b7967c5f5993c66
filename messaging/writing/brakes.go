package writing

import (
	lru "github.com/hashicorp/golang-lru/v2"
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
	intents *lru.Cache[int64, *lru.Cache[dialoguePlace, *dialogue]]
	changed []changedDialogue
}

// dialoguePlace is where two agents write: a thread, by the position of its first message, or a channel outside threads, where that is 0.
type dialoguePlace struct{ channelNo, root int64 }

// changedDialogue is a dialogue as it was before a message, with what was in its ring where the message may be noted: at the next slot,
// or at the first one if the dialogue begins anew.
type changedDialogue struct {
	dialogue    *dialogue
	was         dialogue
	slot        int
	next, first int64
}

func newBrakes() *brakes {
	intents, _ := lru.New[int64, *lru.Cache[dialoguePlace, *dialogue]](brakedIntents) // fails only for a size that is not positive
	return &brakes{intents: intents}
}

// dialogue returns the dialogue of a place. It is new if nothing of that place is remembered.
func (b *brakes) dialogue(intentNo int64, place dialoguePlace) (d *dialogue, known bool) {
	places, known := b.intents.Get(intentNo)
	if !known {
		places, _ = lru.New[dialoguePlace, *dialogue](brakedPlaces) // fails only for a size that is not positive
		b.intents.Add(intentNo, places)
	}
	if d, known = places.Get(place); !known {
		d = new(dialogue)
		places.Add(place, d)
	}
	return d, known
}

// turn counts a message (dialogue.turn), and notes how to take that back.
func (b *brakes) turn(d *dialogue, agent string, at int64, budget int) (braked, first bool) {
	before := changedDialogue{dialogue: d, was: *d, slot: d.slot()}
	if ring := d.turns[:cap(d.turns)]; len(ring) > 0 {
		before.next, before.first = ring[before.slot], ring[0]
	}
	b.changed = append(b.changed, before)
	return d.turn(agent, at, budget)
}

// keep is told that what was counted is committed.
func (b *brakes) keep() { b.changed = b.changed[:0] }

// takeBack forgets what was counted since keep.
func (b *brakes) takeBack() {
	for i := len(b.changed) - 1; i >= 0; i-- {
		change := b.changed[i]
		*change.dialogue = change.was
		if ring := change.was.turns[:cap(change.was.turns)]; len(ring) > 0 {
			ring[change.slot], ring[0] = change.next, change.first
		}
	}
	b.keep()
}
