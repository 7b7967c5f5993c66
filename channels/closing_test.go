package channels

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

const (
	statusActive    = openintentv1.IntentStatus_INTENT_STATUS_ACTIVE
	statusCompleted = openintentv1.IntentStatus_INTENT_STATUS_COMPLETED
	statusAbandoned = openintentv1.IntentStatus_INTENT_STATUS_ABANDONED
	statusSuspended = openintentv1.IntentStatus_INTENT_STATUS_SUSPENDED_AWAITING_INPUT
)

// withTTL creates a channel with a time to live in seconds.
func (h *house) withTTL(t require.TestingT, intentID, name string, seconds int64) string {
	return h.create(t, "alice", &createRequest{
		IntentId: intentID, Name: name, Options: &optionsMessage{TtlSeconds: &seconds},
	}).GetId()
}

func TestATimeToLiveEndsOnEveryPathAtTheDeadline(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		id := h.withTTL(t, intentID, "n", 10)
		h.clock.Advance(5 * time.Second)
		deadline := h.message(t, id).Add(10 * time.Second)
		findByName := func() (found *Rules) {
			require.NoError(t, h.db.Read(t.Context(), func(tx *database.Tx) error {
				key, err := h.channels.Locate(tx, id)
				require.NoError(t, err)
				head, err := intents.ReadHead(tx, key.IntentNo)
				require.NoError(t, err)
				found, err = h.channels.FindOpenByName(tx, &head, "n", make(map[Key]*Count))
				return err
			}))
			return found
		}

		h.clock.Set(deadline.Add(-time.Microsecond))
		require.Equal(t, open, h.get(t, id).GetStatus())
		require.Nil(t, h.get(t, id).GetClosedAt())
		require.Len(t, h.list(t, intentID, ptr(open)), 1)
		require.Equal(t, id, findByName().ID)
		_, err := h.addMembers(as("alice"), id, "bob")
		require.NoError(t, err)
		require.NoError(t, h.channels.Sweep(t.Context()))
		require.Empty(t, h.takeClosings())

		h.clock.Set(deadline)
		channel := h.get(t, id)
		require.Equal(t, closed, channel.GetStatus())
		require.Equal(t, deadline, channel.GetClosedAt().AsTime())
		require.Empty(t, h.list(t, intentID, ptr(open)))
		require.Equal(t, channel.String(), h.list(t, intentID, ptr(closed))[0].String())
		require.Nil(t, findByName(), "a reader finds no open channel, and changes nothing")
		_, err = h.addMembers(as("alice"), id, "carol")
		faulttest.Require(t, err, fault.Conflict, "CHANNEL_CLOSED")
		require.True(t, h.stored(t, id).ClosedAt.IsZero())

		h.clock.Advance(time.Hour)
		require.NoError(t, h.channels.Sweep(t.Context()))
		require.Equal(t, deadline, h.stored(t, id).ClosedAt)
		require.Equal(t, channel.String(), h.get(t, id).String(), "the sweep changes nothing that a client can see")
		require.Equal(t, []observedClosing{{ids: []string{id}, at: deadline}}, h.takeClosings())
		require.NoError(t, h.channels.Sweep(t.Context()))
		require.Empty(t, h.takeClosings())
	})
}

// A message that the same transaction has placed but not stored yet keeps its channel open.
func TestFindingByNameGoesByTheGivenCounts(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.withTTL(t, h.intent(t, "alice"), "n", 10)
		h.clock.Set(h.message(t, id).Add(10 * time.Second))
		h.write(t, id, func(tx *database.Tx, head *intents.Head, key Key) error {
			counts := map[Key]*Count{key: {Messages: 2, LastMessageAt: h.clock.Now().Add(-time.Microsecond)}}
			found, err := h.channels.FindOpenByName(tx, head, "n", counts)
			require.NoError(t, err)
			require.Equal(t, id, found.ID)
			require.EqualValues(t, 2, counts[key].Messages, "a known count stays as it is")

			counts = make(map[Key]*Count)
			found, err = h.channels.FindOpenByName(tx, head, "n", counts)
			require.NoError(t, err)
			require.Nil(t, found)
			require.EqualValues(t, 1, counts[key].Messages, "the stored count is added to the given ones")
			return nil
		})
		require.Len(t, h.takeClosings(), 1)
	})
}

