package attention

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"pgregory.net/rapid"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/message"
)

// secret stands in the payload and the metadata of every drawn message.
const secret = "zanzibar"

func drawMessage(t *rapid.T) *message.Message {
	m := &message.Message{
		ID: "msg_1", ChannelID: "chan_1", Sender: "alice",
		Type:     rapid.SampledFrom([]message.Type{request, response, notice, broadcast}).Draw(t, "type"),
		Target:   rapid.SampledFrom([]string{"", "*", "bob", "role:reviewer"}).Draw(t, "target"),
		Payload:  []byte(`{"text":"` + rapid.SampledFrom([]string{"ok ", "@bob ", ""}).Draw(t, "text") + secret + `"}`),
		Metadata: []byte(`{"subject":"` + secret + `"}`),
	}
	if rapid.Bool().Draw(t, "plain") {
		return m
	}
	m.Conversation = &message.Conversation{
		Subject:      rapid.SampledFrom([]string{"", "the parser"}).Draw(t, "subject"),
		Kind:         rapid.SampledFrom([]string{"", "ack", "status", "progress", "log", "review.finding"}).Draw(t, "kind"),
		Priority:     rapid.SampledFrom([]message.Priority{"", "low", "high", "urgent"}).Draw(t, "priority"),
		Directedness: openintentv1.Directedness(rapid.Int32Range(0, 3).Draw(t, "directedness")),
		Policy:       openintentv1.ResponsePolicy(rapid.Int32Range(0, 4).Draw(t, "policy")),
		Braked:       rapid.Bool().Draw(t, "braked"),
	}
	if rapid.Bool().Draw(t, "collects") {
		m.Conversation.Collect = rapid.SampledFrom([]*message.Collect{
			{Collection: message.CollectAny}, {Collection: message.CollectOne}, {Collection: message.CollectAll},
			{Collection: message.CollectQuorum, Quorum: 2},
		}).Draw(t, "collect")
	}
	return m
}

func drawFacts(t *rapid.T) Facts {
	facts := Facts{
		Agent: "bob", ChannelName: "general",
		Relation: Relation{
			Addressed: rapid.Bool().Draw(t, "addressed"), ByRole: rapid.Bool().Draw(t, "by role"),
			Mentioned: rapid.Bool().Draw(t, "mentioned"), RoleMentioned: rapid.Bool().Draw(t, "role mentioned"),
			WroteInThread: rapid.Bool().Draw(t, "wrote in thread"),
		},
		EditedAfterResponse: rapid.Bool().Draw(t, "edited"), Owed: rapid.Bool().Draw(t, "owed"),
	}
	for _, holder := range rapid.SliceOfN(rapid.SampledFrom([]string{"bob", "carol", "dave"}), 0, 3).Draw(t, "holders") {
		ends := now.Add(time.Duration(rapid.IntRange(-5, 5).Draw(t, "ends")) * time.Second)
		facts.Claims = append(facts.Claims, Claim{Holder: holder, Fence: 4711, ExpiresAt: ends})
	}
	return facts
}

func TestTheWishNeverRaises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, facts := drawMessage(t), drawFacts(t)
		with := Judge(m, facts, now)
		if m.Conversation != nil {
			m.Conversation.Directedness, m.Conversation.Policy = 0, 0
		}
		without := Judge(m, facts, now)
		require.GreaterOrEqual(t, with.Directedness, without.Directedness)
		require.GreaterOrEqual(t, with.Policy, without.Policy)
		require.Equal(t, without.Injection, with.Injection)
		require.Equal(t, with.Verdict == without.Verdict, with.Reason != "sender_wish")
	})
}

// What must be answered is brought before the recipient, or knocks: no summary swallows it. What is owed must be answered, unless
// somebody else does that or the author itself asks for less.
func TestWhatMustBeAnsweredIsNeverQuieterThanAKnock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, facts := drawMessage(t), drawFacts(t)
		if facts.Owed && m.Conversation != nil {
			m.Conversation.Obligation = &message.Obligation{}
		}
		j := Judge(m, facts, now)
		if j.Policy == mustRespond {
			require.LessOrEqual(t, j.Injection, notify)
		}
		owes := facts.Owed && m.Type == request && (facts.Relation.Addressed || facts.Relation.ByRole)
		if owes && j.Reason != "claimed_by_other" && j.Reason != "sender_wish" && j.Reason != "edited_after_response" {
			require.Equal(t, mustRespond, j.Policy)
			require.Equal(t, "obligation", j.Reason)
		}
	})
}

func TestEveryJudgementIsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, facts := drawMessage(t), drawFacts(t)
		j := Judge(m, facts, now)
		block := j.ToWire()
		require.NotZero(t, block.GetDirectedness())
		require.NotZero(t, block.GetPolicy())
		require.NotZero(t, block.GetInjection())
		require.NotEmpty(t, block.GetReason())
		require.NotZero(t, block.GetPriority())
		require.Equal(t, block.GetInjection() == notify, block.GetKnock() != nil, "a knock stands for what is not shown")
		if block.GetReason() == "claimed_by_other" {
			require.Equal(t, mustNotRespond, block.GetPolicy())
		}
		require.Equal(t, block.GetClaim() != nil && block.GetClaim().GetHolder() == "bob", block.GetClaim().GetFence() != 0,
			"a claim's fence is for its holder")

		text, err := protojson.Marshal(block)
		require.NoError(t, err)
		require.NotContains(t, string(text), secret, "nothing of the payload or the metadata is shown")
		for _, rule := range j.rules() {
			require.NotContains(t, rule.Effect, secret)
		}
	})
}

func TestExplanationsEndWithTheVerdict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, facts := drawMessage(t), drawFacts(t)
		j := Judge(m, facts, now)
		last := ""
		for _, rule := range j.rules() {
			if _, verdict, found := strings.Cut(rule.Effect, "decides: "); found {
				last = verdict
			}
			if _, verdict, found := strings.Cut(rule.Effect, "changes it to "); found {
				last, _, _ = strings.Cut(verdict, ", reason ")
			}
		}
		require.Equal(t, j.words(), last)
	})
}

func FuzzAcknowledgement(f *testing.F) {
	f.Add(`{"text":"Thanks!"}`)
	f.Add(`{"text":"Thanks, but no"}`)
	f.Fuzz(func(t *testing.T, payload string) {
		m := &message.Message{Payload: []byte(payload)}
		if isAcknowledgement(m) {
			require.LessOrEqual(t, len(payload), 2*longestAcknowledgement)
			require.NotContains(t, payload, "?")
		}
	})
}
