package replay

import (
	"unicode/utf8"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/message"
)

// judging judges one delivery after the other and counts what they come to.
type judging struct {
	recorded *recorded
	rules    Rules
	turns    *turns
	// sent are the turns of messages that may still become the first of a thread, by id.
	sent      map[string]turn
	windows   *windows
	digests   *digests
	disposals disposals
	result    *Result
}

func newJudging(of *Result, role string) *judging {
	return &judging{
		recorded: newRecorded(of.Agent, role), rules: of.Rules, turns: newTurns(of.Rules), sent: make(map[string]turn),
		windows: newWindows(of.Rules), digests: newDigests(of.IntentID, of.Rules), disposals: make(disposals), result: of,
	}
}

// loopBrake is the reason of what a brake holds back.
const loopBrake = "loop_brake"

// turn counts a message, whoever receives it, and tells whether the brake holds it back. An answer outside threads is no turn: with its
// request it is a pair that ends there.
func (j *judging) turn(m *message.Message) (braked bool) {
	at := j.recorded.spot(m)
	if j.rules.TurnBudget == 0 || at.thread == "" && m.Type == message.TypeResponse {
		return false
	}
	now := turnOf(m)
	if at.thread == "" {
		j.sent[m.ID] = now
	} else if root, known := j.sent[at.thread]; known && !j.turns.knows(at) {
		j.turns.braked(at, root)
	}
	return j.turns.braked(at, now)
}

// delivered judges a message that the agent receives.
func (j *judging) delivered(delivery *openintentv1.SubscribeResponse, m *message.Message, braked bool) {
	judged := j.recorded.judge(m, j.rules).ToWire()
	if braked {
		brake(judged)
	}
	wire := delivery.GetMessage()
	found := &Message{
		Position: delivery.GetPosition(), ID: m.ID, ChannelID: m.ChannelID, Channel: delivery.GetChannelName(), Sender: m.Sender,
		To: m.Target, Type: wire.GetMessageType(), Subject: wire.GetSubject(), CreatedAt: m.CreatedAt,
		Directedness: judged.GetDirectedness(), Policy: judged.GetPolicy(), Injection: judged.GetInjection(), Reason: judged.GetReason(),
		Characters: utf8.RuneCountInString(wire.GetSubject()) + utf8.RuneCount(m.Payload),
	}
	j.result.Messages = append(j.result.Messages, found)
	j.result.Totals.count(found)
	j.show(found, m, judged)
}

// brake changes what attention says of a message that a brake holds back. Obligations are exempt.
func brake(judged *openintentv1.Attention) {
	if judged.GetReason() == "obligation" || judged.GetReason() == "obligation_return" {
		return
	}
	judged.Policy = openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_NOT_RESPOND
	judged.Injection = openintentv1.Injection_INJECTION_TOOL_MAILBOX
	judged.Reason, judged.Knock = loopBrake, nil
}

// show counts how a message comes before a model.
func (j *judging) show(found *Message, m *message.Message, judged *openintentv1.Attention) {
	t, from := &j.result.Totals, burst{j.recorded.spot(m), m.Sender}
	if root, _ := m.Thread(); root != m.ID {
		from.thread = root
	}
	if found.ambient(m) && j.digests.add(found, kindOf(m)) {
		t.Digested++
		return
	}
	t.Characters.Delivered += found.Characters
	switch judged.GetInjection() {
	case openintentv1.Injection_INJECTION_IMMEDIATE:
		t.Full++
		j.windows.immediate(from, m.CreatedAt)
		t.Characters.Shown += found.Characters
	case openintentv1.Injection_INJECTION_BUFFERED:
		t.Full++
		j.windows.buffered(from, m.CreatedAt)
		t.Characters.Shown += found.Characters
	case openintentv1.Injection_INJECTION_NOTIFY:
		t.Knocks++
		t.Characters.Shown += charactersOf(judged.GetKnock())
	case openintentv1.Injection_INJECTION_DIGEST:
		t.Digested++
	default:
		t.Mailbox++
	}
}

// kindOf returns the kind of a message; empty without one.
func kindOf(m *message.Message) string {
	if m.Conversation == nil {
		return ""
	}
	return m.Conversation.Kind
}

func charactersOf(k *openintentv1.Knock) (count int) {
	for _, text := range []string{k.GetFrom(), k.GetWhere(), k.GetTopic(), k.GetPullWith()} {
		count += utf8.RuneCountInString(text)
	}
	return count
}

// end completes the result, once the log is read.
func (j *judging) end() {
	t := &j.result.Totals
	j.digests.close()
	t.FullDeliveries, t.Digests = j.windows.deliveries, j.digests.deliveries
	t.Characters.Delivered += j.digests.characters
	t.Characters.Shown += j.digests.characters
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
