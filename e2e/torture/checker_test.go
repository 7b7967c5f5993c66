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

// TestAFreezeExcusesOneLatePost posts three messages of a channel, beginning with the third. For a while, eve is not a member
// of that channel.
func TestAFreezeExcusesOneLatePost(t *testing.T) {
	member := Right{Agent: "eve", Kind: Membership, Of: "explicit", Granted: Span{1, 2}, Withdrawn: Span{21, 22}}
	again := Right{Agent: "eve", Kind: Membership, Of: "explicit", Granted: Span{31, 32}}
	posts := func(numbers ...int64) *History {
		h := &History{
			Intents: map[string]Intent{plainIntent: {}}, Channels: map[string]Channel{"explicit": {Intent: plainIntent, Explicit: true}},
			Rights: []Right{member, again}, Freezes: []Span{{20, 50}},
		}
		connection := &Connection{Begun: 3}
		var messages []*Message
		for number := range int64(3) {
			m := &Message{
				ID: fmt.Sprint("message ", number), Intent: plainIntent, Channel: "explicit", Sender: "ann", To: everyone, Kind: Notify,
				Content: fmt.Sprint("content ", number), At: number,
			}
			messages = append(messages, m)
			h.Sends = append(h.Sends, &Send{
				Sender: m.Sender, Intent: m.Intent, Channel: m.Channel, To: m.To, Kind: m.Kind, Content: m.Content, ID: m.ID,
				Acknowledged: true, Span: Span{Tick(10 + 2*number), Tick(11 + 2*number)},
			})
		}
		for i, number := range numbers {
			connection.Deliveries = append(connection.Deliveries, Delivery{
				Message: messages[number-1], Cursor: number, At: []Tick{40, 60, 70}[i],
			})
		}
		h.Receivers = []*Receiver{{
			Name: "eve's webhook", Guarantee: InOrder, Agent: "eve", Intent: plainIntent, From: 3, Connections: []*Connection{connection},
		}}
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
