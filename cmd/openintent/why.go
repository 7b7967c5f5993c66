package main

import (
	"context"
	"fmt"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
)

// whyCommand explains what a message asks of an agent.
type whyCommand struct {
	connection
	output
	messageArgument
	About string `complete:"agents" placeholder:"ID" help:"The recipient to explain it for (the calling agent). Others than the message's sender and the operator may only ask about themselves."`
}

// Help shows how to ask.
func (whyCommand) Help() string {
	return `Says what a message asks of an agent now, and which rules decided that.

  openintent why CHANNEL/MESSAGE --agent data-agent
  openintent why CHANNEL/MESSAGE --agent asker --about data-agent`
}

// Run prints the explanation.
func (c *whyCommand) Run(ctx context.Context, to terminal) error {
	if err := c.check(); err != nil {
		return err
	}
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	channel, message, err := c.find(ctx, client)
	if err != nil {
		return err
	}
	answer, err := called(client.Raw().Attention.GetAttention(ctx, &openintentv1.GetAttentionRequest{
		ChannelId: channel, MessageId: message, AgentId: present(c.About),
	}))
	if err != nil {
		return err
	}
	if c.JSON {
		return lines(to, answer)
	}
	for _, line := range inWords(answer) {
		if err := printLine(to, line); err != nil {
			return err
		}
	}
	rules := newTable("RULE", "EFFECT")
	for _, rule := range answer.GetRules() {
		rules.add(rule.GetRule(), rule.GetEffect())
	}
	return rules.print(to)
}

var (
	policySentences = map[openintentv1.ResponsePolicy]string{
		openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_RESPOND:     "An answer is expected of it.",
		openintentv1.ResponsePolicy_RESPONSE_POLICY_MAY_RESPOND:      "It may answer.",
		openintentv1.ResponsePolicy_RESPONSE_POLICY_ACK_ONLY:         "To read it, or a reaction, is enough.",
		openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_NOT_RESPOND: "An answer would only disturb.",
	}
	directednessSentences = map[openintentv1.Directedness]string{
		openintentv1.Directedness_DIRECTEDNESS_TO_ME:      "The message is for this agent itself.",
		openintentv1.Directedness_DIRECTEDNESS_TO_MY_ROLE: "The message is for a role of this agent, or for a thread in which it takes part.",
		openintentv1.Directedness_DIRECTEDNESS_AMBIENT:    "The message is for everybody.",
	}
	injectionSentences = map[openintentv1.Injection]string{
		openintentv1.Injection_INJECTION_IMMEDIATE:    "It is shown now, even if that interrupts a turn.",
		openintentv1.Injection_INJECTION_BUFFERED:     "It is shown at the next pause between turns.",
		openintentv1.Injection_INJECTION_NOTIFY:       "It is announced, without its content.",
		openintentv1.Injection_INJECTION_DIGEST:       "It is one line of a summary.",
		openintentv1.Injection_INJECTION_TOOL_MAILBOX: "It is not shown; a tool can fetch it.",
	}
)

// inWords returns the explanation's sentences.
func inWords(answer *openintentv1.GetAttentionResponse) []string {
	if answer.Policy == nil {
		return []string{"The message asks nothing of this agent."}
	}
	sentences := []string{
		fmt.Sprintf("%s (%s)", directednessSentences[answer.GetDirectedness()], word(answer.GetDirectedness())),
		fmt.Sprintf("%s (%s)", policySentences[answer.GetPolicy()], word(answer.GetPolicy())),
		fmt.Sprintf("%s (%s)", injectionSentences[answer.GetInjection()], word(answer.GetInjection())),
	}
	if answer.DeadlineMs != nil {
		sentences = append(sentences, fmt.Sprintf("It expires in %s.", inMilliseconds(answer.GetDeadlineMs())))
	}
	if claim := answer.GetClaim(); claim != nil {
		sentences = append(sentences, fmt.Sprintf("%s works on it, for another %s at least.", claim.GetHolder(), inMilliseconds(claim.GetExpiresInMs())))
	}
	return append(sentences, fmt.Sprintf("The rule that decided: %s.", answer.GetReason()), "")
}

func inMilliseconds(count int64) time.Duration { return time.Duration(count) * time.Millisecond }
