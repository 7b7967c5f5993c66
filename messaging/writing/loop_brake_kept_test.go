package writing

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"openintent/messaging/loopbrake"
	"openintent/messaging/message"
)

// within is a budget of so many turns in a server's time.
func within(turns int) loopbrake.Budget {
	return loopbrake.Budget{Turns: turns, Within: loopbrake.BrakeTime}
}

// What a failed attempt has counted is taken back, wherever it wrote in the ring.
func TestBrakesTakeBackWhatFailed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBrakes()
		var plain loopbrake.Dialogue
		at := time.UnixMicro(1)
		draw := func() (by string, budget loopbrake.Budget) {
			at = at.Add(time.Duration(rapid.IntRange(0, 350).Draw(t, "seconds")) * time.Second)
			return rapid.SampledFrom([]string{"alice", "bob", "alice", "bob", "carol"}).Draw(t, "by"),
				within(rapid.SampledFrom([]int{3, 3, 3, 3, 4}).Draw(t, "budget"))
		}
		for range rapid.IntRange(1, 30).Draw(t, "batches") {
			d, _ := b.dialogue(1, loopbrake.Place{})
			fails := rapid.Bool().Draw(t, "fails")
			for range rapid.IntRange(0, 6).Draw(t, "messages") {
				by, budget := draw()
				braked, first := b.turn(d, by, at, budget)
				if fails {
					continue
				}
				wantBraked, wantFirst := plain.Turn(by, at, budget)
				require.Equal(t, wantBraked, braked)
				require.Equal(t, wantFirst, first)
			}
			if fails {
				b.takeBack()
			} else {
				b.keep()
			}
		}
	})
}

func TestBrakesAreBounded(t *testing.T) {
	b := newBrakes()
	own, _ := b.dialogue(1, loopbrake.Place{ChannelNo: 7})
	for n := range int64(3 * brakedPlaces) {
		b.dialogue(2, loopbrake.Place{Root: n})
	}
	places, _ := b.intents.Get(2)
	require.Equal(t, brakedPlaces, places.Len())
	kept, known := b.dialogue(1, loopbrake.Place{ChannelNo: 7})
	require.True(t, known, "another intent pushes nothing out")
	require.Same(t, own, kept)
	for n := range int64(2 * brakedIntents) {
		b.dialogue(n, loopbrake.Place{})
	}
	require.Equal(t, brakedIntents, b.intents.Len())
}

func TestATurnAllocatesNothing(t *testing.T) {
	b := newBrakes()
	at := int64(1)
	agents := []string{"alice", "bob", "carol"}
	say := func() {
		d, _ := b.dialogue(1, loopbrake.Place{})
		b.turn(d, agents[at%3], time.UnixMicro(at), within(20))
		b.keep()
		at++
	}
	say()
	require.Zero(t, testing.AllocsPerRun(100, say))
}

// A turn of a crowd whose agents are known allocates nothing, and what is no turn asks nothing.
func TestATurnOfACrowdAllocatesNothing(t *testing.T) {
	b, crowd, at := newBrakes(), loopbrake.NewCrowd(), int64(1)
	agents := []string{"alice", "bob", "carol"}
	ask := func() {
		turn := loopbrake.Turn{Sender: agents[at%3], Target: agents[(at+1)%3], At: time.UnixMicro(at)}
		b.note(crowd, turn, crowd.Counts(turn, loopbrake.BrakeTime), within(20))
		b.keep()
		at++
	}
	for range 5 {
		ask()
	}
	require.Zero(t, testing.AllocsPerRun(100, ask))

	talk := newBraking(2)
	notify := draftBy("alice")
	notify.MessageType = message.TypeNotify
	require.Zero(t, testing.AllocsPerRun(100, func() {
		require.NoError(t, talk.heedBudget(talk.head, talk.channel, notify))
		talk.noteTurn(talk.head, talk.channel, notify)
		_, _, counts := talk.placeOfTurn(notify)
		require.False(t, counts)
	}))
	require.Nil(t, talk.brakes.known(1, loopbrake.Place{ChannelNo: 7}), "nor is anything kept of it")
}
