package replay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/caller"
	"openintent/messaging/message"
)

var noon = time.Date(2026, 6, 2, 12, 0, 0, 0, time.UTC)

// exchange is a log of one channel, and what a brake with a budget of two turns does in it.
type exchange struct {
	*turns
	said int64
}

func newExchange() *exchange {
	budget := 2
	return &exchange{turns: newTurns(Rules{TurnBudget: &budget, TurnSeconds: 600}, nil)}
}

// says adds a message, and tells whether it is braked.
func (e *exchange) says(sender, to string, change func(m *message.Message)) bool {
	e.said++
	m := &message.Message{
		ID: string(rune('m' + e.said)), Position: e.said, ChannelNo: 1, ChannelID: "c", Sender: sender, Target: to, Type: message.TypeNotify,
		CreatedAt: noon.Add(time.Duration(e.said) * time.Second),
	}
	if change != nil {
		change(m)
	}
	return e.braked(m)
}

func below(parent string, root int64) func(m *message.Message) {
	return func(m *message.Message) {
		m.Conversation = &message.Conversation{ParentID: parent, ThreadID: "root", ThreadPosition: root}
	}
}

func TestWhatTheServerSaysIsNoTurn(t *testing.T) {
	e := newExchange()
	require.False(t, e.says("a", "b", nil))
	require.False(t, e.says(caller.System, caller.Broadcast, nil), "it tells that a third one has left")
	require.False(t, e.says("b", "a", nil))
	require.True(t, e.says("a", "b", nil))
	require.False(t, e.says("a", "c", nil), "it is for somebody else")
	require.False(t, e.says(caller.Operator, "a", nil))
	require.False(t, e.says("a", "b", nil), "the operator has ended the brake")
}

func TestAThreadBeginsWithTheMessageUnderWhichItStands(t *testing.T) {
	e := newExchange()
	require.False(t, e.says("a", "b", func(m *message.Message) { m.Type = message.TypeRequest }))
	root := e.said
	require.False(t, e.says("b", "a", func(m *message.Message) {
		m.Type, m.CorrelationID, m.CorrelationPosition = message.TypeResponse, string(rune('m'+root)), root
	}), "an answer outside threads is no turn")
	answer := string(rune('m' + e.said))
	require.True(t, e.says("a", "b", below(answer, root)), "the request and its answer count below the answer")

	e = newExchange()
	require.False(t, e.says("a", "b", nil))
	require.False(t, e.says("b", "a", below("n", 1)), "the first message counts")
	require.True(t, e.says("a", "b", below("n", 1)))
	require.False(t, e.says("b", "a", nil), "the channel has a dialogue of its own")

	e = newExchange()
	require.False(t, e.says("a", "b", below("not read", 100)))
	require.False(t, e.says("b", "a", below("not read", 100)))
	require.True(t, e.says("a", "b", below("not read", 100)))
}

func TestEachChannelHasItsOwnBudgetUnlessTheRulesGiveOne(t *testing.T) {
	count := func(rules Rules, channel string) (free int) {
		turns := newTurns(rules, map[string]int{"brief": 2, "usual": 20, "free": 0})
		for i := range int64(30) {
			m := &message.Message{
				Position: i + 1, ChannelNo: 1, ChannelID: channel, Sender: []string{"a", "b"}[i%2], Type: message.TypeNotify,
				CreatedAt: noon.Add(time.Duration(i) * time.Second),
			}
			if !turns.braked(m) {
				free++
			}
		}
		return free
	}
	require.Equal(t, 2, count(Today(), "brief"))
	require.Equal(t, 20, count(Today(), "usual"))
	require.Equal(t, 30, count(Today(), "free"))
	budget := 5
	require.Equal(t, 5, count(Rules{TurnBudget: &budget, TurnSeconds: 600}, "usual"))
	require.Equal(t, 15, count(Rules{TurnBudget: &budget, TurnSeconds: 6}, "free"), "a brake lasts for six messages")
}
