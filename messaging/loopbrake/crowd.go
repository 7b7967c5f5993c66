package loopbrake

import (
	"time"

	"openintent/internal/caller"
	"openintent/messaging/message"
)

// mostNamed is how many senders, and how many addresses, a crowd remembers at most between two batches. What is older is forgotten.
const mostNamed = 512

// Crowd counts how often the agents in one place have set each other to work lately. A turn is a request or a broadcast of an agent. It
// counts if its sender was given one by another agent since its own last. So agents in a ring count, and many who ask one do not. Make it
// with NewCrowd.
type Crowd struct {
	counted ring
	// last numbers the turns. Those up to since are over: a person wrote afterwards, or somebody lifted the brake.
	last, since int64
	// took is each sender's last turn, and given the last turn to each address.
	took, given map[string]noted
	// told is when the coordinator was told of the brake; 0 for never.
	told int64
}

// noted is a turn by its number and its time.
type noted struct{ number, at int64 }

// Turn is a request or a broadcast of an agent.
type Turn struct {
	Sender string
	// Role is the role that the sender holds; empty for none.
	Role   string
	Target string
	At     time.Time
}

// NewCrowd returns the crowd of a place of which nothing is known.
func NewCrowd() *Crowd {
	return &Crowd{took: make(map[string]noted), given: make(map[string]noted)}
}

// SetsToWork reports whether messages of a type are turns.
func SetsToWork(kind message.Type) bool {
	return kind == message.TypeRequest || kind == message.TypeBroadcast
}

// MayCount reports whether a turn that carries c may count. One with an obligation, or which wants a number of answers, never does.
func MayCount(c *message.Conversation) bool {
	return c == nil || c.Collect == nil && c.Obligation == nil
}

// Counts reports whether a turn counts, if it may count.
func (c *Crowd) Counts(t Turn, within time.Duration) bool {
	after := max(c.since, c.took[t.Sender].number)
	if c.gave(t.Sender, after, t.At, within) || c.gave(caller.Broadcast, after, t.At, within) {
		return true
	}
	return t.Role != "" && c.gave(caller.RolePrefix+t.Role, after, t.At, within)
}

// gave reports whether a turn after one went to an address lately. The sender's own turns come no later than its last.
func (c *Crowd) gave(address string, after int64, at time.Time, within time.Duration) bool {
	g, known := c.given[address]
	return known && g.number > after && lately(g.at, at.UnixMicro(), within.Microseconds())
}

// Until returns when a further turn that counts may follow, if the budget is used up, and otherwise the zero time.
func (c *Crowd) Until(at time.Time, budget Budget) time.Time {
	if !c.counted.full() || cap(c.counted.times) != budget.Turns {
		return time.Time{}
	}
	oldest := c.counted.oldest()
	if !lately(oldest, at.UnixMicro(), budget.Within.Microseconds()) {
		return time.Time{}
	}
	return time.UnixMicro(oldest).Add(budget.Within)
}

// Note notes a turn, and whether it counts.
func (c *Crowd) Note(t Turn, counts bool, budget Budget) {
	c.last++
	this := noted{c.last, t.At.UnixMicro()}
	c.took[t.Sender], c.given[addressOf(t.Target)] = this, this
	if !counts {
		return
	}
	if cap(c.counted.times) != budget.Turns {
		c.counted.begin(budget.Turns)
	}
	c.counted.add(this.at)
}

// Reset begins the count anew, because a person wrote or the brake was lifted.
func (c *Crowd) Reset() {
	c.counted.times, c.counted.next = c.counted.times[:0], 0
	c.since, c.told = c.last, 0
}

// Tell reports whether the coordinator has to be told of a brake, and notes that it is.
func (c *Crowd) Tell(at time.Time, within time.Duration) bool {
	now := at.UnixMicro()
	if c.told != 0 && lately(c.told, now, within.Microseconds()) {
		return false
	}
	c.told = now
	return true
}

// Told notes when the coordinator was told.
func (c *Crowd) Told(at time.Time) { c.told = at.UnixMicro() }

// Forget lets go of what no longer matters, if there is much of it. The names that somebody makes up stay bounded.
func (c *Crowd) Forget() {
	for _, names := range []map[string]noted{c.took, c.given} {
		if len(names) <= mostNamed {
			continue
		}
		for name, n := range names {
			if n.number <= max(c.since, c.last-mostNamed) {
				delete(names, name)
			}
		}
	}
}

// addressOf returns an address in its one form.
func addressOf(target string) string {
	if message.ToEveryone(target) {
		return caller.Broadcast
	}
	return target
}

// lately reports whether a time lies less than a span before now. A clock that is set back by as much ends that, too.
func lately(at, now, within int64) bool { return now-at < within && at-now < within }