func TestChangingTheTimeToLive(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		set := func(id string, seconds *int64) *channelMessage {
			channel, err := h.update(as("alice"), &channelMessage{Id: id, Options: &optionsMessage{TtlSeconds: seconds}}, "options.ttl_seconds")
			require.NoError(t, err)
			return channel
		}
		longer, cleared, shorter := h.withTTL(t, intentID, "longer", 10), h.withTTL(t, intentID, "cleared", 10), h.withTTL(t, intentID, "shorter", 100)
		h.clock.Advance(9 * time.Second)
		set(longer, ptr(int64(20)))
		set(cleared, nil)
		h.clock.Advance(10 * time.Second)
		require.Equal(t, open, h.get(t, longer).GetStatus())
		require.Equal(t, open, h.get(t, cleared).GetStatus())

		// The time to live runs from the last message, whenever it was set, so it may have run out already.
		created := h.get(t, shorter).GetCreatedAt().AsTime()
		channel := set(shorter, ptr(int64(3)))
		require.Equal(t, closed, channel.GetStatus())
		require.Equal(t, created.Add(3*time.Second), channel.GetClosedAt().AsTime())
		require.Equal(t, []observedClosing{{ids: []string{shorter}, at: created.Add(3 * time.Second)}}, h.takeClosings())
	})
}

func TestSuspensionStopsTheTimeAndResumptionRestartsIt(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		lapsed, running := h.withTTL(t, intentID, "lapsed", 10), h.withTTL(t, intentID, "running", 100)
		lapsedAt := h.get(t, lapsed).GetCreatedAt().AsTime().Add(10 * time.Second)
		h.clock.Advance(50 * time.Second)

		require.NoError(t, h.setIntentStatus(t, intentID, statusSuspended))
		require.Equal(t, lapsedAt, h.get(t, lapsed).GetClosedAt().AsTime(), "a channel that had lapsed does not come back")
		require.Equal(t, []observedClosing{{ids: []string{lapsed}, at: lapsedAt}}, h.takeClosings())
		h.clock.Advance(time.Hour)
		require.NoError(t, h.channels.Sweep(t.Context()))
		require.Equal(t, open, h.get(t, running).GetStatus())

		// A task that ends during the suspension closes its channel at that time, not at the stopped deadline.
		taskID := h.task(t, intentID)
		scoped := h.create(t, "alice", &createRequest{
			IntentId: intentID, Name: "scoped", TaskId: &taskID, Options: &optionsMessage{TtlSeconds: ptr(int64(1))},
		}).GetId()
		h.clock.Advance(time.Minute)
		h.cancelTask(t, taskID)
		require.False(t, h.get(t, scoped).GetClosedAt().AsTime().Before(h.clock.Now()))

		require.NoError(t, h.setIntentStatus(t, intentID, statusActive))
		resumed := h.clock.Now()
		require.Equal(t, closed, h.get(t, lapsed).GetStatus())
		h.clock.Advance(99 * time.Second)
		require.Equal(t, open, h.get(t, running).GetStatus())
		h.takeClosings()
		require.NoError(t, h.channels.Sweep(t.Context()))
		require.Empty(t, h.takeClosings())
		h.clock.Advance(2 * time.Second)
		closedAt := h.get(t, running).GetClosedAt().AsTime()
		require.False(t, closedAt.Before(resumed.Add(100*time.Second)))
		require.WithinDuration(t, resumed.Add(100*time.Second), closedAt, time.Millisecond)
		require.NoError(t, h.channels.Sweep(t.Context()))
		require.Equal(t, []observedClosing{{ids: []string{running}, at: closedAt}}, h.takeClosings())
	})
}

func TestAnEndWhileSuspendedClosesAtTheEnd(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		id := h.withTTL(t, intentID, "n", 10)
		require.NoError(t, h.setIntentStatus(t, intentID, statusSuspended))
		h.clock.Advance(time.Hour)
		require.NoError(t, h.setIntentStatus(t, intentID, statusAbandoned))
		require.False(t, h.get(t, id).GetClosedAt().AsTime().Before(h.clock.Now()))
	})
}

func TestTheEndOfAnIntentClosesItsChannels(t *testing.T) {
	for _, status := range []openintentv1.IntentStatus{statusCompleted, statusAbandoned} {
		eachEngine(t, func(t *testing.T, h *house) {
			intentID, other := h.intent(t, "alice"), h.intent(t, "alice")
			plain := h.create(t, "alice", &createRequest{IntentId: intentID, Name: "plain"}).GetId()
			living, lapsed := h.withTTL(t, intentID, "living", 1000), h.withTTL(t, intentID, "lapsed", 10)
			lapsedAt := h.get(t, lapsed).GetCreatedAt().AsTime().Add(10 * time.Second)
			early := h.create(t, "alice", &createRequest{IntentId: intentID, Name: "early"}).GetId()
			_, err := h.closeChannel(as("alice"), early)
			require.NoError(t, err)
			earlyBefore := h.get(t, early).String()
			elsewhere := h.create(t, "alice", &createRequest{IntentId: other, Name: "elsewhere"}).GetId()
			h.takeClosings()
			h.takeChanges()

			h.clock.Advance(time.Minute)
			last := h.message(t, plain)
			require.NoError(t, h.setIntentStatus(t, intentID, status))
			closedAt := h.get(t, plain).GetClosedAt().AsTime()
			require.True(t, closedAt.After(last))
			require.Equal(t, []observedClosing{
				{ids: []string{plain, living}, at: closedAt}, {ids: []string{lapsed}, at: lapsedAt},
			}, h.takeClosings())
			require.Len(t, h.takeChanges(), 3)
			require.Equal(t, closedAt, h.get(t, living).GetClosedAt().AsTime())
			require.Equal(t, lapsedAt, h.get(t, lapsed).GetClosedAt().AsTime())
			require.Equal(t, earlyBefore, h.get(t, early).String())
			require.Equal(t, open, h.get(t, elsewhere).GetStatus())
			require.Equal(t, []string{plain, living, lapsed, early}, ids(h.list(t, intentID, ptr(closed))))
		})
	}
}

