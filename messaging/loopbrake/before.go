package loopbrake

// Before is a dialogue as it was before a turn, with what was in its ring where the turn may be noted: at the next slot, or at the first
// one if the dialogue begins anew.
type Before struct {
	dialogue    *Dialogue
	was         Dialogue
	slot        int
	next, first int64
}

// Before notes how the dialogue is, so that the next turn can be taken back.
func (d *Dialogue) Before() Before {
	before := Before{dialogue: d, was: *d, slot: d.turns.slot()}
	if ring := d.turns.times[:cap(d.turns.times)]; len(ring) > 0 {
		before.next, before.first = ring[before.slot], ring[0]
	}
	return before
}

// TakeBack makes the dialogue what it was. Several turns are taken back in the opposite order.
func (b *Before) TakeBack() {
	*b.dialogue = b.was
	if ring := b.was.turns.times[:cap(b.was.turns.times)]; len(ring) > 0 {
		ring[b.slot], ring[0] = b.next, b.first
	}
}
