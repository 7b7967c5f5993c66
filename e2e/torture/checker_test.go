package torture

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// fromSeed draws from a generator with this seed.
func fromSeed(seed uint64) func(what string, n int) int {
	random := rand.New(rand.NewPCG(seed, 0))
	return func(_ string, n int) int { return random.IntN(n) }
}

// fromRapid draws values that rapid can shrink.
func fromRapid(t *rapid.T) func(what string, n int) int {
	return func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(t, what) }
}

func kinds(findings []Finding) (found []Kind) {
	for _, finding := range findings {
		found = append(found, finding.Kind)
	}
	return found
}

// TestRightHistoriesPass checks histories that are long enough to contain every outcome.
func TestRightHistoriesPass(t *testing.T) {
	for seed := range uint64(20) {
		h := simulate(600, fromSeed(seed))
		require.Empty(t, Check(h), "seed %d", seed)
		require.Empty(t, Missing(h), "seed %d", seed)
	}
}

// TestEachFaultIsFound puts each fault into five histories that have a place for it.
func TestEachFaultIsFound(t *testing.T) {
	for _, fault := range allPlants() {
		t.Run(fault.name, func(t *testing.T) {
			put := 0
			for seed := uint64(0); put < 5; seed++ {
				require.Less(t, seed, uint64(50), "too few histories have a place for the fault")
				draw := fromSeed(seed)
				h := simulate(600, draw)
				if !fault.put(h, draw) {
					continue
				}
				put++
				require.Contains(t, kinds(Check(h)), fault.kind, "seed %d", seed)
				if fault.kind == Lost {
					require.NotEmpty(t, Missing(h), "seed %d", seed)
				}
			}
		})
	}
}

// TestFaultsAreFoundInAnyHistory draws histories and one fault for each.
func TestFaultsAreFoundInAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := fromRapid(t)
		h := simulate(draw("steps", 150), draw)
		require.Empty(t, Check(h))
		faults := allPlants()
		fault := faults[draw("fault", len(faults))]
		if fault.put(h, draw) {
			require.Contains(t, kinds(Check(h)), fault.kind, fault.name)
		}
	})
}

// received makes a history of a channel with three messages, of which eve receives some, under the given numbers. She is not a member of the
// channel from tick 21 to 32. No replica was frozen.
func received(guarantee Guarantee, messages, numbers []int64) *History {
	member := Right{Agent: "eve", Kind: Membership, Of: "explicit", Granted: Span{1, 2}, Withdrawn: Span{21, 22}}
	again := Right{Agent: "eve", Kind: Membership, Of: "explicit", Granted: Span{31, 32}}
	h := &History{
		Intents: map[string]Intent{plainIntent: {}}, Channels: map[string]Channel{"explicit": {Intent: plainIntent, Explicit: true}},
		Rights: []Right{member, again},
	}
	for number := range int64(3) {
		h.Sends = append(h.Sends, &Send{
			Sender: "ann", Intent: plainIntent, Channel: "explicit", To: everyone, Kind: Notify, Content: fmt.Sprint("content ", number),
			ID: fmt.Sprint("message ", number), Acknowledged: true, Span: Span{Tick(10 + 2*number), Tick(11 + 2*number)},
		})
	}
	connection := &Connection{Begun: 3}
	for i, number := range messages {
		send := h.Sends[number-1]
		m := &Message{
			ID: send.ID, Intent: send.Intent, Channel: send.Channel, Sender: send.Sender, To: send.To, Kind: send.Kind, Content: send.Content, At: number,
		}
		connection.Deliveries = append(connection.Deliveries, Delivery{Message: m, Cursor: numbers[i], At: []Tick{40, 60, 70}[i]})
	}
	h.Receivers = []*Receiver{{
		Name: "eve", Guarantee: guarantee, Agent: "eve", Intent: plainIntent, From: 3, Connections: []*Connection{connection},
	}}
	return h
}