// An intent may have many channels with long member lists; closing them reads none of these lists.
func TestClosingReadsNoMemberLists(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		id := h.create(t, "alice", &createRequest{IntentId: intentID, Name: "n", Members: []string{"bob"}}).GetId()
		var listed []string
		h.channels.OnClosing(func(_ *database.Tx, _ *intents.Head, closed []*Rules, _ time.Time) error {
			listed = append(listed, closed[0].Members()...)
			return nil
		})
		require.NoError(t, h.setIntentStatus(t, intentID, statusCompleted))
		require.Len(t, h.takeClosings(), 1)
		require.Empty(t, listed)
		require.Equal(t, []string{"bob"}, h.get(t, id).GetMembers())
	})
}

func TestTheEndOfATaskClosesItsChannels(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		taskID, otherTask := h.task(t, intentID), h.task(t, intentID)
		scoped := h.create(t, "alice", &createRequest{IntentId: intentID, Name: "scoped", TaskId: &taskID}).GetId()
		others := []string{
			h.create(t, "alice", &createRequest{IntentId: intentID, Name: "other", TaskId: &otherTask}).GetId(),
			h.create(t, "alice", &createRequest{IntentId: intentID, Name: "plain"}).GetId(),
		}
		last := h.message(t, scoped)
		h.cancelTask(t, taskID)
		channel := h.get(t, scoped)
		require.Equal(t, closed, channel.GetStatus())
		require.True(t, channel.GetClosedAt().AsTime().After(last))
		require.Equal(t, []observedClosing{{ids: []string{scoped}, at: channel.GetClosedAt().AsTime()}}, h.takeClosings())
		require.Equal(t, others, ids(h.list(t, intentID, ptr(open))))

		// Messages that are sent later in other channels of the intent come after the closing.
		require.True(t, h.message(t, others[1]).After(channel.GetClosedAt().AsTime()))
	})
}

func TestAHookThatFailsUndoesTheCause(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		id := h.create(t, "alice", &createRequest{IntentId: intentID, Name: "n"}).GetId()
		before := h.get(t, id).String()
		h.takeChanges()
		stop := fault.New(fault.Unavailable, "STOP", "The test stops here.")
		h.channels.OnClosing(func(*database.Tx, *intents.Head, []*Rules, time.Time) error { return stop })
		require.ErrorIs(t, h.setIntentStatus(t, intentID, statusCompleted), stop)
		_, err := h.closeChannel(as("alice"), id)
		require.ErrorIs(t, err, stop)
		require.Equal(t, before, h.get(t, id).String())
		require.Empty(t, h.takeChanges())
	})
}

func TestClosingLiesAfterTheLastMessage(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		// The clock stands still, so only the head's own time distinguishes before from after.
		id := h.create(t, "alice", &createRequest{IntentId: h.intent(t, "alice"), Name: "n"}).GetId()
		h.message(t, id)
		last := h.message(t, id)
		channel, err := h.closeChannel(as("alice"), id)
		require.NoError(t, err)
		require.True(t, channel.GetClosedAt().AsTime().After(last))
	})
}

func TestListOrderFollowsTheTime(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		a, b := h.withTTL(t, intentID, "a", 10), h.withTTL(t, intentID, "b", 100)
		c, d := h.withTTL(t, intentID, "c", 50), h.withTTL(t, intentID, "d", 1000)
		order := func() []string { return ids(h.list(t, intentID, nil)) }
		require.Equal(t, []string{a, b, c, d}, order())
		h.clock.Advance(10 * time.Second)
		require.Equal(t, []string{b, c, d, a}, order())
		h.clock.Advance(40 * time.Second)
		require.Equal(t, []string{b, d, a, c}, order())
		require.NoError(t, h.channels.Sweep(t.Context()))
		require.Equal(t, []string{b, d, a, c}, order())
		require.Equal(t, []string{b, d}, ids(h.list(t, intentID, ptr(open))))
		require.Equal(t, []string{a, c}, ids(h.list(t, intentID, ptr(closed))))
	})
}

