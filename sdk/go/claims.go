package openintent

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/sdk/go/internal/pace"
)

// DefaultClaimTTL is how long a claim outlives an agent that cannot renew it any more.
const DefaultClaimTTL = 90 * time.Second

// ClaimOptions say how a message is claimed.
type ClaimOptions struct {
	// TTL is how long the claim lasts unless it is renewed, in whole seconds from 1 second to 1 hour; DefaultClaimTTL when it is 0.
	TTL time.Duration
	// IdempotencyKey is made by the client when it is empty. While a claim stands, claiming again with its key gives the same claim.
	IdempotencyKey string
}

// Claim says that an agent works on a message. It renews itself until Release, or until it has ended.
type Claim struct {
	ChannelID, MessageID string
	// Fence rises with each claim of the message. Answers to the request carry it.
	Fence int64
	// ExpiresAt is when the claim would have ended without a renewal, as the server said when it was made.
	ExpiresAt time.Time

	client *Client
	hold
	// answered is set once the holder has answered the request, which ends the claim.
	answered atomic.Bool
}

// Claim claims a message and keeps the claim until Release. While others, or another process of the same agent, hold all claims on
// it, it returns ErrClaimed.
func (c *Client) Claim(ctx context.Context, channelID, messageID string, options ClaimOptions) (*Claim, error) {
	if options.TTL == 0 {
		options.TTL = DefaultClaimTTL
	}
	claim := &Claim{ChannelID: channelID, MessageID: messageID, client: c, hold: hold{pace: pace.Of(c.options.Server), duration: options.TTL.Round(time.Second)}}
	asked := claim.pace.Now()
	granted, err := claim.call(ctx, &openintentv1.ClaimMessageRequest{IdempotencyKey: keyOf(options.IdempotencyKey)}, func() { asked = claim.pace.Now() })
	if err != nil {
		return nil, err
	}
	claim.Fence, claim.ExpiresAt = granted.GetFence(), timeOf(granted.GetExpiresAt())
	if options.IdempotencyKey != "" && time.Until(claim.ExpiresAt) < claim.duration*2/3 {
		asked = claim.pace.Now().Add(-claim.duration / 3) // it may be an older claim, so it is renewed immediately
	}
	claim.keep(ctx, asked, ErrClaimLost, func(ctx context.Context, now func()) error {
		_, err := claim.call(ctx, &openintentv1.ClaimMessageRequest{Fence: &claim.Fence}, now)
		// While a claim stands, only its holder can answer in its place, perhaps in another process.
		if errors.Is(err, ErrAnswered) || err != nil && claim.answered.Load() {
			return errOver
		}
		return err
	})
	return claim, nil
}

// Context ends when the claim does. Its cause is ErrClaimLost, or context.Canceled after Release; the answer of its holder ends the
// claim, but not the context. It has the values of the context with which the message was claimed, and does not end with it.
func (c *Claim) Context() context.Context { return c.ctx }

// call claims or renews.
func (c *Claim) call(ctx context.Context, request *openintentv1.ClaimMessageRequest, now func()) (*openintentv1.Claim, error) {
	request.ChannelId, request.MessageId, request.TtlSeconds = c.ChannelID, c.MessageID, c.seconds()
	return repeated(ctx, c.client, func(ctx context.Context) (*openintentv1.Claim, error) {
		now()
		return c.client.raw.Claims.ClaimMessage(ctx, request)
	})
}

// Release gives the claim back, so that another agent can take it. It returns nil if the claim had ended before, as it does with the
// answer.
func (c *Claim) Release(ctx context.Context) error {
	c.letGo()
	_, err := repeated(ctx, c.client, func(ctx context.Context) (*openintentv1.Claim, error) {
		return c.client.raw.Claims.ReleaseClaim(ctx, &openintentv1.ReleaseClaimRequest{
			ChannelId: c.ChannelID, MessageId: c.MessageID, Fence: c.Fence,
		})
	})
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrFailedPrecondition) {
		return nil
	}
	return err
}

// Claim claims the message, as Client.Claim does. Replies to the message then carry the fence. Only one goroutine may call it.
func (m *Message) Claim(ctx context.Context, options ClaimOptions) (*Claim, error) {
	claim, err := m.client.Claim(ctx, m.ChannelID, m.ID, options)
	if err != nil {
		return nil, err
	}
	m.claim = claim
	return claim, nil
}
