package writing

import (
	"slices"
	"time"

	"openintent/caller"
	"openintent/messaging/message"
)

// brakeTime is the span of time in which the messages of two agents count, and how long a brake lasts at most.
const brakeTime = 10 * time.Minute

// dialogue counts what two agents alone have written lately in one place: in a thread, or outside threads in a channel. If anybody else
// writes there, it begins anew. All times are in microseconds. The zero value is ready for use.
type dialogue struct {
	// agents are the two; each is empty until it has written. last says when each wrote last.
	agents [2]string
	last   [2]int64
	// turns is a ring of the times of the last messages, as many as the budget has. Once it is full, the oldest is at next.
	turns []int64
	next  int
	// braked is when the brake was put on that may still hold; 0 for none.
	braked int64
}

// turn counts a message, and tells whether it is braked and whether it is the first one that is.
func (d *dialogue) turn(agent string, at int64, budget int) (braked, first bool) {
	if d.stands(at) && d.admits(agent) {
		return true, false
	}
	if agent == caller.Operator {
		d.begin(budget)
		return false, false
	}
	if d.braked != 0 || cap(d.turns) != budget || !d.admits(agent) {
		d.begin(budget)
	}
	if d.exceeded(at) {
		d.braked = at
		return true, true
	}
	d.count(agent, at)
	return false, false
}

// stands tells whether a brake holds. A clock that is set back by as much as a brake lasts ends it too.
func (d *dialogue) stands(at int64) bool {
	return d.braked != 0 && recent(d.braked, at) && recent(at, d.braked)
}

func recent(then, now int64) bool { return now-then < brakeTime.Microseconds() }

// admits tells whether the agent is one of the two, or may become one.
func (d *dialogue) admits(agent string) bool {
	return d.agents[1] == "" || agent == d.agents[0] || agent == d.agents[1]
}

// leaves tells whether a message of one of the two is meant for somebody else, by its address or by those whom it mentions.
func (d *dialogue) leaves(target string, c *message.Conversation) bool {
	if !message.ToEveryone(target) && !d.admits(target) {
		return true
	}
	return c != nil && slices.ContainsFunc(c.Mentions, func(name string) bool { return !d.admits(name) })
}

// begin forgets what was counted.
func (d *dialogue) begin(budget int) {
	turns := d.turns[:0]
	if cap(turns) != budget {
		turns = make([]int64, 0, budget)
	}
	*d = dialogue{turns: turns}
}

// exceeded tells whether one message more is too many: both have written lately, and the budget is used up.
func (d *dialogue) exceeded(at int64) bool {
	return d.agents[1] != "" && recent(d.last[0], at) && recent(d.last[1], at) &&
		len(d.turns) == cap(d.turns) && recent(d.turns[d.next], at)
}

func (d *dialogue) count(agent string, at int64) {
	place := 0
	if d.agents[0] != "" && d.agents[0] != agent {
		place = 1
	}
	d.agents[place], d.last[place] = agent, at
	slot := d.slot()
	d.turns = d.turns[:max(len(d.turns), slot+1)]
	d.turns[slot] = at
	d.next = (slot + 1) % cap(d.turns)
}

// slot is where in the ring the next time goes.
func (d *dialogue) slot() int {
	if len(d.turns) < cap(d.turns) {
		return len(d.turns)
	}
	return d.next
}
