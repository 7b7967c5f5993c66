package messaging

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/messaging/wake"
)

// look looks with a watch, and returns in which intents something may have happened.
func look(t require.TestingT, w *Watch) Moves {
	wasWoken(w.listener)
	moves, err := w.Look(context.Background())
	require.NoError(t, err)
	return moves
}

func TestWatchesWakeForWhatMayReachAnAgent(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		one, two, far := h.open(t), h.open(t), h.open(t)
		h.register(t, "bob", "tester")
		h.send(t, "alice", &sendRequest{ChannelId: one, To: ptr("bob")})
		h.send(t, "bob", &sendRequest{ChannelId: two, To: ptr("alice")})
		w := h.messaging.Watch(Watched{Agent: "bob"})
		t.Cleanup(w.Close)
		// A change wakes the watch before the call that made it returns.
		oneNo, twoNo, farNo := h.key(t, one).IntentNo, h.key(t, two).IntentNo, h.key(t, far).IntentNo
		require.True(t, look(t, w).All, "the first look")
		low, high := min(oneNo, twoNo), max(oneNo, twoNo)
		require.Equal(t, []int64{low, high}, w.After(0, 10))
		require.Equal(t, []int64{low}, w.After(0, 1))
		require.Equal(t, []int64{high}, w.After(low, 10))
		require.Equal(t, Moves{Presence: look(t, w).Presence}, look(t, w), "nothing has happened")
		require.False(t, wasWoken(w.listener))

		h.say(t, "alice", one, "a")
		require.True(t, wasWoken(w.listener))
		require.Equal(t, map[int64]Move{oneNo: {Since: 2, Addressed: true}}, look(t, w).Intents)
		h.send(t, "bob", &sendRequest{ChannelId: two, To: ptr("alice")})
		require.True(t, wasWoken(w.listener))
		require.Equal(t, map[int64]Move{twoNo: {Since: 2}}, look(t, w).Intents)
		h.addMember(t, two, "carol")
		require.True(t, wasWoken(w.listener), "rules have changed")
		require.True(t, look(t, w).Intents[twoNo].Ruled)
		h.say(t, "alice", far, "a")
		require.False(t, wasWoken(w.listener), "that intent does not reach bob")
		h.send(t, "alice", &sendRequest{ChannelId: far, To: ptr("bob")})
		require.True(t, wasWoken(w.listener), "a further intent reaches the agent")
		require.Equal(t, map[int64]Move{farNo: {Ruled: true, Addressed: true}}, look(t, w).Intents)
		h.say(t, "bob", far, "by this bob takes part")
		require.True(t, look(t, w).Intents[farNo].Ruled)
		h.send(t, "alice", &sendRequest{ChannelId: h.open(t), To: ptr("role:judge")})
		require.False(t, wasWoken(w.listener), "that is not bob's role")
		h.register(t, "bob", "judge")
		require.True(t, wasWoken(w.listener))
		require.True(t, look(t, w).All, "bob's role has changed")
		h.send(t, "alice", &sendRequest{ChannelId: h.open(t), To: ptr("role:judge")})
		require.True(t, wasWoken(w.listener), "a further intent reaches the role")
		require.Len(t, look(t, w).Intents, 1)
		h.send(t, "alice", &sendRequest{ChannelId: h.open(t), To: ptr("role:tester")})
		require.False(t, wasWoken(w.listener), "no longer bob's role")
		w.Close()
		h.say(t, "alice", two, "c")
		require.False(t, wasWoken(w.listener))
		require.False(t, h.listensFor(wake.FeedTopic(oneNo)) || h.listensFor(wake.FeedTopic(twoNo)) || h.listensFor(wake.AgentTopic("bob")))
		require.Empty(t, h.messaging.catchments.of)
		require.Empty(t, h.messaging.catchments.byGroup)
	})
}

