package loopbrake

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"openintent/messaging/message"
)

// spoken is one turn of a test: who, to whom, and what role the sender holds.
type spoken struct{ sender, role, target string }

// countedOf says turns one after the other, a second each, and returns which of them count.
func countedOf(c *Crowd, turns ...spoken) (counted []bool) {
	budget := Budget{Turns: 100, Within: BrakeTime}
	for i, s := range turns {
		t := Turn{Sender: s.sender, Role: s.role, Target: s.target, At: time.Unix(1000+int64(i), 0)}
		counts := c.Counts(t, budget.Within)
		c.Note(t, counts, budget)
		counted = append(counted, counts)
	}
	return counted
}

func within(turns int) Budget { return Budget{Turns: turns, Within: BrakeTime} }

func TestATurnCountsAfterAnother(t *testing.T) {
	for name, row := range map[string]struct {
		turns   []spoken
		counted []bool
	}{
		"a ring":                        {[]spoken{{"a", "", "b"}, {"b", "", "c"}, {"c", "", "a"}, {"a", "", "b"}}, []bool{false, true, true, true}},
		"two that ask each other":       {[]spoken{{"a", "", "b"}, {"b", "", "a"}, {"a", "", "b"}}, []bool{false, true, true}},
		"many that ask one":             {[]spoken{{"a", "", "z"}, {"b", "", "z"}, {"a", "", "z"}, {"c", "", "z"}}, []bool{false, false, false, false}},
		"one that asks many":            {[]spoken{{"z", "", "a"}, {"z", "", "b"}, {"z", "", "a"}}, []bool{false, false, false}},
		"one answer to one":             {[]spoken{{"a", "", "b"}, {"b", "", "c"}, {"b", "", "d"}}, []bool{false, true, false}},
		"broadcasts":                    {[]spoken{{"a", "", "*"}, {"b", "", ""}, {"a", "", "*"}, {"a", "", "*"}}, []bool{false, true, true, false}},
		"a broadcast reaches everybody": {[]spoken{{"a", "", ""}, {"b", "", "z"}, {"c", "", "z"}, {"b", "", "z"}}, []bool{false, true, true, false}},
		"a role":                        {[]spoken{{"a", "", "role:r"}, {"b", "r", "z"}, {"c", "s", "z"}, {"b", "r", "z"}}, []bool{false, true, false, false}},
		"no role":                       {[]spoken{{"a", "", "role:"}, {"b", "", "z"}}, []bool{false, false}},
		"a role of the sender's own":    {[]spoken{{"a", "r", "role:r"}, {"a", "r", "role:r"}}, []bool{false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.counted, countedOf(NewCrowd(), row.turns...))
		})
	}
}

func TestAResetForgetsWhatWasGiven(t *testing.T) {
	c := NewCrowd()
	countedOf(c, spoken{"a", "", "b"}, spoken{"b", "", "a"})
	c.Reset()
	require.Equal(t, []bool{false, true}, countedOf(c, spoken{"a", "", "b"}, spoken{"b", "", "a"}), "what was given before is over")
}

// What was given counts for ten minutes, also when the clock is set back.
func TestATurnIsGivenForSoLong(t *testing.T) {
	at := time.Unix(10_000, 0)
	for off, counts := range map[time.Duration]bool{
		0: true, BrakeTime - time.Microsecond: true, BrakeTime: false, -BrakeTime + time.Microsecond: true, -BrakeTime: false,
	} {
		c := NewCrowd()
		c.Note(Turn{Sender: "a", Target: "b", At: at}, false, within(2))
		require.Equal(t, counts, c.Counts(Turn{Sender: "b", Target: "a", At: at.Add(off)}, BrakeTime), off)
	}
}

func TestABudgetIsUsedUpForSoLong(t *testing.T) {
	c, at := NewCrowd(), time.Unix(10_000, 0)
	ping := func(after time.Duration) { c.Note(Turn{Sender: "a", Target: "b", At: at.Add(after)}, true, within(2)) }
	require.Zero(t, c.Until(at, within(2)), "nothing counts yet")
	ping(0)
	require.Zero(t, c.Until(at, within(2)))
	ping(time.Minute)
	require.Equal(t, at.Add(BrakeTime).UnixMicro(), c.Until(at.Add(time.Minute), within(2)).UnixMicro())
	require.Zero(t, c.Until(at.Add(BrakeTime), within(2)), "the oldest is ten minutes ago")
	require.Zero(t, c.Until(at.Add(-BrakeTime), within(2)), "a clock that was set back ends a brake, too")
	require.Zero(t, c.Until(at, within(3)), "another budget is not used up")
	ping(BrakeTime)
	require.Equal(t, at.Add(BrakeTime+time.Minute).UnixMicro(), c.Until(at.Add(BrakeTime), within(2)).UnixMicro(), "one by one")
	c.Reset()
	require.Zero(t, c.Until(at.Add(BrakeTime), within(2)))
}

