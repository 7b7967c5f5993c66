package openintent

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/sdk/go/internal/pace"
)

// ErrLeaseLost is the cause for which the context of a lease ends when the lease did: the server said so, or the lease could
// not be renewed in time.
var ErrLeaseLost = errors.New("the lease is lost")

// DefaultLeaseDuration is how long a lease outlives an agent that cannot renew it any more.
const DefaultLeaseDuration = time.Minute

// LeaseOptions say how a scope is leased.
type LeaseOptions struct {
	// Duration is how long the lease lasts unless it is renewed, in whole seconds; DefaultLeaseDuration when it is 0.
	Duration time.Duration
	// Wait is how long to wait for the scope while somebody else holds it, at most 10 minutes; 0 does not wait.
	Wait time.Duration
}

// Lease is a scope that nobody else holds. It renews itself until Release, or until it is lost.
type Lease struct {
	ID, IntentID, Scope string
	// Fence rises with each lease of the intent. Send it along to what the scope protects, which then can refuse a holder
	// whose lease has ended without its knowing.
	Fence int64

	client *Client
	hold
}

// Lease leases a scope of an intent and keeps it until Release. It returns ErrAlreadyExists while somebody else, or another
// process of the same agent, holds the scope.
func (c *Client) Lease(ctx context.Context, intentID, scope string, options LeaseOptions) (*Lease, error) {
	if options.Duration == 0 {
		options.Duration = DefaultLeaseDuration
	}
	l := &Lease{IntentID: intentID, Scope: scope, client: c, hold: hold{pace: pace.Of(c.options.Server), duration: options.Duration.Round(time.Second)}}
	call := ctx
	if options.Wait > 0 {
		var cancel context.CancelFunc
		call, cancel = context.WithTimeout(ctx, options.Wait+grace)
		defer cancel()
	}
	asked := l.pace.Now()
	granted, err := once(call, c, func(ctx context.Context, option grpc.CallOption) (*openintentv1.Lease, error) {
		asked = l.pace.Now()
		return c.raw.Leases.AcquireLease(ctx, &openintentv1.AcquireLeaseRequest{
			IntentId: intentID, Scope: scope, DurationSeconds: l.seconds(), WaitSeconds: int32(options.Wait / time.Second),
		}, option)
	})
	if err != nil {
		return nil, err
	}
	if options.Wait > 0 {
		// The server granted it at some time of the wait, so the lease is renewed immediately to know its time.
		asked = l.pace.Now().Add(-l.duration / 3)
	}
	l.ID, l.Fence = granted.GetId(), granted.GetFence()
	l.keep(ctx, asked, ErrLeaseLost, func(ctx context.Context, now func()) error {
		_, err := repeated(ctx, c, func(ctx context.Context) (*openintentv1.Lease, error) {
			now()
			return c.raw.Leases.RenewLease(ctx, &openintentv1.RenewLeaseRequest{
				IntentId: intentID, LeaseId: l.ID, DurationSeconds: l.seconds(),
			})
		})
		return err
	})
	return l, nil
}

// Context ends when the lease does. Its cause is ErrLeaseLost, or context.Canceled after Release. It has the values of the
// context that the scope was leased with, and does not end with it.
func (l *Lease) Context() context.Context { return l.ctx }

// Release ends the lease, so that the next one can have the scope. It returns nil if the lease had ended before.
func (l *Lease) Release(ctx context.Context) error {
	l.letGo()
	_, err := repeated(ctx, l.client, func(ctx context.Context) (*openintentv1.ReleaseLeaseResponse, error) {
		return l.client.raw.Leases.ReleaseLease(ctx, &openintentv1.ReleaseLeaseRequest{IntentId: l.IntentID, LeaseId: l.ID})
	})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
