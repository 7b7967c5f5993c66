package reach_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/reach"
)

func TestAnAgentIsReachedByItsOpenPaths(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		here, there := h.first(), h.last()
		require.Equal(t, reach.Unknown, there.read(t, "data").Level())

		here.heard("data")
		h.keep(t)
		require.Equal(t, reach.None, there.read(t, "data").Level(), "it was here, and does not listen")

		begun := h.clock.Now()
		end := reach.Hear(here.calling("data", true), reach.Stream)
		require.Equal(t, reach.Live, here.read(t, "data").Level(), "its own replica knows at once")
		h.keep(t)
		found := there.read(t, "data")
		require.Equal(t, reach.Live, found.Level())
		require.Equal(t, begun.UTC(), found.Paths[0].Since)

		again := reach.Hear(here.calling("data", true), reach.Stream)
		end()
		h.keep(t)
		require.Equal(t, reach.Live, there.read(t, "data").Level(), "another stream is open still")
		again()
		again() // does nothing
		require.Equal(t, reach.None, here.read(t, "data").Level())
		h.keep(t)
		require.Equal(t, reach.None, there.read(t, "data").Level())
	})
}

// What each kind of path makes of an agent, alone; and all of them together are as much as the best.
func TestLevelsOfPaths(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		here := h.first()
		for kind, level := range map[reach.Kind]reach.Level{
			reach.Stream: reach.Live, reach.Wait: reach.Live, reach.C2A: reach.Live, reach.Listen: reach.None,
		} {
			agent := "agent-" + string(kind)
			here.heard(agent)
			end := reach.Hear(here.calling(agent, false), kind)
			require.Equal(t, level, here.read(t, agent).Level(), kind)
			require.Equal(t, []reach.Kind{kind}, kinds(here.read(t, agent)))
			end()
		}
		here.Woken("sleeper", h.clock.Now())
		require.Equal(t, reach.Wakeable, here.read(t, "sleeper").Level())
		defer reach.Hear(here.calling("sleeper", false), reach.Listen)()
		require.Equal(t, reach.Wakeable, here.read(t, "sleeper").Level())
		defer reach.Hear(here.calling("sleeper", false), reach.Wait)()
		require.Equal(t, reach.Live, here.read(t, "sleeper").Level())
		require.Equal(t, []reach.Kind{reach.Wait, reach.Wake, reach.Listen}, kinds(here.read(t, "sleeper")), "the best first")
	})
}

// A replica that dies writes nothing any more. Its paths count until it was not seen for fifteen seconds, and not longer.
func TestTheDeathOfAReplicaEndsItsPaths(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		if len(h.replicas) == 1 {
			return // a process that is alone and dead answers nothing
		}
		dying, other := h.first(), h.last()
		reach.Hear(dying.calling("data", true), reach.Stream)
		h.keep(t)
		h.pass(t, 60*second, dying, other)
		require.Equal(t, reach.Live, other.read(t, "data").Level(), "it lives, and says so every five seconds")
		h.pass(t, 10*second, other)
		require.Equal(t, reach.Live, other.read(t, "data").Level())
		h.pass(t, 6*second, other)
		require.Empty(t, other.read(t, "data").Paths)

		h.pass(t, 10*60*second, other) // its rows are removed
		require.NoError(t, dying.Keep(t.Context()))
		require.Equal(t, reach.Live, other.read(t, "data").Level(), "it was only frozen, and writes its paths anew")
	})
}

func TestAStopTakesPathsBack(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.first().Start()
		reach.Hear(h.first().calling("data", true), reach.Stream)
		h.first().Stop()
		if h.first() != h.last() {
			require.Empty(t, h.last().read(t, "data").Paths)
		}
		require.Zero(t, count(t, h.last().db, "agent_paths")+count(t, h.last().db, "replicas"))
	})
}

// What was heard shortly before a clean stop is written, too.
func TestAStopWritesWhatWasHeard(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.first().Start()
		require.NoError(t, h.first().Keep(t.Context()), "the times were looked at just now")
		h.first().heard("data")
		h.first().Stop()
		require.Equal(t, int64(1), count(t, h.last().db, "agent_reach"))
	})
}

