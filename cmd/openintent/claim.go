package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// claimCommand claims a message, for a command or until the claim's time is over.
type claimCommand struct {
	connection
	output
	messageArgument
	Command []string      `arg:"" optional:"" passthrough:"" help:"The command to run while the agent holds the claim, after --."`
	TTL     time.Duration `name:"ttl" default:"90s" placeholder:"DURATION" help:"How long the claim lasts unless it is renewed, from 1s to 1h (90s)."`
	Fence   int64         `placeholder:"N" help:"The fence of the agent's claim, to renew it or, with --release, to give it back."`
	Release bool          `help:"Give the claim back; needs --fence."`
}

// Help explains the fence and the exit code.
func (claimCommand) Help() string {
	return `Claims a request, or a thread by its first message, and prints the claim. With a command it holds the claim while the command runs:
the claim renews itself and is given back in the end, unless the request was answered. If it is lost, the command gets SIGTERM. The exit
code is the command's, or 9 while another agent holds the claim.

The command finds OPENINTENT_CLAIM_FENCE in its environment; openintent reply sends it along.

  openintent claim CHANNEL/MESSAGE -- sh -c 'openintent reply CHANNEL/MESSAGE "$(work)"'
  openintent claim CHANNEL/MESSAGE --release --fence 1768471200000000`
}

// Run claims, and runs the command if there is one.
func (c *claimCommand) Run(ctx context.Context, to terminal) error {
	c.Command = afterDashes(c.Command)
	switch {
	case c.TTL < time.Second || c.TTL > time.Hour:
		return usagef("--ttl must be from 1s to 1h")
	case c.Release && c.Fence == 0:
		return usagef("--release needs the --fence of the claim")
	case len(c.Command) > 0 && c.Fence != 0:
		return usagef("--fence renews or releases a claim; it does not go with a command")
	}
	if err := c.check(); err != nil {
		return err
	}
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	channel, message, err := c.find(ctx, client)
	switch {
	case err != nil:
		return err
	case len(c.Command) > 0:
		return c.hold(ctx, client, channel, message, to)
	case c.Release:
		released, err := called(client.Raw().Claims.ReleaseClaim(ctx, &openintentv1.ReleaseClaimRequest{
			ChannelId: channel, MessageId: message, Fence: c.Fence,
		}))
		if err != nil || !c.JSON {
			return err
		}
		return lines(to, released)
	}
	seconds := int32(c.TTL.Round(time.Second) / time.Second)
	request := &openintentv1.ClaimMessageRequest{ChannelId: channel, MessageId: message, TtlSeconds: &seconds}
	if c.Fence != 0 {
		request.Fence = &c.Fence
	}
	claimed, err := called(client.Raw().Claims.ClaimMessage(ctx, request))
	if err != nil {
		return err
	}
	return show(c.output, to, claimed, func(claimed *openintentv1.Claim) (f fields) {
		f.add("message", claimed.GetMessageId())
		f.add("holder", claimed.GetHolder())
		f.add("fence", strconv.FormatInt(claimed.GetFence(), 10))
		f.add("until", clock(claimed.GetExpiresAt()))
		return f
	})
}

// hold runs the command while the agent holds the claim.
func (c *claimCommand) hold(ctx context.Context, client *openintent.Client, channel, message string, to terminal) error {
	claim, err := client.Claim(ctx, channel, message, openintent.ClaimOptions{TTL: c.TTL})
	if err != nil {
		return err
	}
	ran := runHolding(ctx, claim.Context(), c.Command, "OPENINTENT_CLAIM_FENCE="+strconv.FormatInt(claim.Fence, 10), to)
	releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Patience)
	defer cancel()
	if cause := context.Cause(claim.Context()); errors.Is(cause, openintent.ErrClaimLost) {
		return lost("the claim on "+message, cause, ran)
	}
	return errors.Join(ran, claim.Release(releasing))
}