func TestACoordinatorIsToldOnceForSoLong(t *testing.T) {
	c, at := NewCrowd(), time.Unix(10_000, 0)
	require.True(t, c.Tell(at, BrakeTime))
	require.False(t, c.Tell(at.Add(BrakeTime-time.Microsecond), BrakeTime))
	require.True(t, c.Tell(at.Add(BrakeTime), BrakeTime))
	require.False(t, c.Tell(at.Add(BrakeTime), BrakeTime))
	c.Reset()
	require.True(t, c.Tell(at.Add(BrakeTime), BrakeTime), "it is another brake")
	c.Told(at.Add(2 * BrakeTime))
	require.False(t, c.Tell(at.Add(2*BrakeTime), BrakeTime), "another replica has told")
}

func TestWhatMayCount(t *testing.T) {
	require.True(t, MayCount(nil))
	require.True(t, MayCount(&message.Conversation{Subject: "s"}))
	require.False(t, MayCount(&message.Conversation{Collect: &message.Collect{Collection: message.CollectAny}}))
	require.False(t, MayCount(&message.Conversation{Obligation: &message.Obligation{}}))
	for kind, turns := range map[message.Type]bool{
		message.TypeRequest: true, message.TypeBroadcast: true, message.TypeNotify: false, message.TypeResponse: false,
	} {
		require.Equal(t, turns, SetsToWork(kind), kind)
	}
}

// A crowd does what the rule says of the whole history, and everything is taken back in any order of attempts.
func TestACrowdDoesWhatTheRuleSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budget := Budget{Turns: rapid.IntRange(1, 4).Draw(t, "budget"), Within: 10 * time.Second}
		c, model := NewCrowd(), &history{budget: budget}
		at := time.Unix(10_000, 0)
		agents := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			at = at.Add(time.Duration(rapid.IntRange(0, 4).Draw(t, "seconds")) * time.Second)
			if rapid.IntRange(0, 12).Draw(t, "human") == 0 {
				c.Reset()
				model.turns = nil
				continue
			}
			turn := Turn{Sender: agents.Draw(t, "sender"), At: at, Target: rapid.SampledFrom([]string{"a", "b", "c", "d", "*", "role:r"}).Draw(t, "target")}
			if turn.Target == turn.Sender {
				turn.Target = ""
			}
			if turn.Sender < "c" {
				turn.Role = "r"
			}
			if rapid.Bool().Draw(t, "failed") { // an attempt that is taken back changes nothing
				before := c.Before(turn)
				c.Note(turn, true, budget)
				again := c.Before(Turn{})
				c.Reset()
				again.TakeBack()
				before.TakeBack()
			}
			counts := c.Counts(turn, budget.Within)
			require.Equal(t, model.counts(turn), counts)
			if counts {
				require.Equal(t, model.full(at), !c.Until(at, budget).IsZero())
				if model.full(at) {
					continue // refused
				}
			}
			c.Note(turn, counts, budget)
			model.turns = append(model.turns, counted{turn, counts})
		}
	})
}

// history is the rule as the documents put it, over all that was stored since a person wrote.
type history struct {
	budget Budget
	turns  []counted
}

type counted struct {
	Turn
	counts bool
}

func (h *history) counts(t Turn) bool {
	for i := len(h.turns) - 1; i >= 0; i-- {
		past := h.turns[i]
		switch {
		case past.Sender == t.Sender:
			return false
		case t.At.Sub(past.At) >= h.budget.Within:
		case past.Target == t.Sender || past.Target == "" || past.Target == "*" || t.Role != "" && past.Target == "role:"+t.Role:
			return true
		}
	}
	return false
}

func (h *history) full(at time.Time) bool {
	lately := 0
	for _, past := range h.turns {
		if past.counts && at.Sub(past.At) < h.budget.Within {
			lately++
		}
	}
	return lately >= h.budget.Turns
}

func TestACrowdForgetsOldNames(t *testing.T) {
	c := NewCrowd()
	for i := range 3 * mostNamed {
		c.Note(Turn{Sender: fmt.Sprint("s", i), Target: fmt.Sprint("t", i), At: time.Unix(10_000, 0)}, false, within(2))
	}
	c.Forget()
	require.Len(t, c.took, mostNamed)
	require.Len(t, c.given, mostNamed)
	require.Contains(t, c.given, fmt.Sprint("t", 3*mostNamed-1), "the newest stay")
}
