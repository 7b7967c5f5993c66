package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"openintent/internal/fault"
)

const (
	// testClockPath is where a test moves the clock of its server.
	testClockPath = "/v1/test/clock"
	// testStep is by how much the clock moves at a time: less than a stream's lease lasts, and less than the gap between two sweeps after
	// which agents are not judged silent. mostTestSteps bounds the steps of one call, so those of a long one are longer.
	testStep      = 5 * time.Second
	mostTestSteps = 360
	// longestAdvance bounds one call.
	longestAdvance = 366 * 24 * time.Hour
	// testPatience bounds how long one call waits for what is due to be done, and testLookAgain is how often whoever waits looks at the
	// clock.
	testPatience  = 30 * time.Second
	testLookAgain = 50 * time.Millisecond
)

// standingClock is the clock of a server under test: it stands until the test moves it. Each reading is a microsecond later than the one
// before, because the times of a log rise with its entries: what is due a minute after an entry is due when the test has moved the clock by a
// minute.
type standingClock struct {
	mutex sync.Mutex
	now   time.Time
}

// Now returns the time.
func (c *standingClock) Now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.now = c.now.Add(time.Microsecond)
	return c.now
}

func (c *standingClock) move(by time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.now = c.now.Add(by)
}

// underTest returns the settings of a server whose clock a test moves, with that clock, if they want one. It refuses settings with which
// such a server could be anybody's but a test's.
func (c Config) underTest(development bool) (*standingClock, Config, error) {
	switch {
	case !c.TestClock:
		return nil, c, nil
	case !strings.HasPrefix(c.DatabaseURL, "sqlite:"):
		return nil, c, errors.New("OPENINTENT_TEST_CLOCK works with SQLite only, such as with OPENINTENT_DATABASE_URL=sqlite::memory: for a database in memory")
	case !development:
		return nil, c, errors.New("OPENINTENT_TEST_CLOCK is for tests, which use the development key on loopback; " +
			"set neither OPENINTENT_API_KEYS nor OPENINTENT_API_KEYS_FILE")
	}
	clock := &standingClock{now: time.Now()}
	c.Clock, c.LookAgain = clock.Now, cmp.Or(c.LookAgain, testLookAgain)
	return clock, c, nil
}

// waitersLookAgain is how often calls that wait for a lease show that they are alive. They must outlive a step of a test's clock.
func (c Config) waitersLookAgain() time.Duration {
	if c.TestClock {
		return testStep
	}
	return c.LookAgain
}

// testTime moves the clock of a server under test.
type testTime struct {
	clock *standingClock
	rooms *rooms
	turn  sync.Mutex
}

// newTestTime returns nil without a clock that can be moved.
func newTestTime(clock *standingClock, rooms *rooms) *testTime {
	if clock == nil {
		return nil
	}
	return &testTime{clock: clock, rooms: rooms}
}

// movedClock is the body of a call and of its answer.
type movedClock struct {
	AdvanceSeconds *float64   `json:"advance_seconds,omitempty"`
	Now            *time.Time `json:"now,omitempty"`
}

// serve moves the clock by what the body says, and answers with the time that it shows then.
func (t *testTime) serve(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		refuseMethod(w, http.MethodPost)
		return nil
	}
	var wanted movedClock
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<10)).Decode(&wanted); err != nil || wanted.AdvanceSeconds == nil {
		return fault.BadField("advance_seconds", "is missing: the body is a JSON object such as {\"advance_seconds\": 60}")
	}
	seconds := *wanted.AdvanceSeconds
	if seconds < 0 || seconds > longestAdvance.Seconds() {
		return fault.BadField("advance_seconds", fmt.Sprintf("must lie between 0 and %.0f", longestAdvance.Seconds()))
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), testPatience, errTestWorkLasts)
	defer cancel()
	if err := t.advance(ctx, time.Duration(seconds*float64(time.Second))); err != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	now := t.clock.Now().UTC()
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(movedClock{Now: &now})
}

// errTestWorkLasts ends a call that moves the clock.
var errTestWorkLasts = fault.New(fault.Unavailable, "TEST_WORK_LASTS",
	"The clock was moved, but what fell due is not done yet: a client does not read its stream, or a webhook does not answer.")

// advance moves the clock, and does what falls due on the way. It moves in steps, as time passes for a server that runs.
func (t *testTime) advance(ctx context.Context, by time.Duration) error {
	t.turn.Lock()
	defer t.turn.Unlock()
	step := max(testStep, by/mostTestSteps)
	for left := by; ; left -= step {
		t.clock.move(min(step, left))
		if err := t.rooms.catchUp(ctx); err != nil || left <= step {
			return err
		}
	}
}
