package loopbrake

// CrowdBefore is a crowd as it was before a turn or a reset.
type CrowdBefore struct {
	crowd *Crowd
	was   Crowd
	// slot is where in the ring the turn may be noted, and time what was there; -1 if the ring has no room yet.
	slot int
	time int64
	// sender and address are those of the turn; took and given what was noted of them.
	sender, address string
	took, given     noted
}

// Before notes how the crowd is, so that a turn can be taken back.
func (c *Crowd) Before(t Turn) CrowdBefore {
	before := CrowdBefore{crowd: c, was: *c, slot: -1, sender: t.Sender, address: addressOf(t.Target)}
	before.took, before.given = c.took[before.sender], c.given[before.address]
	if all := c.counted.times[:cap(c.counted.times)]; len(all) > 0 {
		before.slot = c.counted.slot()
		before.time = all[before.slot]
	}
	return before
}

// Crowd is the crowd.
func (b *CrowdBefore) Crowd() *Crowd { return b.crowd }

// TakeBack makes the crowd what it was. Several changes are taken back in the opposite order.
func (b *CrowdBefore) TakeBack() {
	*b.crowd = b.was
	restore(b.was.took, b.sender, b.took)
	restore(b.was.given, b.address, b.given)
	if b.slot >= 0 {
		b.was.counted.times[:cap(b.was.counted.times)][b.slot] = b.time
	}
}

func restore(names map[string]noted, name string, was noted) {
	if was.number == 0 {
		delete(names, name)
	} else {
		names[name] = was
	}
}
