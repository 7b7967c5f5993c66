package torture

import "time"

const (
	// stallAfter is how long a send may take that nothing holds up. It is generous: a busy machine is no fault.
	stallAfter = 5 * time.Second
	// recovery is how long a replica and its database may take until they are as they were.
	recovery = 10 * time.Second
	// everyReplica stands for all of them.
	everyReplica = -1
)

// Timing is how long a send took at one replica, in an intent to which no other replica writes. Times are since the beginning.
type Timing struct {
	Replica     int
	Began, Took time.Duration
}

// Disturbance is a time in which a replica, or every one, could not answer as usual.
type Disturbance struct {
	Replica  int
	From, To time.Duration
}

// excuses tells whether a send could not be on time.
func (d Disturbance) excuses(t Timing) bool {
	return (d.Replica == everyReplica || d.Replica == t.Replica) && t.Began <= d.To+recovery && t.Began+t.Took >= d.From
}

// checkStalls looks at sends that took long while their own replica and the database were well. What other replicas do,
// or do not do because they are frozen, is no excuse.
func (c *checker) checkStalls() {
	for _, timing := range c.history.Timings {
		excused := false
		for _, disturbance := range c.history.Disturbances {
			excused = excused || disturbance.excuses(timing)
		}
		if timing.Took > stallAfter && !excused {
			c.find(Stalled, "a send at replica %d that began after %s took %s", timing.Replica+1, timing.Began, timing.Took)
		}
	}
}
