package main

import (
	"context"
	"strings"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// mostResponses is how many responses one call returns at most; asking for that many means waiting until the time is
// over.
const mostResponses = 1000

// resume waits for the answer to a question that was asked earlier. The question stays open when the time runs out.
func (c *askCommand) resume(ctx context.Context, client *openintent.Client, to terminal) error {
	if !strings.Contains(c.Resume, "/") {
		return usagef("--resume takes CHANNEL/MESSAGE, as --no-wait printed it")
	}
	channel, message, err := messageArgument{Message: c.Resume, intentFlag: c.intentFlag}.find(ctx, client)
	if err != nil {
		return err
	}
	if !c.All {
		response, err := client.ResumeAsk(ctx, channel, message, c.Timeout)
		if err != nil {
			return err
		}
		return printAnswer(c.output, response, to)
	}
	wanted := int32(mostResponses)
	if c.MinResponses > 0 {
		wanted = int32(min(c.MinResponses, mostResponses))
	}
	seconds := c.Timeout.Seconds()
	answered, err := called(client.Raw().Messages.AwaitResponses(ctx, &openintentv1.AwaitResponsesRequest{
		ChannelId: channel, MessageId: message, WaitSeconds: &seconds, MinResponses: &wanted,
	}))
	if err != nil {
		return err
	}
	if err := listAnswers(c.output, newTable("SENDER", "PAYLOAD"), to, answered.GetResponses()...); err != nil {
		return err
	}
	return enough(len(answered.GetResponses()), c.MinResponses)
}
