package torture

import "time"

const (
	// stallAfter is the longest time that a send may take when nothing delays it. It is generous, because a busy
	// machine is not a failure.
	stallAfter = 5 * time.Second
	// recovery is how long a replica and its database may take to recover after a fault.
	recovery = 10 * time.Second
	// everyReplica stands for all replicas.
	everyReplica = -1
)

// Timing records how long a send took at one replica, in an intent to which no other replica writes. Times are measured from
// the beginning of the test.
type Timing struct {
	Replica     int
	Began, Took time.Duration
}

// Disturbance is a period in which a replica, or every one, could not answer as usual.
type Disturbance struct {
	Replica  int
	From, To time.Duration
}

// excuses reports whether a disturbance can explain a slow send.
func (d Disturbance) excuses(t Timing) bool {
	return (d.Replica == everyReplica || d.Replica == t.Replica) && t.Began <= d.To+recovery && t.Began+t.Took >= d.From
}

// checkStalls finds sends that took long while their own replica and the database were well. Other replicas are no excuse, even
// if they are frozen.
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
