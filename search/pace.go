package search

import "time"

// How much of the time the index works. Time stands for the time of a processor, of which one piece of work uses at most so much.

const (
	// restsCatchingUp is how many times as long as a piece took the index rests after it, while it catches up with intents that are searched:
	// so it has a quarter of a processor. restsFilling is the same for intents that nobody has searched lately: a twentieth.
	restsCatchingUp = 3
	restsFilling    = 19
	// eachMessage bounds the rests, so that the index catches up with at least 1,000 messages a second.
	eachMessage = time.Millisecond
)

// restCatchingUp returns how long to rest after a piece of catching up. Only a piece of many that wait is hurried.
func restCatchingUp(worked time.Duration, messages int, moreWait bool) time.Duration {
	rest := restsCatchingUp * worked
	if moreWait && messages > 0 {
		rest = min(rest, max(time.Duration(messages)*eachMessage-worked, 0))
	}
	return rest
}

// restFilling returns how long to rest after a piece of filling.
func restFilling(worked time.Duration) time.Duration { return restsFilling * worked }
