package chat

import (
	"context"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// claim takes a claim on an event, renews it or gives it back. The caller's own claim is found again by its key, so a repeated call
// renews it.
var claim = newTool("chat.claim", "Claim responsibility for responding to a channel event or thread, for a time; or release it.",
	ofEvent+`,"ttlSeconds":{"type":"integer","minimum":1,"maximum":3600},"release":{"type":"boolean"}`,
	[]string{"inReplyTo"},
	func(ctx context.Context, caller *doors.Caller, given claimArguments) (any, error) {
		if given.Release && given.TTLSeconds != nil {
			return nil, fault.BadField("ttlSeconds", "cannot stand beside release; leave it out.")
		}
		message, err := messageOf(ctx, caller, given.InReplyTo)
		if err != nil {
			return nil, err
		}
		fence, err := fenceOf(ctx, caller, message)
		switch {
		case err != nil:
			return nil, err
		case given.Release:
			return release(ctx, caller, given.InReplyTo, message, fence)
		}
		request := &openintentv1.ClaimMessageRequest{
			ChannelId: message.GetChannelId(), MessageId: message.GetId(), TtlSeconds: given.TTLSeconds, Fence: fence,
		}
		if fence == nil {
			request.IdempotencyKey = new(claimKey)
		}
		made, err := caller.Claims.ClaimMessage(ctx, request)
		if err != nil {
			return nil, err
		}
		return claimAnswer{EventID: given.InReplyTo, Holder: made.GetHolder(), ExpiresAt: moment(made.GetExpiresAt())}, nil
	})

// claimKey is the key of the claims that this tool makes.
const claimKey = "claim of the tools for C2A"

type claimArguments struct {
	InReplyTo  string `json:"inReplyTo"`
	TTLSeconds *int32 `json:"ttlSeconds"`
	Release    bool   `json:"release"`
}

type claimAnswer struct {
	EventID   string `json:"eventId"`
	Holder    string `json:"holder,omitempty"`
	ExpiresAt string `json:"expiresAt,omitempty"`
	Released  bool   `json:"released,omitempty"`
}

// errNotHeld refuses to give back what the caller does not hold.
var errNotHeld = fault.New(fault.Conflict, "CLAIM_LOST", "You hold no claim on the event; there is nothing to release.")

func release(
	ctx context.Context, caller *doors.Caller, event string, message *openintentv1.Message, fence *int64,
) (any, error) {
	if fence == nil {
		return nil, errNotHeld
	}
	_, err := caller.Claims.ReleaseClaim(ctx, &openintentv1.ReleaseClaimRequest{
		ChannelId: message.GetChannelId(), MessageId: message.GetId(), Fence: *fence,
	})
	return claimAnswer{EventID: event, Released: true}, err
}
