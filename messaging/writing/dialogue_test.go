package writing

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"openintent/caller"
	"openintent/messaging/message"
)

// said is a message of a dialogue.
type said struct {
	by string
	at int64
}

// plainDialogue does what a dialogue does, and keeps all that was said.
type plainDialogue struct {
	said   []said
	braked int64
	budget int
}

func (p *plainDialogue) agents() []string {
	var agents []string
	for _, one := range p.said {
		if !slices.Contains(agents, one.by) {
			agents = append(agents, one.by)
		}
	}
	return agents
}

func (p *plainDialogue) turn(agent string, at int64, budget int) (braked, first bool) {
	agents := p.agents()
	alone := slices.Contains(agents, agent) || len(agents) < 2
	if p.braked != 0 && at-p.braked < brakeTime.Microseconds() && alone {
		return true, false
	}
	if p.braked != 0 || !alone || budget != p.budget {
		*p = plainDialogue{budget: budget}
	}
	if agent == caller.Operator {
		*p = plainDialogue{budget: budget}
		return false, false
	}
	lately := slices.DeleteFunc(slices.Clone(p.said), func(one said) bool { return at-one.at >= brakeTime.Microseconds() })
	if recently := (&plainDialogue{said: lately}).agents(); len(lately) >= budget && len(recently) == 2 {
		p.braked = at
		return true, true
	}
	p.said = append(p.said, said{agent, at})
	return false, false
}

func TestADialogueDoesWhatAPlainOneDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var fast dialogue
		plain, budget := plainDialogue{}, 3
		at := int64(1)
		for range rapid.IntRange(1, 120).Draw(t, "messages") {
			at += int64(rapid.IntRange(0, 130).Draw(t, "seconds")) * time.Second.Microseconds()
			if rapid.IntRange(0, 40).Draw(t, "changes") == 0 {
				budget = rapid.IntRange(2, 6).Draw(t, "budget")
			}
			by := rapid.SampledFrom([]string{"alice", "bob", "alice", "bob", "alice", "bob", "alice", "bob", "carol", caller.Operator}).Draw(t, "by")
			braked, first := fast.turn(by, at, budget)
			wantBraked, wantFirst := plain.turn(by, at, budget)
			require.Equal(t, wantBraked, braked)
			require.Equal(t, wantFirst, first)
		}
	})
}

func TestAClockThatIsSetBackEndsABrake(t *testing.T) {
	var d dialogue
	at := time.Hour.Microseconds()
	for i := range 4 {
		d.turn([]string{"alice", "bob"}[i%2], at, 2)
	}
	require.True(t, d.stands(at-time.Second.Microseconds()))
	require.False(t, d.stands(at-brakeTime.Microseconds()))
}

func TestWhatIsForOthersLeavesADialogue(t *testing.T) {
	var d dialogue
	d.begin(2)
	require.False(t, d.leaves("carol", nil), "anybody can still become the second")
	d.count("alice", 1)
	d.count("bob", 2)
	require.False(t, d.leaves("", nil))
	require.False(t, d.leaves("*", nil))
	require.False(t, d.leaves("bob", &message.Conversation{Mentions: []string{"alice", "bob"}}))
	require.True(t, d.leaves("carol", nil))
	require.True(t, d.leaves("role:reviewer", nil))
	require.True(t, d.leaves("*", &message.Conversation{Mentions: []string{"bob", "carol"}}))
	require.True(t, d.leaves("bob", &message.Conversation{Mentions: []string{"role:reviewer"}}))
}

// What a failed attempt has counted is taken back, wherever it wrote in the ring.
func TestBrakesTakeBackWhatFailed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBrakes()
		var plain dialogue
		at := int64(1)
		draw := func() (by string, budget int) {
			at += int64(rapid.IntRange(0, 100).Draw(t, "seconds")) * time.Second.Microseconds()
			return rapid.SampledFrom([]string{"alice", "bob", "alice", "bob", "carol"}).Draw(t, "by"),
				rapid.SampledFrom([]int{3, 3, 3, 3, 4}).Draw(t, "budget")
		}
		for range rapid.IntRange(1, 30).Draw(t, "batches") {
			d, _ := b.dialogue(1, dialoguePlace{})
			fails := rapid.Bool().Draw(t, "fails")
			for range rapid.IntRange(0, 6).Draw(t, "messages") {
				by, budget := draw()
				braked, first := b.turn(d, by, at, budget)
				if fails {
					continue
				}
				wantBraked, wantFirst := plain.turn(by, at, budget)
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
	own, _ := b.dialogue(1, dialoguePlace{channelNo: 7})
	for n := range int64(3 * brakedPlaces) {
		b.dialogue(2, dialoguePlace{root: n})
	}
	places, _ := b.intents.Get(2)
	require.Equal(t, brakedPlaces, places.Len())
	kept, known := b.dialogue(1, dialoguePlace{channelNo: 7})
	require.True(t, known, "another intent pushes nothing out")
	require.Same(t, own, kept)
	for n := range int64(2 * brakedIntents) {
		b.dialogue(n, dialoguePlace{})
	}
	require.Equal(t, brakedIntents, b.intents.Len())
}

func TestATurnAllocatesNothing(t *testing.T) {
	b := newBrakes()
	at := int64(1)
	agents := []string{"alice", "bob", "carol"}
	say := func() {
		d, _ := b.dialogue(1, dialoguePlace{})
		b.turn(d, agents[at%3], at, 20)
		b.keep()
		at++
	}
	say()
	require.Zero(t, testing.AllocsPerRun(100, say))
}