// All watches of an agent share one listener and one reading. Each is told what has happened since its own latest look.
func TestWatchesOfAnAgentShareAReading(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		var no [2]int64
		var channels [2]string
		for i := range channels {
			channels[i] = h.open(t)
			h.say(t, "bob", channels[i], "so that bob takes part")
			no[i] = h.key(t, channels[i]).IntentNo
		}
		often, seldom := h.messaging.Watch(Watched{Agent: "bob"}), h.messaging.Watch(Watched{Agent: "bob"})
		defer often.Close()
		require.Len(t, h.messaging.catchments.of, 1)
		require.Empty(t, h.messaging.hub.GroupsOf(wake.FeedTopic(no[0])))
		look(t, often)
		require.Len(t, h.messaging.hub.GroupsOf(wake.FeedTopic(no[0])), 1)
		look(t, seldom)
		h.say(t, "alice", channels[0], "a")
		require.Equal(t, map[int64]Move{no[0]: {Since: 2, Addressed: true}}, look(t, often).Intents)
		h.say(t, "alice", channels[0], "b")
		h.say(t, "alice", channels[1], "c")
		require.Equal(t, map[int64]Move{no[0]: {Since: 3, Addressed: true}, no[1]: {Since: 2, Addressed: true}}, look(t, often).Intents)
		var counts readCounts
		moves, err := seldom.Look(context.WithValue(context.Background(), countedBy{}, &counts))
		require.NoError(t, err)
		require.Equal(t, map[int64]Move{no[0]: {Since: 2, Addressed: true}, no[1]: {Since: 2, Addressed: true}}, moves.Intents)
		require.Zero(t, counts.statements.Load(), "it was read before")
		seldom.Close()
		require.Len(t, h.messaging.catchments.of, 1)
		h.say(t, "alice", channels[1], "d")
		require.Equal(t, map[int64]Move{no[1]: {Since: 3, Addressed: true}}, look(t, often).Intents)
	}, countingReads)
}

// An intent that is said to begin to reach an agent, and does not any more when that is read, is not listened for.
func TestAWatchForgetsWhatNoLongerReachesTheAgent(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		w := h.messaging.Watch(Watched{Agent: "bob"})
		defer w.Close()
		look(t, w)
		const gone = 1 << 40
		h.messaging.hub.WakeUp(wake.Reached{Audience: "bob", IntentNo: gone})
		require.Empty(t, look(t, w).Intents)
		require.False(t, h.listensFor(wake.FeedTopic(gone)) || h.listensFor(wake.IntentTopic(gone)))
		no := h.key(t, h.asks(t, "alice", h.open(t), "bob").GetChannelId()).IntentNo
		require.Len(t, look(t, w).Intents, 1)
		require.True(t, h.listensFor(wake.FeedTopic(no)))
		require.Empty(t, w.catchment.heard)
	})
}

// What a failed reading did not find out, the next one does, for all watches, and it reads no more for that.
func TestALookAfterAFailedOneMissesNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		var channels []string
		for range 30 {
			channels = append(channels, h.open(t))
			h.say(t, "bob", channels[len(channels)-1], "so that bob takes part")
		}
		w, other := h.messaging.Watch(Watched{Agent: "bob"}), h.messaging.Watch(Watched{Agent: "bob"})
		defer w.Close()
		defer other.Close()
		look(t, w)
		look(t, other)
		h.asks(t, "alice", channels[3], "bob")
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		for range 5 {
			_, err := other.Look(gone)
			require.Error(t, err)
		}
		var counts readCounts
		moves, err := w.Look(context.WithValue(context.Background(), countedBy{}, &counts))
		require.NoError(t, err)
		require.Len(t, moves.Intents, 1)
		require.Less(t, counts.rows.Load(), int64(10))
		require.Equal(t, moves, look(t, other))
	}, countingReads)
}

