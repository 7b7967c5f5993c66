package openintent

import (
	"context"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
)

// Directedness is how far a message is meant for one recipient.
type Directedness string

// These are the degrees, from the nearest.
const (
	ToMe     Directedness = "to_me"
	ToMyRole Directedness = "to_my_role"
	Ambient  Directedness = "ambient"
)

var directednesses = wordsOf(map[openintentv1.Directedness]Directedness{
	openintentv1.Directedness_DIRECTEDNESS_TO_ME:      ToMe,
	openintentv1.Directedness_DIRECTEDNESS_TO_MY_ROLE: ToMyRole,
	openintentv1.Directedness_DIRECTEDNESS_AMBIENT:    Ambient,
})

// Policy is whether a recipient may answer a message, or must.
type Policy string

// These are the policies.
const (
	MustRespond    Policy = "must_respond"
	MayRespond     Policy = "may_respond"
	AckOnly        Policy = "ack_only"
	MustNotRespond Policy = "must_not_respond"
)

var policies = wordsOf(map[openintentv1.ResponsePolicy]Policy{
	openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_RESPOND:     MustRespond,
	openintentv1.ResponsePolicy_RESPONSE_POLICY_MAY_RESPOND:      MayRespond,
	openintentv1.ResponsePolicy_RESPONSE_POLICY_ACK_ONLY:         AckOnly,
	openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_NOT_RESPOND: MustNotRespond,
})

// Injection is how loudly a harness should bring a message before its model.
type Injection string

// These are the ways, from the loudest to the quietest.
const (
	Immediate       Injection = "immediate"
	Buffered        Injection = "buffered"
	NotifyInjection Injection = "notify"
	DigestInjection Injection = "digest"
	ToolMailbox     Injection = "tool_mailbox"
)

var injections = wordsOf(map[openintentv1.Injection]Injection{
	openintentv1.Injection_INJECTION_IMMEDIATE:    Immediate,
	openintentv1.Injection_INJECTION_BUFFERED:     Buffered,
	openintentv1.Injection_INJECTION_NOTIFY:       NotifyInjection,
	openintentv1.Injection_INJECTION_DIGEST:       DigestInjection,
	openintentv1.Injection_INJECTION_TOOL_MAILBOX: ToolMailbox,
})

// ReasonMention is the reason of a message that mentions the recipient by name.
const ReasonMention = "mention"

// Attention is what a message asks of one recipient, as the server found it when it handed the message out.
type Attention struct {
	Directedness Directedness
	Policy       Policy
	Injection    Injection
	// Reason is the rule that decided, such as "direct_request", ReasonMention or "claimed_by_other".
	Reason   string
	Priority Priority
	// Deadline is how much time is left until the request expires; nil when it does not expire.
	Deadline *time.Duration
	// Claim is who works on the message; nil when nobody does.
	Claim *AttentionClaim
	// Knock is what to show of the message while Injection is NotifyInjection; nil otherwise.
	Knock *Knock
}

// AttentionClaim is who works on a message at present.
type AttentionClaim struct {
	Holder  string
	Expires time.Duration
	// Fence is 0 for everybody but the holder.
	Fence int64
}

// Knock says that there is something to read, and nothing of what it says.
type Knock struct{ From, Where, Topic, PullWith string }

// Rule is one rule about a message, and what it did.
type Rule struct{ Rule, Effect string }

// Explanation is what a message asks of an agent, and why.
type Explanation struct {
	// Attention is nil when the message asks nothing of the agent; Rules say why.
	Attention *Attention
	// Rules are those that were considered, in their order.
	Rules []Rule
}

// GetAttention returns what a message asks of an agent now; "" means the client's own agent. Others than the recipient, the
// message's sender and the operator get ErrMessageNotFound.
func (c *Client) GetAttention(ctx context.Context, channelID, messageID, agentID string) (*Explanation, error) {
	answer, err := repeated(ctx, c, func(ctx context.Context) (*openintentv1.GetAttentionResponse, error) {
		return c.raw.Attention.GetAttention(ctx, &openintentv1.GetAttentionRequest{
			ChannelId: channelID, MessageId: messageID, AgentId: optional(agentID),
		})
	})
	if err != nil {
		return nil, err
	}
	explained := &Explanation{}
	for _, rule := range answer.GetRules() {
		explained.Rules = append(explained.Rules, Rule{rule.GetRule(), rule.GetEffect()})
	}
	if answer.Policy != nil {
		explained.Attention = attentionOf(&openintentv1.Attention{
			Directedness: answer.GetDirectedness(), Policy: answer.GetPolicy(), Injection: answer.GetInjection(), Reason: answer.GetReason(),
			Priority: answer.GetPriority(), DeadlineMs: answer.DeadlineMs, Claim: answer.GetClaim(), Knock: answer.GetKnock(),
		})
	}
	return explained, nil
}

// attentionOf returns nil for nil.
func attentionOf(a *openintentv1.Attention) *Attention {
	if a == nil {
		return nil
	}
	attention := &Attention{
		Directedness: directednesses.word(a.GetDirectedness()), Policy: policies.word(a.GetPolicy()),
		Injection: injections.word(a.GetInjection()), Reason: a.GetReason(), Priority: priorities.word(a.GetPriority()),
	}
	if a.DeadlineMs != nil {
		left := milliseconds(a.GetDeadlineMs())
		attention.Deadline = &left
	}
	if claim := a.GetClaim(); claim != nil {
		attention.Claim = &AttentionClaim{claim.GetHolder(), milliseconds(claim.GetExpiresInMs()), claim.GetFence()}
	}
	if knock := a.GetKnock(); knock != nil {
		attention.Knock = &Knock{knock.GetFrom(), knock.GetWhere(), knock.GetTopic(), knock.GetPullWith()}
	}
	return attention
}

func milliseconds(count int64) time.Duration { return time.Duration(count) * time.Millisecond }
