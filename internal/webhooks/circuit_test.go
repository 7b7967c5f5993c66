package webhooks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fail admits a post and lets it fail.
func fail(t *testing.T, c *circuit, now time.Time) {
	t.Helper()
	era, wait := c.admit(now)
	require.Zero(t, wait)
	c.settle(era, failed, now)
}

func opened(t *testing.T, now time.Time) *circuit {
	c := new(circuit)
	for range failuresToOpen {
		fail(t, c, now)
	}
	return c
}

var noon = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

func TestACircuitOpensAfterFailuresInARow(t *testing.T) {
	c := new(circuit)
	for range failuresToOpen - 1 {
		fail(t, c, noon)
	}
	era, _ := c.admit(noon)
	c.settle(era, succeeded, noon)
	for range failuresToOpen - 1 {
		fail(t, c, noon)
	}
	assert.Zero(t, c.waiting(noon), "a success in between resets the count")
	fail(t, c, noon)
	assert.Equal(t, firstPause, c.waiting(noon))
	_, wait := c.admit(noon.Add(time.Second))
	assert.Equal(t, firstPause-time.Second, wait)
}

func TestAnOpenCircuitAdmitsASingleProbe(t *testing.T) {
	c := opened(t, noon)
	later := noon.Add(firstPause)
	era, wait := c.admit(later)
	require.Zero(t, wait)
	_, wait = c.admit(later)
	assert.Equal(t, probeWait, wait)
	c.settle(era, succeeded, later)
	assert.Zero(t, c.waiting(later))
	fail(t, c, later)
	assert.Zero(t, c.waiting(later), "once closed, the circuit needs as many failures as before")
}

func TestThePauseGrowsWhileProbesFail(t *testing.T) {
	c, now := opened(t, noon), noon
	for _, pause := range []time.Duration{10, 20, 40, 80, 160, 300, 300} {
		now = now.Add(c.waiting(now))
		fail(t, c, now)
		assert.Equal(t, pause*time.Second, c.waiting(now))
	}
	now = now.Add(longestPause)
	era, _ := c.admit(now)
	c.settle(era, succeeded, now)
	for range failuresToOpen {
		fail(t, c, now)
	}
	assert.Equal(t, firstPause, c.waiting(now), "after a success the pauses begin short again")
}

func TestPostsFromBeforeTheOpeningDoNotLengthenThePause(t *testing.T) {
	c := new(circuit)
	early, _ := c.admit(noon)
	for range failuresToOpen {
		fail(t, c, noon)
	}
	c.settle(early, failed, noon.Add(time.Second))
	assert.Equal(t, firstPause, c.waiting(noon))
	probe, wait := c.admit(noon.Add(firstPause))
	require.Zero(t, wait)
	c.settle(early, undecided, noon.Add(firstPause))
	_, wait = c.admit(noon.Add(firstPause))
	assert.Equal(t, probeWait, wait, "the probe is still under way")
	c.settle(early, succeeded, noon.Add(firstPause))
	assert.Zero(t, c.waiting(noon.Add(firstPause)), "a success always closes the circuit")
	c.settle(probe, failed, noon.Add(firstPause))
	for range failuresToOpen - 1 {
		fail(t, c, noon.Add(firstPause))
	}
	assert.Zero(t, c.waiting(noon.Add(firstPause)), "the probe of before the success does not count among the failures after it")
}

func TestAProbeThatWasGivenUpLeavesRoomForAnother(t *testing.T) {
	c := opened(t, noon)
	later := noon.Add(firstPause)
	era, _ := c.admit(later)
	c.settle(era, undecided, later)
	_, wait := c.admit(later)
	assert.Zero(t, wait)
}

// A pause of before the clock was set back is over.
func TestAClockSetBackEndsAPause(t *testing.T) {
	c := opened(t, noon)
	assert.Equal(t, firstPause, c.waiting(noon))
	assert.Zero(t, c.waiting(noon.Add(-time.Hour)))
}

// A success closes the circuit for good: whatever was under way before it opened says nothing of the time after the success.
func TestAFailureFromBeforeTheOpeningDoesNotCountAfterTheSuccess(t *testing.T) {
	c := new(circuit)
	early, _ := c.admit(noon)
	other, _ := c.admit(noon)
	for range failuresToOpen {
		fail(t, c, noon)
	}
	c.settle(early, succeeded, noon)
	c.settle(other, failed, noon)
	for range failuresToOpen - 1 {
		fail(t, c, noon)
	}
	assert.Zero(t, c.waiting(noon))
}

// While the circuit is closed a success begins no other state, so failures of posts that were under way with it count.
func TestAFailureBesideASuccessCounts(t *testing.T) {
	c := new(circuit)
	beside, _ := c.admit(noon)
	succeeds, _ := c.admit(noon)
	c.settle(succeeds, succeeded, noon)
	c.settle(beside, failed, noon)
	for range failuresToOpen - 1 {
		fail(t, c, noon)
	}
	assert.Equal(t, firstPause, c.waiting(noon))
}

func TestAnEndpointWorksOnceItHasAnsweredAndAsLongAsItDoes(t *testing.T) {
	c := new(circuit)
	assert.False(t, c.working(), "it has never answered")
	c.settle(0, succeeded, noon)
	assert.True(t, c.working())
	fail(t, c, noon)
	assert.False(t, c.working())
	c.settle(0, succeeded, noon)
	assert.True(t, c.working())
}