// A wake counts for thirty seconds after its last call, on every replica, and opens no other path.
func TestAWakeBeats(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		here, there := h.first(), h.last()
		ctx := reach.WithHearing(t.Context(), &reach.Hearing{Here: here.Here, Agent: "data", Wakes: true})
		defer reach.Hear(ctx, reach.Stream)()
		require.Empty(t, here.read(t, "data").Paths)
		for range 5 {
			here.Woken("data", h.clock.Now())
			h.pass(t, 10*second, h.replicas...)
			require.Equal(t, []reach.Kind{reach.Wake}, kinds(there.read(t, "data")))
		}
		require.Equal(t, h.clock.Now().Add(-50*second).UTC(), there.read(t, "data").Paths[0].Since)
		require.Equal(t, h.clock.Now().Add(-10*second).UTC(), there.read(t, "data").Paths[0].Proven)
		h.pass(t, 20*second, h.replicas...)
		require.Len(t, there.read(t, "data").Paths, 1)
		h.clock.Advance(time.Microsecond)
		require.Empty(t, there.read(t, "data").Paths, "although nobody has written that it ended")
		require.Empty(t, here.read(t, "data").Paths)
		h.pass(t, second, h.replicas...)
		require.Zero(t, count(t, there.db, "agent_paths"))
	})
}

// What is asked proves itself as long as it is open; anything else when it began.
func TestWhenAPathWasProven(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		here := h.first()
		begun := h.clock.Now().UTC()
		defer reach.Hear(here.calling("grpc", true), reach.Stream)()
		defer reach.Hear(here.calling("sse", false), reach.Stream)()
		h.pass(t, 60*second, h.replicas...)
		for _, one := range h.replicas {
			require.Equal(t, begun, one.read(t, "sse").Paths[0].Proven)
			proven := one.read(t, "grpc").Paths[0].Proven
			require.WithinRange(t, proven, begun.Add(40*second), begun.Add(45*second))
		}
	})
}

func TestNothingIsHeardWithoutAPath(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		here := h.first()
		reach.Hear(t.Context(), reach.Stream)()
		defer reach.Hear(reach.Unheard(here.calling("data", true)), reach.Stream)()
		ctx := reach.Unheard(t.Context())
		defer reach.Hear(reach.WithHearing(ctx, &reach.Hearing{Here: here.Here, Agent: "data"}), reach.Wait)()
		require.Empty(t, here.read(t, "data").Paths)
		require.False(t, reach.HearsFor(ctx, "data"))
		require.True(t, reach.HearsFor(here.calling("data", true), "data"))
		require.False(t, reach.HearsFor(here.calling("data", true), "other"))
	})
}

// Times are written every ten seconds, and the latest counts, wherever it was noted.
func TestWhenAnAgentWasHeard(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		here, there := h.first(), h.last()
		here.heard("data")
		h.keep(t)
		first := h.clock.Now().UTC()
		require.Equal(t, first, there.read(t, "data").Heard)
		h.pass(t, 3*second, h.replicas...)
		here.heard("data")
		h.keep(t)
		require.Equal(t, first.Add(3*second), here.read(t, "data").Heard)
		if here != there {
			require.Equal(t, first, there.read(t, "data").Heard, "it is not written each time")
		}
		h.pass(t, 10*second, h.replicas...)
		require.Equal(t, first.Add(3*second), there.read(t, "data").Heard)
		there.Offered(map[string]time.Time{"data": h.clock.Now()})
		h.keep(t)
		require.Equal(t, first.Add(13*second), here.read(t, "data").Offered)
		require.Equal(t, first.Add(3*second), here.read(t, "data").Heard)
	})
}

// An entry that nobody used for a day is dropped. A call that still has it finds out, and is not lost.
func TestEntriesAreDropped(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		here := h.first()
		kept := here.Of("data")
		require.True(t, kept.Note("data", here.Now()))
		require.False(t, kept.Note("other", here.Now()))
		h.keep(t)
		h.clock.Advance(23 * time.Hour)
		h.keep(t)
		require.True(t, kept.Note("data", here.Now()))
		for range 2 { // first its time is written
			h.clock.Advance(24 * time.Hour)
			h.keep(t)
		}
		require.False(t, kept.Note("data", here.Now()), "it is void")
		require.NotSame(t, kept, here.Of("data"))
		end := reach.Hear(here.calling("data", true), reach.Stream)
		held := here.Of("data")
		h.clock.Advance(25 * time.Hour)
		h.keep(t)
		require.Same(t, held, here.Of("data"), "an open path keeps it")
		end()
	})
}

// Whatever becomes of a commit, the next run makes up for it.
func TestAFailedWriteIsMadeUpFor(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		here, there := h.first(), h.last()
		end := reach.Hear(here.calling("data", true), reach.Stream)
		here.heard("data")
		h.faults.FailAfter(1)
		require.Error(t, here.Keep(t.Context()))
		h.keep(t)
		require.Equal(t, reach.Live, there.read(t, "data").Level())
		end()
		h.faults.FailBefore(1)
		require.Error(t, here.Keep(t.Context()))
		h.keep(t)
		require.Empty(t, there.read(t, "data").Paths)
		require.False(t, there.read(t, "data").Heard.IsZero())
	})
}