// TestAFreezeExcusesOneLatePost posts three messages of a channel, beginning with the third.
func TestAFreezeExcusesOneLatePost(t *testing.T) {
	posts := func(numbers ...int64) *History {
		h := received(InOrder, numbers, numbers)
		h.Freezes = []Span{{20, 50}}
		return h
	}
	require.Empty(t, Check(posts(3, 1)))
	require.Equal(t, []Kind{Reordered}, kinds(Check(posts(3, 1, 2))), "the frozen replica can have begun only one post")
	for name, change := range map[string]func(h *History){
		"no replica was frozen":          func(h *History) { h.Freezes = nil },
		"the freeze was earlier":         func(h *History) { h.Freezes[0] = Span{4, 5} },
		"the freeze was later":           func(h *History) { h.Freezes[0].Begun = 41 },
		"the freeze had not ended":       func(h *History) { h.Freezes[0].Ended = 61 },
		"the send was during the freeze": func(h *History) { h.Freezes[0].Begun = 9 },
		"eve saw it the whole time":      func(h *History) { h.Rights = []Right{{Agent: "eve", Kind: Membership, Of: "explicit"}} },
		"eve fetches the messages":       func(h *History) { h.Receivers[0].Guarantee = AtLeastOnce },
	} {
		h := posts(3, 1)
		change(h)
		require.Contains(t, kinds(Check(h)), Reordered, name)
	}
}

// TestWhatWasReadAgainMayComeLate delivers the first message behind the third one, under a higher number, as a stream does that takes over
// from one that was not shown the first one.
func TestWhatWasReadAgainMayComeLate(t *testing.T) {
	again := func() *History { return received(AtLeastOnce, []int64{3, 1}, []int64{3, 1001}) }
	require.Empty(t, Check(again()))
	for name, change := range map[string]func(h *History){
		"eve saw it the whole time": func(h *History) { h.Rights = []Right{{Agent: "eve", Kind: Membership, Of: "explicit"}} },
		"its number is lower":       func(h *History) { h.Receivers[0].Connections[0].Deliveries[1].Cursor = 1 },
		"eve has a webhook":         func(h *History) { h.Receivers[0].Guarantee = InOrder },
	} {
		h := again()
		change(h)
		require.Contains(t, kinds(Check(h)), Reordered, name)
	}
}

// TestWhatWasReadLateMayBeAnEarlierAttempt has two programs of eve receive one number, the second of them what had reached it long before.
func TestWhatWasReadLateMayBeAnEarlierAttempt(t *testing.T) {
	late := func() *History {
		h := received(AtLeastOnce, []int64{1}, []int64{1})
		r := h.Receivers[0]
		first := r.Connections[0]
		first.Deliveries[0].Attempt = 9
		delivery := first.Deliveries[0]
		second := &Connection{Begun: 4}
		for i, attempt := range []int{1, 2} {
			delivery.Attempt, delivery.At = attempt, Tick(50+10*i)
			second.Deliveries = append(second.Deliveries, delivery)
		}
		delivery.Attempt, delivery.At = 10, 55
		first.Deliveries = append(first.Deliveries, delivery)
		r.Connections = append(r.Connections, second)
		return h
	}
	require.Empty(t, Check(late()))
	for name, change := range map[string]func(first, second *Connection){
		"the second connection began later": func(_, second *Connection) { second.Begun = 41 },
		"its attempts do not rise":          func(_, second *Connection) { second.Deliveries[1].Attempt = 1 },
		"it is the same attempt":            func(_, second *Connection) { second.Deliveries[0].Attempt = 9 },
		"it was one connection": func(first, second *Connection) {
			first.Deliveries, second.Deliveries = append(first.Deliveries[:1], second.Deliveries...), nil
		},
	} {
		h := late()
		connections := h.Receivers[0].Connections
		change(connections[0], connections[1])
		require.Contains(t, kinds(Check(h)), Doubled, name)
	}
}
