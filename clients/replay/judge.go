package replay

import (
	"unicode/utf8"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/message"
	"openintent/subscriptions/waiting"
)

// judging judges one message after the other and counts what they come to.
type judging struct {
	recorded   *recorded
	rules      Rules
	turns      *turns
	deliveries *deliveries
	disposals  disposals
	result     *Result
}

func newJudging(of *Result, role string, budgets map[string]int) *judging {
	return &judging{
		recorded: newRecorded(of.Agent, role), rules: of.Rules, turns: newTurns(of.Rules, budgets),
		deliveries: newDeliveries(of.Rules, &of.Totals), disposals: make(disposals), result: of,
	}
}

// delivered judges a message that the agent receives.
func (j *judging) delivered(delivery *openintentv1.SubscribeResponse, m *message.Message) {
	judged := j.recorded.judge(m, j.rules)
	wire := delivery.GetMessage()
	found := &Message{
		Position: delivery.GetPosition(), ID: m.ID, ChannelID: m.ChannelID, Channel: delivery.GetChannelName(), Sender: m.Sender,
		To: m.Target, Type: wire.GetMessageType(), Subject: wire.GetSubject(), CreatedAt: m.CreatedAt,
		Directedness: judged.Directedness, Policy: judged.Policy, Injection: judged.Injection, Reason: judged.Reason,
		Characters: utf8.RuneCountInString(wire.GetSubject()) + utf8.RuneCount(m.Payload),
	}
	j.result.Messages = append(j.result.Messages, found)
	j.result.Totals.count(found)
	entry := waiting.Entry{
		IntentID: j.result.IntentID, ChannelNo: m.ChannelNo, ChannelID: m.ChannelID, ChannelName: found.Channel,
		Position: found.Position, Message: m, Attention: judged,
	}
	j.deliveries.add(entry, found, charactersOf(judged.ToWire().GetKnock()))
}

func charactersOf(k *openintentv1.Knock) (count int) {
	for _, text := range []string{k.GetFrom(), k.GetWhere(), k.GetTopic(), k.GetPullWith()} {
		count += utf8.RuneCountInString(text)
	}
	return count
}

// end completes the result, once the log is read.
func (j *judging) end() {
	j.deliveries.end()
	t := &j.result.Totals
	for _, m := range j.result.Messages {
		m.Disposition = j.disposals.of(m.ID)
		if !m.NeverDisposed() {
			continue
		}
		t.NeverDisposed++
		if m.Policy == openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_RESPOND {
			t.MustRespondNeverDisposed++
		}
	}
}
