package message

import (
	"time"

	"openintent/intents"
)

// TakesPart reports whether what is sent to everyone in an intent is sent to an agent too: the intent names the agent, a channel lists
// it, or it has sent there or said at its registration that it takes part. listedAt is when a channel of the intent last began to list it.
func TakesPart(sent bool, listedAt time.Time, rules *intents.Rules, agent string, departedAt, now time.Time) bool {
	return sent || listedAt.After(departedAt) || rules.Names(agent, now)
}
