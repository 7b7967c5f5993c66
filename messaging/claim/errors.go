package claim

import "openintent/internal/fault"

// The refusals of claims, and of answers that need one.
var (
	ErrAnswered = fault.New(fault.Conflict, "ANSWERED",
		"The request has the answers that it takes, or the agent has answered it already; send a message of your own instead.")
	ErrRequired = fault.New(fault.Conflict, "CLAIM_REQUIRED",
		"The request takes a certain number of answers; claim it first, and answer with the fence of the claim.")
	ErrLost = fault.New(fault.Conflict, "CLAIM_LOST",
		"The agent holds no claim with this fence any more; claim the message anew, without a fence, before you go on.")
	ErrLeaving = fault.New(fault.Conflict, "AGENT_LEAVING",
		"An agent that is draining, dead or deregistered gets no claim; register it again first.")
	ErrNotTheRoot = fault.New(fault.Invalid, "NOT_THE_ROOT",
		"A thread is claimed by its first message, and this is a later one; claim the first message, or a request.")
	ErrTooMany = fault.New(fault.Quota, "TOO_MANY_CLAIMS",
		"The agent holds %d claims in this intent, which is the most that it may; answer one or give one back first.", MaxHeld)
)

// claimed refuses a message that has no free place. It names a holder, and when that claim ends.
func claimed(c *Claim, by string) error {
	sentence := "Another agent holds the claim on this message; wait until it ends, or leave the message to that agent."
	if c.AgentID == by {
		sentence = "The caller holds the claim on this message already; renew it with its fence, or leave it to the process that has the fence."
	}
	return fault.New(fault.AlreadyExists, "CLAIMED", "%s", sentence).
		With("holder", c.AgentID).With("expires_at", c.ExpiresAt.UTC().Format(wireTime)).With("message_id", c.MessageID)
}

// wireTime is how times are written on the wire, always with six digits.
const wireTime = "2006-01-02T15:04:05.000000Z"
