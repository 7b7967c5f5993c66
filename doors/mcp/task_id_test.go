package mcp

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	asking    = task{awaited: awaited{Subject: anAnswer, Channel: "c", Message: "m", Enough: 2, Seen: 1}, Agent: "alice", From: 1, Until: 2}
	looking   = task{awaited: awaited{Subject: anInbox, All: true}, Agent: "alice", From: 1, Until: 2}
	following = task{awaited: awaited{Subject: aThread, Channel: "c", Message: "m", After: new(int64(7))}, Agent: "ä<&>", From: 1, Until: 600_001}
)

func TestATaskIsReadFromItsID(t *testing.T) {
	for _, made := range []task{asking, following, looking} {
		read, ok := taskFrom(made.id())
		require.True(t, ok)
		require.Equal(t, made, read)
		require.Regexp(t, `^[A-Za-z0-9_-]+$`, made.id(), "an id can stand in a header")
	}
	longest := following
	longest.Agent, longest.Channel, longest.Message = strings.Repeat("\U0001F600", 256), strings.Repeat("c", 30), strings.Repeat("m", 30)
	_, ok := taskFrom(longest.id())
	require.True(t, ok, "the longest name fits")
}

func TestWhatNoServerMakesIsNoTask(t *testing.T) {
	for name, change := range map[string]func(*task){
		"no subject":           func(made *task) { made.Subject = "" },
		"an unknown subject":   func(made *task) { made.Subject = "all" },
		"no answers":           func(made *task) { made.Enough = 0 },
		"too many answers":     func(made *task) { made.Enough = 1001 },
		"fewer than none":      func(made *task) { made.Seen = -1 },
		"more than there are":  func(made *task) { made.Seen = 1001 },
		"a position":           func(made *task) { made.After = new(int64(1)) },
		"no position":          func(made *task) { made.Subject = aChannel },
		"before the log":       func(made *task) { made.Subject, made.After = aChannel, new(int64(-1)) },
		"a place of the inbox": func(made *task) { *made = looking; made.After = new(int64(1)) },
		"all of a thread":      func(made *task) { *made = following; made.All = true },
		"backwards":            func(made *task) { made.Until = 0 },
		"for too long":         func(made *task) { made.Until = made.From + 600_001 },
		"before time":          func(made *task) { made.From, made.Until = -1, 1 },
	} {
		made := asking
		change(&made)
		_, ok := taskFrom(made.id())
		require.False(t, ok, name)
	}
	encoded := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	known, err := base64.RawURLEncoding.DecodeString(asking.id())
	require.NoError(t, err)
	for _, id := range []string{
		"", "{}", encoded("{}"), encoded("null"), encoded("[1]"), asking.id() + "=", asking.id() + "A", " " + asking.id(),
		encoded(string(known) + " "), encoded(string(known) + "{}"), encoded(strings.Replace(string(known), "{", `{"x":1,`, 1)),
		strings.Repeat("A", longestID+1),
	} {
		_, ok := taskFrom(id)
		require.False(t, ok, id)
	}
}

// Whatever a stranger gives as an id, it is none, or exactly the one that a server gives to that task.
func FuzzTaskID(f *testing.F) {
	for _, made := range []task{asking, following} {
		f.Add(made.id())
	}
	f.Add("")
	f.Fuzz(func(t *testing.T, id string) {
		read, ok := taskFrom(id)
		if !ok {
			require.Equal(t, task{}, read)
			return
		}
		require.LessOrEqual(t, len(id), longestID)
		require.Equal(t, id, read.id())
		require.True(t, read.valid())
	})
}