func TestSweepGoesOnPastAnIntentThatFails(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		first, second := h.intent(t, "alice"), h.intent(t, "alice")
		stuck, fine := h.withTTL(t, first, "stuck", 10), h.withTTL(t, second, "fine", 10)
		suspended := h.intent(t, "alice")
		standing := h.withTTL(t, suspended, "standing", 10)
		require.NoError(t, h.setIntentStatus(t, suspended, statusSuspended))
		broken := true
		h.channels.OnClosing(func(_ *database.Tx, _ *intents.Head, closed []*Rules, _ time.Time) error {
			if broken && closed[0].ID == stuck {
				return fault.New(fault.Unavailable, "STOP", "The test stops here.")
			}
			return nil
		})
		h.clock.Advance(time.Minute)
		require.NoError(t, h.channels.Sweep(t.Context()))
		require.True(t, h.stored(t, stuck).ClosedAt.IsZero())
		require.False(t, h.stored(t, fine).ClosedAt.IsZero())
		require.True(t, h.stored(t, standing).ClosedAt.IsZero())
		broken = false
		require.NoError(t, h.channels.Sweep(t.Context()))
		require.False(t, h.stored(t, stuck).ClosedAt.IsZero())

		stopped, cancel := context.WithCancel(t.Context())
		cancel()
		require.Error(t, h.channels.Sweep(stopped))
	})
}

// Open channels must not make each run of the sweep slower, however many there are.
func TestSweepFindsLapsedChannelsByIndex(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		explain := map[database.Engine]string{database.SQLite: "EXPLAIN QUERY PLAN ", database.PostgreSQL: "EXPLAIN "}
		var plan []string
		require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error {
			if tx.Engine() == database.PostgreSQL { // PostgreSQL would scan a small table
				if err := tx.Pipeline(database.Statement{SQL: "SET LOCAL enable_seqscan = off"}); err != nil {
					return err
				}
			}
			statement := lapsedStatement(tx.Now(), lapse{}, sweepPage, nil)
			statement.SQL = explain[tx.Engine()] + statement.SQL
			statement.Scan = func(row database.Row) error {
				var line string
				var ignored int
				into := []any{&line}
				if tx.Engine() == database.SQLite {
					into = []any{&ignored, &ignored, &ignored, &line}
				}
				err := row.Scan(into...)
				plan = append(plan, line)
				return err
			}
			return tx.Pipeline(statement)
		}))
		require.Contains(t, strings.Join(plan, "\n"), "channels_open_ttl")
		require.NotContains(t, strings.Join(plan, "\n"), "SCAN")
	})
}

func TestSweepTakesMoreThanOnePage(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		const many = sweepPage + 3
		require.NoError(t, h.onIntent(intentID, func(tx *database.Tx, head *intents.Head) error {
			for i := range many {
				rules, err := h.channels.CreateImplicit(tx, head, time.Duration(i+1).String(), "alice", "")
				if err != nil {
					return err
				}
				changed := *rules
				changed.TTL = time.Second
				if err := updateChannel(tx, &changed); err != nil {
					return err
				}
			}
			return nil
		}))
		h.clock.Advance(time.Minute)
		require.NoError(t, h.channels.Sweep(t.Context()))
		closings := h.takeClosings()
		total := 0
		for _, closing := range closings {
			require.LessOrEqual(t, len(closing.ids), sweepPage, "transactions are bounded")
			total += len(closing.ids)
		}
		require.Equal(t, many, total)
		require.NoError(t, h.channels.Sweep(t.Context()))
		require.Empty(t, h.takeClosings())
	})
}

func TestCountsOfManyIntents(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		expected := make(map[Key]*Count)
		var keys []Key
		for range 3 {
			intentID := h.intent(t, "alice")
			for _, name := range []string{"a", "b", "c"} {
				id := h.create(t, "alice", &createRequest{IntentId: intentID, Name: name}).GetId()
				key := h.stored(t, id).Key
				last := h.message(t, id)
				if name != "b" {
					keys = append(keys, key)
					expected[key] = &Count{Messages: 1, LastMessageAt: last}
				}
			}
		}
		missing := Key{IntentNo: keys[0].IntentNo, ChannelNo: 1000}
		require.NoError(t, h.db.Read(t.Context(), func(tx *database.Tx) error {
			counts, err := LoadCounts(tx, append(keys, missing))
			require.NoError(t, err)
			require.Equal(t, expected, counts)
			none, err := LoadCounts(tx, nil)
			require.NoError(t, err)
			require.Empty(t, none)
			return nil
		}))
	})
}
