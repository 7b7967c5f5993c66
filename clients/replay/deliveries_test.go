package replay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/attention"
	"openintent/messaging/message"
	"openintent/subscriptions/waiting"
)

// counting adds messages of one sender to deliveries, one a second.
type counting struct {
	*deliveries
	said int64
}

func newCounting(rules Rules) *counting {
	return &counting{deliveries: newDeliveries(rules, new(Totals))}
}

func (c *counting) says(directedness openintentv1.Directedness, injection openintentv1.Injection) {
	c.said++
	m := &message.Message{
		ID: "m", ChannelNo: 1, Position: c.said, Sender: "a", CreatedAt: noon.Add(time.Duration(c.said) * time.Second),
		Payload: []byte(`{"text":"hello"}`), Conversation: &message.Conversation{Subject: "s"},
	}
	judged := &attention.Judgement{Verdict: attention.Verdict{
		Directedness: directedness, Policy: openintentv1.ResponsePolicy_RESPONSE_POLICY_MAY_RESPOND, Injection: injection,
	}}
	entry := waiting.Entry{IntentID: "i", ChannelNo: 1, ChannelID: "c", ChannelName: "talk", Position: c.said, Message: m, Attention: judged}
	c.add(entry, &Message{Position: c.said, Injection: injection, Characters: 17}, 5)
}

const (
	direct  = openintentv1.Directedness_DIRECTEDNESS_TO_ME
	ambient = openintentv1.Directedness_DIRECTEDNESS_AMBIENT

	immediate = openintentv1.Injection_INJECTION_IMMEDIATE
	buffered  = openintentv1.Injection_INJECTION_BUFFERED
	notify    = openintentv1.Injection_INJECTION_NOTIFY
	mailbox   = openintentv1.Injection_INJECTION_TOOL_MAILBOX
)

// mixed says five messages: two wait for their sender, one joins them, one interrupts, and one is for everybody.
func (c *counting) mixed() Totals {
	c.says(direct, buffered)
	c.says(direct, buffered)
	c.says(direct, notify)
	c.says(ambient, mailbox)
	c.says(direct, immediate)
	c.end()
	return *c.totals
}

func TestWithoutWindowsEachMessageComesAlone(t *testing.T) {
	require.Equal(t, Totals{
		FullDeliveries: 3, Full: 3, Knocks: 1, Mailbox: 1, Characters: Characters{Delivered: 5 * 17, Shown: 3*17 + 5},
	}, newCounting(Today()).mixed())
}

func TestWhatOneSenderWritesInOneGoIsOneDelivery(t *testing.T) {
	rules := Today()
	rules.ComposeSeconds = 3
	require.Equal(t, Totals{
		FullDeliveries: 1, Full: 3, Knocks: 1, Mailbox: 1, Characters: Characters{Delivered: 5 * 17, Shown: 3*17 + 5},
	}, newCounting(rules).mixed())
	knocks := newCounting(rules)
	knocks.says(direct, notify)
	knocks.says(direct, notify)
	knocks.end()
	require.Zero(t, knocks.totals.FullDeliveries, "a knock shows no whole message")
}

func TestADigestHasTheCharactersOfTheServers(t *testing.T) {
	rules := Today()
	rules.DigestSeconds = 60
	c := newCounting(rules)
	digest := waiting.Characters(waiting.DigestOf([]waiting.Entry{{
		IntentID: "i", ChannelID: "c", ChannelName: "talk", Position: 4,
		Message: &message.Message{ID: "m", Sender: "a", Conversation: &message.Conversation{Subject: "s"}},
	}}, rules.MaxChars))
	require.Equal(t, Totals{
		FullDeliveries: 3, Full: 3, Knocks: 1, Digested: 1, Digests: 1,
		Characters: Characters{Delivered: 4*17 + digest, Shown: 3*17 + 5 + digest},
	}, c.mixed())
	require.Empty(t, c.pending)
}
