package claim

import (
	"time"

	"openintent/agents"
	"openintent/intents"
	"openintent/messaging/message"
)

// The bounds of a claim's time, and how long it lasts if nobody says.
const (
	DefaultTime = 90 * time.Second
	MaxTime     = time.Hour
)

// MaxHeld bounds the claims that an agent holds in an intent.
const MaxHeld = 1000

// Claim is an agent's hold of a message.
type Claim struct {
	IntentNo, ChannelNo, MessagePosition int64
	MessageID                            string
	AgentID                              string
	// Fence is the time of the claim in the intent's log, in microseconds.
	Fence int64
	// Key is the idempotency key of the call that made the claim; empty if it had none.
	Key       string
	ExpiresAt time.Time
	// Ended is why the claim ended, once that is stored. Place.EndingOf decides whether it has ended.
	Ended Ending
	// DueAt is when the passing of time alone may end the claim or what is kept of it, and Epoch that of the intent when somebody
	// last judged the holder's access. By these the sweep finds what it has to judge.
	DueAt time.Time
	Epoch int64

	// Presence is the holder's record, and Answered tells whether the holder has answered the message. Both are read with the
	// claim.
	Presence agents.Presence
	Answered bool
}

// Extend makes the claim last for a time from now on, but not beyond the deadline of its message.
func (c *Claim) Extend(m *message.Message, now time.Time, lasting time.Duration) {
	c.ExpiresAt = message.Earliest(now.Add(lasting), m.ExpiresAt)
}

// Judged notes that the claim stands, and when somebody has to judge it again: when its time may end it, and when the passing of
// time changes the intent's rules. It tells whether that differs from what was noted before.
func (c *Claim) Judged(rules *intents.Rules, epoch int64, now time.Time) (changed bool) {
	due := message.Earliest(c.ExpiresAt, rules.NextChange(now))
	changed = !due.Equal(c.DueAt) || epoch != c.Epoch
	c.DueAt, c.Epoch = due, epoch
	return changed
}

// never is when something is due that time cannot end.
var never = time.Date(9999, time.January, 1, 0, 0, 0, 0, time.UTC)