// What happens in an intent, and that a further one begins to reach an agent, costs the same however many intents reach the agent.
func TestALookReadsWhatMovedAlone(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		var channels []string
		for range 60 {
			channels = append(channels, h.open(t))
			h.say(t, "bob", channels[len(channels)-1], "so that bob takes part")
		}
		w := h.messaging.Watch(Watched{Agent: "bob"})
		defer w.Close()
		look(t, w)
		for what, happens := range map[string]func(){
			"a message":                  func() { h.asks(t, "alice", channels[7], "bob") },
			"one between others":         func() { h.asks(t, "alice", channels[7], "carol") },
			"other rules":                func() { h.addMember(t, channels[7], "carol") },
			"an intent that addresses":   func() { h.asks(t, "alice", h.open(t), "bob") },
			"an intent that lists":       func() { h.explicit(t, "creator", "bob") },
			"an intent where bob speaks": func() { h.say(t, "bob", h.open(t), "") },
			"the same record":            func() { h.messaging.hub.WakeUp(wake.AgentTopic("bob")) },
		} {
			happens()
			var counts readCounts
			_, err := w.Look(context.WithValue(context.Background(), countedBy{}, &counts))
			require.NoError(t, err, what)
			require.Positive(t, counts.statements.Load(), what)
			require.Less(t, counts.rows.Load(), int64(20), what)
		}
		require.Len(t, w.After(0, 1000), 63)
		require.True(t, slices.IsSorted(w.After(0, 1000)))
	}, countingReads)
}

// countedBy is the key of a context under which countingReads finds where it counts what is read in the context.
type countedBy struct{}

type readCounts struct{ statements, rows atomic.Int64 }

// countingReads counts the statements of contexts that ask for that, and the rows that they return.
func countingReads(cfg *database.Config, _ *Config) {
	cfg.Hooks.Statement = func(ctx context.Context, _ string) func() {
		counts, counted := ctx.Value(countedBy{}).(*readCounts)
		if !counted {
			return nil
		}
		counts.statements.Add(1)
		return func() { counts.rows.Add(1) }
	}
}

// What others say to each other is not worth a look, until it is much. Whoever looks then is told from where on.
func TestWatchesAreNotToldOfLittle(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.say(t, "bob", id, "so that bob takes part")
		no := h.key(t, id).IntentNo
		w := h.messaging.Watch(Watched{Agent: "bob"})
		defer w.Close()
		w.Subscription(7)
		isWorth := func() bool {
			worth, err := w.Worth(t.Context())
			require.NoError(t, err)
			return worth
		}
		require.True(t, isWorth(), "it has not looked yet")
		look(t, w)
		require.False(t, isWorth())
		through := w.catchment.intents[no].lastPosition
		for what, happens := range map[string]func(){
			"a message":         func() { h.asks(t, "alice", id, "carol") },
			"one to a role":     func() { h.asks(t, "alice", id, "role:judge") },
			"an event":          func() { h.log(t, h.channel(t, id).GetIntentId(), "thought") },
			"elsewhere":         func() { h.asks(t, "alice", h.open(t), "carol") },
			"another's waiting": func() { h.messaging.WakeSubscription(8) },
		} {
			happens()
			require.False(t, isWorth(), what)
		}
		require.Equal(t, through+3, w.catchment.intents[no].lastPosition)
		require.Empty(t, look(t, w).Intents)
		for what, happens := range map[string]func(){
			"a message":       func() { h.asks(t, "alice", id, "bob") },
			"one to everyone": func() { h.say(t, "alice", id, "hello") },
			"one's own":       func() { h.say(t, "bob", id, "hello") },
			"an assignment": func() {
				_, err := h.intents.AssignAgent(asOperator(), &openintentv1.AssignAgentRequest{
					IntentId: h.channel(t, id).GetIntentId(), AgentId: "bob",
				})
				require.NoError(t, err)
			},
			"other rules":        func() { h.admit(t, h.channel(t, id).GetIntentId(), "alice", "bob", "carol") },
			"the agent's role":   func() { h.register(t, "bob", "tester") },
			"a further intent":   func() { h.asks(t, "alice", h.open(t), "bob") },
			"a waiting of one's": func() { h.messaging.WakeSubscription(7) },
		} {
			happens()
			require.True(t, isWorth(), what)
			look(t, w)
			require.False(t, isWorth(), what)
		}
		through = w.catchment.intents[no].lastPosition
		for !isWorth() {
			h.asks(t, "alice", id, "carol")
		}
		require.Equal(t, map[int64]Move{no: {Since: through}}, look(t, w).Intents)
		require.Equal(t, through+quietSpan, w.catchment.intents[no].lastPosition)
	})
}

