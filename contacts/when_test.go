package contacts

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/messaging"
)

var start = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// asked is a message of a sender, so long after the start.
func asked(sender string, position int64, after time.Duration) messaging.Pressing {
	return messaging.Pressing{IntentNo: 1, Position: position, Sender: sender, SentAt: start.Add(after)}
}

// run looks every second for a while, and returns when the name is told of which message, in seconds since the start.
func run(known map[string]*call, pressing []messaging.Pressing, from, to time.Duration) (told map[int64][]int) {
	told = make(map[int64][]int)
	for at := from; at <= to; at += time.Second {
		d := decide(start.Add(at), sentBefore(pressing, start.Add(at)), known, false)
		for _, c := range d.calls {
			known[c.sender] = c
			told[c.position] = append(told[c.position], int(at.Seconds()))
		}
		for _, sender := range d.ended {
			delete(known, sender)
		}
	}
	return told
}

func sentBefore(pressing []messaging.Pressing, now time.Time) (sent []messaging.Pressing) {
	for _, m := range pressing {
		if !m.SentAt.After(now) {
			sent = append(sent, m)
		}
	}
	return sent
}

func TestANameIsToldThreeTimes(t *testing.T) {
	told := run(map[string]*call{}, []messaging.Pressing{asked("alice", 1, 0)}, 0, 5*time.Hour)
	require.Equal(t, map[int64][]int{1: {60, 600, 3600}}, told)
}

// A second question of the same sender begins no call of its own within the hour, and one of another sender does.
func TestASenderBeginsOneCallInAnHour(t *testing.T) {
	told := run(map[string]*call{}, []messaging.Pressing{
		asked("alice", 1, 0), asked("alice", 2, 10*time.Second), asked("bob", 3, 20*time.Second),
	}, 0, 3*time.Hour)
	require.Equal(t, []int{60, 600, 3600}, told[1])
	require.Equal(t, []int{3660, 4200, 7200}, told[2])
	require.Equal(t, []int{80, 620, 3620}, told[3])
}

// What ends before its hour is over lets no further call of the sender begin earlier.
func TestAnAnswerDoesNotLetTheSenderCallAgainAtOnce(t *testing.T) {
	known := map[string]*call{}
	run(known, []messaging.Pressing{asked("alice", 1, 0)}, 0, 2*time.Minute)
	told := run(known, []messaging.Pressing{asked("alice", 2, 3*time.Minute)}, 3*time.Minute, 2*time.Hour)
	require.Equal(t, map[int64][]int{2: {3660, 4200}}, map[int64][]int{2: told[2][:2]})
}

// Many senders are bounded together, and strangers leave most of that to others.
func TestCallsOfANameAreBounded(t *testing.T) {
	var pressing []messaging.Pressing
	for i := range int64(50) {
		m := asked("stranger "+string(rune('A'+i)), i, 0)
		m.Stranger = true
		pressing = append(pressing, m)
	}
	for i := range int64(50) {
		pressing = append(pressing, asked("known "+string(rune('A'+i)), 100+i, 0))
	}
	known := map[string]*call{}
	told := run(known, pressing, 0, 30*time.Minute)
	strangers := 0
	for position := range told {
		if position < 100 {
			strangers++
		}
	}
	require.Equal(t, mostStrangers, strangers)
	require.Len(t, told, mostCalls)
	require.Greater(t, len(run(known, pressing, 30*time.Minute, 2*time.Hour)), mostCalls, "the others come later")
}

// If nobody looked for a day, what was due comes once.
func TestWhatWasMissedComesOnce(t *testing.T) {
	known := map[string]*call{}
	pressing := []messaging.Pressing{asked("alice", 1, 0)}
	run(known, pressing, 0, 2*time.Minute)
	require.Equal(t, map[int64][]int{1: {86400}}, run(known, pressing, 24*time.Hour, 26*time.Hour))
}

// Who is there and has seen the message needs no call; who has seen it and left does.
func TestWhoIsThereAndHasSeenItIsNotTold(t *testing.T) {
	m := asked("alice", 1, 0)
	m.Seen = true
	now := start.Add(2 * time.Minute)
	require.Empty(t, decide(now, []messaging.Pressing{m}, nil, true).tell)
	require.Len(t, decide(now, []messaging.Pressing{m}, nil, false).tell, 1)
	m.Seen = false
	require.Len(t, decide(now, []messaging.Pressing{m}, nil, true).tell, 1)
}

// A look expects the next one when something is due.
func TestALookKnowsWhenTheNextOneIsDue(t *testing.T) {
	d := decide(start.Add(50*time.Second), []messaging.Pressing{asked("alice", 1, 0)}, nil, false)
	require.Equal(t, start.Add(time.Minute), d.next)
	require.Equal(t, start.Add(time.Minute), nextLook(start.Add(50*time.Second), 0, d.next))
	require.Equal(t, start.Add(lookEvery), nextLook(start, 0, time.Time{}))
	require.Equal(t, start.Add(100*time.Second), nextLook(start, time.Second, start), "a look that takes long is rare")
	require.Equal(t, start.Add(longestPause), nextLook(start, time.Hour, start))
}
