package obligation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var nine = time.Date(2026, time.November, 1, 9, 0, 0, 0, time.UTC)

// after returns a time some minutes after nine.
func after(minutes int) time.Time { return nine.Add(time.Duration(minutes) * time.Minute) }

func TestStepsComeInOrderAnIntervalApart(t *testing.T) {
	o := Begin(after(-1), nine)
	require.Equal(t, &Obligation{OpenedAt: after(-1), DueAt: after(10)}, o)
	now := nine
	for made, act := range []Act{Return, Return, Return, TellCoordinator, TellOperator} {
		now = now.Add(Interval)
		require.Equal(t, Nothing, o.Make(now.Add(-1), time.Time{}), "too early")
		require.Equal(t, made, o.Step)
		require.Equal(t, act, o.Make(now, time.Time{}))
		require.Equal(t, made+1, o.Step)
		if act != TellOperator {
			require.Equal(t, now.Add(Interval), o.DueAt)
		}
	}
	require.Zero(t, o.DueAt, "the last step is the last one")
	require.False(t, o.Due(now.Add(time.Hour)))
	require.Equal(t, Nothing, o.next())
}

// What was missed does not come all at once: the next step comes an interval after the late one.
func TestALateStepDelaysTheNextOne(t *testing.T) {
	o := Begin(nine, nine)
	require.Equal(t, Return, o.Make(after(100), time.Time{}))
	require.Equal(t, after(110), o.DueAt)
}

func TestWhatIsDue(t *testing.T) {
	furthest := 2*Interval + slack
	for name, row := range map[string]struct {
		o   Obligation
		due bool
	}{
		"not yet":               {Obligation{DueAt: nine.Add(1)}, false},
		"now":                   {Obligation{DueAt: nine}, true},
		"late":                  {Obligation{DueAt: after(-1)}, true},
		"as far as steps lie":   {Obligation{DueAt: nine.Add(furthest)}, false},
		"astray":                {Obligation{DueAt: nine.Add(furthest + 1)}, true},
		"after the last step":   {Obligation{}, false},
		"discharged":            {Obligation{DueAt: nine, Discharge: Discharge{At: nine}}, false},
		"discharged and astray": {Obligation{DueAt: nine.Add(furthest + 1), Discharge: Discharge{At: nine}}, false},
	} {
		require.Equal(t, row.due, row.o.Due(nine), name)
	}
}

// A clock that was set back delays a step by an interval and makes none.
func TestAStepThatWentAstrayIsSetAgain(t *testing.T) {
	o := Obligation{Step: 1, DueAt: after(60)}
	require.Equal(t, Nothing, o.Make(nine, time.Time{}))
	require.Equal(t, Obligation{Step: 1, DueAt: after(10)}, o)
}

func TestAPauseLastsUntilAnIntervalAfterTheAuthorWrote(t *testing.T) {
	paused := Obligation{Step: 1, DueAt: nine, PausedAt: after(-10)}
	require.True(t, paused.Paused())
	for name, row := range map[string]struct {
		wrote time.Time
		act   Act
		then  Obligation
	}{
		"it is silent":    {time.Time{}, Nothing, Obligation{Step: 1, DueAt: after(10), PausedAt: after(-10)}},
		"it wrote late":   {after(-9), Nothing, Obligation{Step: 1, DueAt: after(1)}},
		"it wrote before": {after(-10), Return, Obligation{Step: 2, DueAt: after(10)}},
	} {
		o := paused
		require.Equal(t, row.act, o.Make(nine, row.wrote), name)
		require.Equal(t, row.then, o, name)
	}
	paused.Resume(nine)
	require.Equal(t, Obligation{Step: 1, DueAt: after(10)}, paused)
	require.False(t, paused.Paused())
}

func TestAStepThatFindsNobodyIsSkipped(t *testing.T) {
	o := Obligation{Step: returns, DueAt: nine}
	require.Equal(t, TellCoordinator, o.Skip(nine))
	require.Equal(t, Obligation{Step: returns + 1, DueAt: after(10)}, o)
	require.Equal(t, TellOperator, o.Skip(nine))
	require.Equal(t, Obligation{Step: steps}, o)
}

func TestSignalsMoveTheNextStep(t *testing.T) {
	due := after(7)
	for name, row := range map[string]struct {
		before Obligation
		signal string
		act    Act
		then   Obligation
	}{
		"working puts it off":       {Obligation{DueAt: due}, "working", Nothing, Obligation{DueAt: due.Add(Interval), Extended: true}},
		"queued puts it off":        {Obligation{DueAt: due}, "queued", Nothing, Obligation{DueAt: due.Add(Interval), Extended: true}},
		"once":                      {Obligation{DueAt: due, Extended: true}, "queued", Nothing, Obligation{DueAt: due, Extended: true}},
		"declined":                  {Obligation{DueAt: due}, "declined", TellCoordinator, Obligation{Step: returns + 1, DueAt: after(10)}},
		"blocked after the returns": {Obligation{Step: returns, DueAt: due}, "blocked", TellCoordinator, Obligation{Step: returns + 1, DueAt: after(10)}},
		"blocked ends a pause": {
			Obligation{DueAt: due, PausedAt: nine}, "blocked", TellCoordinator, Obligation{Step: returns + 1, DueAt: after(10)},
		},
		"the coordinator is told once": {
			Obligation{Step: returns + 1, DueAt: due}, "declined", Nothing, Obligation{Step: returns + 1, DueAt: due},
		},
		"unclear pauses":      {Obligation{DueAt: due}, "unclear", Nothing, Obligation{DueAt: after(10), PausedAt: after(-1)}},
		"a pause stays":       {Obligation{DueAt: due, PausedAt: after(-5)}, "unclear", Nothing, Obligation{DueAt: due, PausedAt: after(-5)}},
		"others mean nothing": {Obligation{DueAt: due}, "done", Nothing, Obligation{DueAt: due}},
		"after the last step": {Obligation{Step: steps}, "unclear", Nothing, Obligation{Step: steps}},
		"of what is discharged": {
			Obligation{DueAt: due, Discharge: Discharge{At: nine}}, "declined", Nothing, Obligation{DueAt: due, Discharge: Discharge{At: nine}},
		},
	} {
		o := row.before
		require.Equal(t, row.act, o.Hear(row.signal, after(-1), nine), name)
		require.Equal(t, row.then, o, name)
	}
}
