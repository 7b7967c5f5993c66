package loopbrake

import (
	"slices"
	"time"

	"openintent/internal/caller"
	"openintent/messaging/message"
)

// BrakeTime is the span of time in which the messages of two agents count, and how long a brake lasts at most.
const BrakeTime = 10 * time.Minute

// Budget is how many messages two agents alone may write within a time, which is a server's BrakeTime.
type Budget struct {
	// Turns is at least 1. Without a budget nothing is counted.
	Turns  int
	Within time.Duration
}

// Dialogue counts what two agents alone have written lately in one place. If anybody else writes there, it begins anew. All times are in
// microseconds. The zero value is ready for use.
type Dialogue struct {
	// agents are the two; each is empty until it has written. last says when each wrote last.
	agents [2]string
	last   [2]int64
	// turns are the times of the last messages.
	turns ring
	// braked is when the brake was put on that may still hold; 0 for none.
	braked int64
}

// Turn counts a message, and tells whether it is braked and whether it is the first one that is.
func (d *Dialogue) Turn(agent string, sentAt time.Time, budget Budget) (braked, first bool) {
	at, within := sentAt.UnixMicro(), budget.Within.Microseconds()
	if d.stands(at, within) && d.admits(agent) {
		return true, false
	}
	if agent == caller.Operator {
		d.begin(budget)
		return false, false
	}
	if d.braked != 0 || cap(d.turns.times) != budget.Turns || !d.admits(agent) {
		d.begin(budget)
	}
	if d.exceeded(at, within) {
		d.braked = at
		return true, true
	}
	d.count(agent, at)
	return false, false
}

// Leaves reports whether a message is one of the two's, and meant for somebody else by its address or by those whom it mentions. It is no
// turn.
func (d *Dialogue) Leaves(sender, target string, c *message.Conversation) bool {
	if !d.admits(sender) {
		return false
	}
	if !message.ToEveryone(target) && !d.admits(target) {
		return true
	}
	return c != nil && slices.ContainsFunc(c.Mentions, func(name string) bool { return !d.admits(name) })
}

// Speaker returns as whom a message counts in a dialogue. A person is no agent, as the operator is none.
func Speaker(sender string, human bool) string {
	if human {
		return caller.Operator
	}
	return sender
}

// Recall counts what is known of a thread of which nothing is remembered: its first message, if that is the parent or the parent answers
// it. An answer goes to the sender of its request.
func (d *Dialogue) Recall(parent *message.Message, root int64, budget Budget) {
	d.begin(budget)
	sender := Speaker(parent.Sender, parent.ByHuman())
	writers := []string{sender}
	switch root {
	case parent.Position:
	case parent.CorrelationPosition:
		writers = []string{parent.Target, sender}
	default:
		return
	}
	for _, agent := range writers {
		if agent != caller.Operator && agent != caller.System {
			d.count(agent, parent.CreatedAt.UnixMicro())
		}
	}
}

// Agents are the two; each is empty until it has written.
func (d *Dialogue) Agents() []string { return slices.Clone(d.agents[:]) }

// stands reports whether a brake holds. A clock that is set back by as much as a brake lasts ends it too.
func (d *Dialogue) stands(at, within int64) bool {
	return d.braked != 0 && at-d.braked < within && d.braked-at < within
}

// admits reports whether the agent is one of the two, or may become one.
func (d *Dialogue) admits(agent string) bool {
	return d.agents[1] == "" || agent == d.agents[0] || agent == d.agents[1]
}

// begin forgets what was counted.
func (d *Dialogue) begin(budget Budget) {
	turns := d.turns
	turns.begin(budget.Turns)
	*d = Dialogue{turns: turns}
}

// exceeded reports whether one message more is too many: both have written lately, and the budget is used up.
func (d *Dialogue) exceeded(at, within int64) bool {
	return d.agents[1] != "" && at-d.last[0] < within && at-d.last[1] < within &&
		d.turns.full() && at-d.turns.oldest() < within
}

func (d *Dialogue) count(agent string, at int64) {
	place := 0
	if d.agents[0] != "" && d.agents[0] != agent {
		place = 1
	}
	d.agents[place], d.last[place] = agent, at
	d.turns.add(at)
}
