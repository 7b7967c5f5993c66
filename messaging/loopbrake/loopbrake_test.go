package loopbrake

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"openintent/internal/caller"
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
	if p.braked != 0 && at-p.braked < BrakeTime.Microseconds() && alone {
		return true, false
	}
	if p.braked != 0 || !alone || budget != p.budget {
		*p = plainDialogue{budget: budget}
	}
	if agent == caller.Operator {
		*p = plainDialogue{budget: budget}
		return false, false
	}
	lately := slices.DeleteFunc(slices.Clone(p.said), func(one said) bool { return at-one.at >= BrakeTime.Microseconds() })
	if recently := (&plainDialogue{said: lately}).agents(); len(lately) >= budget && len(recently) == 2 {
		p.braked = at
		return true, true
	}
	p.said = append(p.said, said{agent, at})
	return false, false
}

func TestADialogueDoesWhatAPlainOneDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var fast Dialogue
		plain, budget := plainDialogue{}, 3
		at := int64(1)
		for range rapid.IntRange(1, 120).Draw(t, "messages") {
			at += int64(rapid.IntRange(0, 130).Draw(t, "seconds")) * time.Second.Microseconds()
			if rapid.IntRange(0, 40).Draw(t, "changes") == 0 {
				budget = rapid.IntRange(2, 6).Draw(t, "budget")
			}
			by := rapid.SampledFrom([]string{"alice", "bob", "alice", "bob", "alice", "bob", "alice", "bob", "carol", caller.Operator}).Draw(t, "by")
			braked, first := fast.Turn(by, time.UnixMicro(at), Budget{budget, BrakeTime})
			wantBraked, wantFirst := plain.turn(by, at, budget)
			require.Equal(t, wantBraked, braked)
			require.Equal(t, wantFirst, first)
		}
	})
}

func TestAClockThatIsSetBackEndsABrake(t *testing.T) {
	var d Dialogue
	at, within := time.Hour.Microseconds(), BrakeTime.Microseconds()
	for i := range 4 {
		d.Turn([]string{"alice", "bob"}[i%2], time.UnixMicro(at), Budget{2, BrakeTime})
	}
	require.True(t, d.stands(at-time.Second.Microseconds(), within))
	require.False(t, d.stands(at-within, within))
	require.True(t, d.stands(at-within+1, within))
	require.True(t, d.stands(at+within-1, within))
	require.False(t, d.stands(at+within, within))
}

// What was said a brake's time ago does not count any more, for either agent and for the budget.
func TestADialogueForgetsWhatWasSaidABrakesTimeAgo(t *testing.T) {
	within := BrakeTime.Microseconds()
	for name, test := range map[string]struct {
		last     [2]int64
		oldest   int64
		exceeded bool
	}{
		"all of it just now": {[2]int64{within + 1, within + 1}, within + 1, true},
		"the first agent":    {[2]int64{within, within + 1}, within + 1, false},
		"the second agent":   {[2]int64{within + 1, within}, within + 1, false},
		"the oldest message": {[2]int64{within + 1, within + 1}, within, false},
	} {
		d := Dialogue{agents: [2]string{"alice", "bob"}, last: test.last, turns: ring{times: []int64{test.oldest, 2 * within}}}
		require.Equal(t, test.exceeded, d.exceeded(2*within, within), name)
	}
}

func TestABrakeHoldsBackWhatTwoAgentsExchangeBeyondTheBudget(t *testing.T) {
	// Each letter is a message of that agent, one second after the one before; a dash is a minute of silence. Upper case is braked.
	for _, course := range []string{
		"ababABAB", "aaaaaaa", "abbbB", "aabaBA", // one agent alone exchanges nothing
		"ababABcabcabcc", "ababAc", // a third one ends the brake
		"ababAB-ababAB", "aba-babaBA", // and so does time
		"a-bbbbbb", "ba-bbbbbb", // the other one has been silent for too long
	} {
		var d Dialogue
		var got strings.Builder
		at := time.UnixMicro(1)
		for _, letter := range course {
			if letter == '-' {
				at = at.Add(time.Minute)
				got.WriteRune(letter)
				continue
			}
			at = at.Add(time.Second)
			agent := strings.ToLower(string(letter))
			if braked, _ := d.Turn(agent, at, Budget{4, time.Minute}); braked {
				agent = strings.ToUpper(agent)
			}
			got.WriteString(agent)
		}
		require.Equal(t, course, got.String())
	}
}

func TestWhatIsForOthersLeavesADialogue(t *testing.T) {
	var d Dialogue
	d.begin(Budget{2, BrakeTime})
	require.False(t, d.Leaves("alice", "carol", nil), "anybody can still become the second")
	d.count("alice", 1)
	d.count("bob", 2)
	require.False(t, d.Leaves("alice", "", nil))
	require.False(t, d.Leaves("alice", "*", nil))
	require.False(t, d.Leaves("alice", "bob", &message.Conversation{Mentions: []string{"alice", "bob"}}))
	require.True(t, d.Leaves("alice", "carol", nil))
	require.True(t, d.Leaves("alice", "role:reviewer", nil))
	require.True(t, d.Leaves("alice", "*", &message.Conversation{Mentions: []string{"bob", "carol"}}))
	require.True(t, d.Leaves("alice", "bob", &message.Conversation{Mentions: []string{"role:reviewer"}}))
	require.False(t, d.Leaves("carol", "dave", nil), "she is none of the two, so the dialogue begins anew with her message")
}

func TestAMessageCountsInItsThreadOrInItsChannel(t *testing.T) {
	inThread := &message.Conversation{ThreadPosition: 7}
	for _, test := range []struct {
		kind   message.Type
		said   *message.Conversation
		place  Place
		counts bool
	}{
		{message.TypeNotify, nil, Place{1, 0}, true},
		{message.TypeRequest, &message.Conversation{Subject: "s"}, Place{1, 0}, true},
		{message.TypeNotify, inThread, Place{1, 7}, true},
		{message.TypeResponse, inThread, Place{1, 7}, true},
		{message.TypeResponse, nil, Place{1, 0}, false},
	} {
		place, counts := PlaceOf(1, test.kind, test.said)
		require.Equal(t, test.place, place)
		require.Equal(t, test.counts, counts)
	}
}

func TestAThreadBeginsWithWhatIsKnownOfIt(t *testing.T) {
	recalled := func(parent *message.Message) []string {
		var d Dialogue
		d.Recall(parent, 7, Budget{3, BrakeTime})
		return d.Agents()
	}
	require.Equal(t, []string{"alice", ""}, recalled(&message.Message{Position: 7, Sender: "alice", Target: "bob"}))
	require.Equal(t, []string{"alice", "bob"}, recalled(&message.Message{Position: 8, CorrelationPosition: 7, Sender: "bob", Target: "alice"}))
	require.Equal(t, []string{"", ""}, recalled(&message.Message{Position: 9, Sender: "bob", Target: "alice"}), "it stands deep in the thread")
	require.Equal(t, []string{"", ""}, recalled(&message.Message{Position: 7, Sender: caller.System}), "the server is no agent")
	require.Equal(t, []string{"bob", ""}, recalled(&message.Message{Position: 8, CorrelationPosition: 7, Sender: "bob", Target: caller.Operator}))
}
