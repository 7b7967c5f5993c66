package torture

import "time"

// goneWithin is how soon every replica must know that nobody waits for an agent's messages any more.
const goneWithin = 30 * time.Second

// Stay is a period in which an agent had a stream open, or tried to open one. Times are measured from the beginning of the test.
type Stay struct {
	Agent    string
	From, To time.Duration
}

// Sighting records that a replica called an agent live by a way that can be asked whether somebody is at its other end. Began is when the
// replica was asked for it, and Ended when it had answered. A frozen one answers late.
type Sighting struct {
	Replica      int
	Agent        string
	Began, Ended time.Duration
}

// checkReach finds agents that were called live although they had been gone for so long that nobody could be offered a message.
func (c *checker) checkReach() {
	for _, sighting := range c.history.Sightings {
		here, last := false, time.Duration(0)
		for _, stay := range c.history.Stays {
			if stay.Agent == sighting.Agent && stay.From <= sighting.Ended {
				here = here || stay.To+goneWithin >= sighting.Began
				last = max(last, stay.To)
			}
		}
		if !here {
			c.find(Unreached, "replica %d called %s live after %s, although it left after %s", sighting.Replica+1, sighting.Agent, sighting.Began, last)
		}
	}
}