// A watch that has very much to look at looks at everything, so that nothing grows with the intents.
func TestAWatchNotesAFewMoves(t *testing.T) {
	var moves Moves
	for no := range int64(maxMoves) {
		moves.note(no, Move{Since: 7})
		moves.note(no, Move{Since: 9, Ruled: no == 1})
	}
	require.Len(t, moves.Intents, maxMoves)
	require.Equal(t, Move{Since: 7}, moves.Intents[0])
	require.Equal(t, Move{Since: 7, Ruled: true}, moves.Intents[1])
	moves.note(maxMoves, Move{})
	require.Equal(t, Moves{All: true}, moves)
	moves.note(1, Move{})
	require.Equal(t, Moves{All: true}, moves)
}

// A change that names an agent wakes it, before anybody sends it a message there.
func TestWatchesWakeForIntentsThatComeToNameTheAgent(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID, channelID := h.intent(t), h.explicit(t, "carol")
		w := h.messaging.Watch(Watched{Agent: "bob"})
		t.Cleanup(w.Close)
		look(t, w)
		for _, named := range []struct {
			name  string
			cause func() error
		}{
			{"created", func() error {
				_, err := h.intents.CreateIntent(as("bob"), &openintentv1.CreateIntentRequest{Title: "Bob's"})
				return err
			}},
			{"assigned", func() error {
				_, err := h.intents.AssignAgent(asOperator(), &openintentv1.AssignAgentRequest{IntentId: intentID, AgentId: "bob"})
				return err
			}},
			{"granted access", func() error {
				_, err := h.intents.CreateAccessEntry(asOperator(), &openintentv1.CreateAccessEntryRequest{
					IntentId: intentID, PrincipalId: "bob", Permission: openintentv1.Permission_PERMISSION_READ,
				})
				return err
			}},
			{"coordinating", func() error {
				_, err := h.intents.CreateCoordinator(asOperator(), &openintentv1.CreateCoordinatorRequest{
					IntentId: &intentID, AgentId: ptr("bob"),
				})
				return err
			}},
			{"added", func() error {
				_, err := h.channels.AddChannelMembers(asOperator(), &openintentv1.AddChannelMembersRequest{
					ChannelId: channelID, Members: []string{"bob"},
				})
				return err
			}},
			{"listed at once", func() error {
				_, err := h.channels.CreateChannel(asOperator(), &createRequest{
					IntentId: intentID, Name: "with bob", Members: []string{"bob"},
				})
				return err
			}},
			{"listed anew", func() error {
				_, err := h.channels.UpdateChannel(asOperator(), &openintentv1.UpdateChannelRequest{
					Channel:    &openintentv1.Channel{Id: channelID, Members: []string{"carol", "bob"}},
					UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"members"}},
				})
				return err
			}},
		} {
			require.NoError(t, named.cause(), named.name)
			select {
			case <-w.C():
			default:
				require.Fail(t, "nothing woke", named.name)
			}
		}
		_, err := h.intents.CreateAccessEntry(asOperator(), &openintentv1.CreateAccessEntryRequest{
			IntentId: intentID, PrincipalId: "bob", Permission: openintentv1.Permission_PERMISSION_READ,
			PrincipalType: ptr(openintentv1.PrincipalType_PRINCIPAL_TYPE_GROUP),
		})
		require.NoError(t, err)
		require.Empty(t, w.C(), "that bob is a group")
	})
}