// A failed write does not lose which messages a model saw: the next write stores them.
func TestWhatSurfacedOutlivesAFailedWrite(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		here, there := h.first(), h.last()
		here.heard("data")
		offer(t, here.db, 1, "data")
		saw := h.clock.Now().UTC()
		here.Surfaced("data", saw, reach.Place{IntentNo: 1, Position: 1})
		h.faults.FailBefore(1)
		require.Error(t, here.Keep(t.Context()))
		h.keep(t)
		require.Equal(t, saw, there.read(t, "data").Surfaced)
	})
}

// The median is that of the last twenty messages of which it is known when they were offered.
func TestHowFastMessagesSurface(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		here, there := h.first(), h.last()
		here.heard("data") // who says that it saw something calls
		surface := func(position int64, took time.Duration) {
			h.clock.Advance(took)
			here.Surfaced("data", h.clock.Now(), reach.Place{IntentNo: 1, Position: position})
			h.keep(t)
		}
		for i, took := range []time.Duration{40, 20, 30} {
			require.Nil(t, there.read(t, "data").SurfacesIn, "too few")
			offer(t, here.db, int64(i), "data")
			surface(int64(i), took*time.Millisecond)
		}
		require.EqualValues(t, 30, *there.read(t, "data").SurfacesIn)
		surface(99, time.Hour) // nobody knows when it was offered
		require.EqualValues(t, 30, *there.read(t, "data").SurfacesIn)
		require.Equal(t, h.clock.Now().UTC(), there.read(t, "data").Surfaced)
		for i := int64(100); i < 120; i++ {
			offer(t, here.db, i, "data")
			surface(i, 5*time.Millisecond)
		}
		require.EqualValues(t, 5, *there.read(t, "data").SurfacesIn, "the earlier ones are forgotten")
		for i := int64(200); i < 211; i++ {
			offer(t, here.db, i, "data")
			surface(i, 40*time.Millisecond)
		}
		require.EqualValues(t, 40, *there.read(t, "data").SurfacesIn, "the newest twenty count")
		require.Nil(t, there.read(t, "other").SurfacesIn)
	})
}

// What was not heard of for thirty days is forgotten.
func TestAgentsAreForgotten(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.first().heard("old")
		h.keep(t)
		h.clock.Advance(20 * 24 * time.Hour)
		h.first().heard("new")
		h.first().Offered(map[string]time.Time{"hook": h.clock.Now()}) // posted to, and never heard
		h.keep(t)
		h.clock.Advance(10*24*time.Hour + second)
		h.keep(t)
		require.Equal(t, reach.Unknown, h.last().read(t, "old").Level())
		require.Equal(t, reach.None, h.last().read(t, "new").Level())
		require.Equal(t, reach.None, h.last().read(t, "hook").Level())
	})
}

// A key that may call in any name makes only so many entries. Of further agents the paths are known all the same.
func TestOnlySoManyAgentsAreKnown(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		here := h.first()
		here.KeepAgents(2)
		for _, agent := range []string{"a", "b", "c"} {
			here.heard(agent)
			here.Offered(map[string]time.Time{agent: h.clock.Now()})
		}
		h.keep(t)
		require.EqualValues(t, 2, count(t, here.db, "agent_reach"))
		require.Equal(t, reach.None, here.read(t, "b").Level())
		require.Equal(t, reach.Unknown, here.read(t, "c").Level())
		defer reach.Hear(here.calling("c", true), reach.Stream)()
		require.Equal(t, reach.Live, here.read(t, "c").Level())
	})
}

// While nothing happens, nothing is written.
func TestQuietCostsNothing(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.keep(t)
		before := h.faults.Commits()
		h.pass(t, 30*second, h.replicas...)
		require.Equal(t, before, h.faults.Commits())
	})
}

func offer(t *testing.T, db *database.DB, position int64, agent string) {
	t.Helper()
	require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL:  "INSERT INTO offers (intent_no, position, agent_id, offered_at) VALUES (1, ?, ?, ?)",
			Args: []any{position, agent, database.Micros(db.Now())},
		})
	}))
}

func count(t *testing.T, db *database.DB, table string) (rows int64) {
	t.Helper()
	require.NoError(t, db.Read(context.Background(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{SQL: "SELECT count(*) FROM " + table, Scan: func(row database.Row) error { return row.Scan(&rows) }})
	}))
	return rows
}
