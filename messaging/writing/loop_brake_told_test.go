package writing

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/channels"
	"openintent/intents"
	"openintent/messaging/message"
)

// braking is a batch that counts turns in one channel of one intent, and the messages that its drafts name.
type braking struct {
	*batch
	head    *intents.Head
	channel *channels.Rules
}

func newBraking(budget int64) *braking {
	return &braking{
		batch: &batch{
			Writer: &Writer{brakes: newBrakes()},
			state:  state{requests: make(map[string]*message.Message), parents: make(map[sighting]*message.Message)},
		},
		head:    &intents.Head{IntentNo: 1, LastAt: someTime},
		channel: &channels.Rules{Key: channels.Key{IntentNo: 1, ChannelNo: 7}, TurnBudget: budget},
	}
}

// say counts what a sender tells an addressee, and returns the draft and whose brake it puts on.
func (b *braking) say(sender, target string, change func(d *Draft)) (d *Draft, agents []string) {
	d = draftBy(sender)
	d.Target = target
	if change != nil {
		change(d)
	}
	return d, b.brake(b.head, b.channel, d)
}

func isBraked(d *Draft) bool { return d.conversation != nil && d.conversation.Braked }

func TestTheFirstBrakedDraftNamesTheTwoAgents(t *testing.T) {
	b := newBraking(2)
	for i, names := range [][2]string{{"alice", "bob"}, {"bob", "alice"}, {"alice", "bob"}, {"bob", "alice"}} {
		d, agents := b.say(names[0], names[1], nil)
		require.Equal(t, i >= 2, isBraked(d), i)
		if i == 2 {
			require.Equal(t, []string{"alice", "bob"}, agents)
		} else {
			require.Nil(t, agents, i)
		}
	}
}

func TestWhatIsNoTurn(t *testing.T) {
	for name, row := range map[string]struct {
		budget int64
		target string
		change func(d *Draft)
	}{
		"nothing counts without a budget":  {0, "bob", nil},
		"an answer outside of threads":     {1, "bob", func(d *Draft) { d.MessageType = message.TypeResponse }},
		"what is for somebody else":        {1, "carol", nil},
		"what mentions somebody else":      {1, "bob", func(d *Draft) { d.conversation = &message.Conversation{Mentions: []string{"carol"}} }},
		"in another channel of the intent": {1, "bob", nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBraking(2)
			for _, names := range [][2]string{{"alice", "bob"}, {"bob", "alice"}} {
				b.say(names[0], names[1], nil)
			}
			b.channel.TurnBudget = 2 * row.budget
			if name == "in another channel of the intent" {
				b.channel.ChannelNo++
			}
			d, agents := b.say("alice", row.target, row.change)
			require.False(t, isBraked(d))
			require.Nil(t, agents)
		})
	}
}

// The first message of a thread of which nothing is remembered counts, and an answer is found by its request.
func TestAThreadIsRecalledByTheMessageAbove(t *testing.T) {
	const requestID, parentID = "msg_01ARZ3NDEKTSV4RRFFQ69G5FAV", "msg_01ARZ3NDEKTSV4RRFFQ69G5FAW"
	in := func(root int64) *message.Conversation { return &message.Conversation{ThreadPosition: root} }
	for name, change := range map[string]func(d *Draft){
		"below a message": func(d *Draft) {
			d.conversation, d.given = in(5), &message.Conversation{ParentID: parentID}
		},
		"as an answer": func(d *Draft) {
			d.conversation, d.MessageType, d.CorrelationID = in(5), message.TypeResponse, requestID
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBraking(2)
			above := &message.Message{Position: 5, Sender: "alice", Target: "bob", CreatedAt: someTime.Add(-time.Minute)}
			b.parents[sighting{parentID, "bob"}], b.requests[requestID] = above, above
			first, _ := b.say("bob", "alice", change)
			require.False(t, isBraked(first))
			b.parents[sighting{parentID, "alice"}] = above
			next, agents := b.say("alice", "bob", func(d *Draft) { d.conversation = in(5) })
			require.True(t, isBraked(next), "the message above and the one below use the budget up")
			require.Equal(t, []string{"alice", "bob"}, agents)
		})
	}
}
