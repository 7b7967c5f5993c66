package openintenttest

import (
	"math"
	"slices"
	"time"

	openintent "openintent/sdk/go"
)

// calmFor is for how long an agent says nothing until it is calm.
const calmFor = 150 * time.Millisecond

// calm finds out when an agent is calm: it is not at work, or awaits an answer, and has said nothing new for 0.15 seconds. Where time may not
// pass, no answer will come, and who awaits one is at work like others.
type calm struct {
	agent       string
	timeMayPass bool
	said        []string
	since       time.Time
}

// isReached reports whether the agent is calm, for somebody who looks again and again: at a moment, at its work, at the intent's messages, and at
// the server's time.
func (c *calm) isReached(moment time.Time, atWork bool, messages []Said, now time.Time) bool {
	var said []string
	for _, message := range messages {
		if message.Sender == c.agent {
			said = append(said, message.ID)
		}
	}
	awaits := c.timeMayPass && awaitsAnAnswer(c.agent, messages, now)
	if c.since.IsZero() || !slices.Equal(said, c.said) || atWork && !awaits {
		c.said, c.since = said, moment
	}
	return moment.Sub(c.since) >= calmFor
}

// awaitsAnAnswer reports whether an agent has asked somebody, the time for that is not over, and fewer answers came than it collects. A request
// without an end is no such question: nobody waits for its answer.
func awaitsAnAnswer(agent string, messages []Said, now time.Time) bool {
	return slices.ContainsFunc(messages, func(message Said) bool {
		if message.Sender != agent || message.MessageType != openintent.Request || message.Status == openintent.Expired ||
			!message.ExpiresAt.After(now) {
			return false
		}
		answers := 0
		for _, other := range messages {
			if other.CorrelationID == message.ID {
				answers++
			}
		}
		return answers < collected(message.Collect)
	})
}

// collected returns how many answers end the wait for them. CollectAll waits until its time is over.
func collected(collect openintent.Collect) int {
	if collect == openintent.CollectAll {
		return math.MaxInt
	}
	if quorum, is := collect.Value().GetStructValue().GetFields()["quorum"]; is {
		return int(quorum.GetNumberValue())
	}
	return 1
}
