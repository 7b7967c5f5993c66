package leases

import (
	"context"
	"errors"
	"slices"

	"openintent/e2e/replica"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// lent are leases by the resources that they are for.
type lent map[*resource]*openintentv1.Lease

// worker is an agent with what it knows of its leases.
type worker struct {
	name   string
	server *replica.Replica
	// held has the latest lease of each scope that the worker got and has not given back, known the one before.
	held, known lent
	// waiting is what the worker waits for, and waited says with which lease, or error, the wait ended.
	waiting *resource
	waited  chan outcome
	// silent is true while the worker sends no heartbeats and does not count as dead yet. As long as it is gone, gone says why.
	silent bool
	gone   string
}

// outcome is how a wait ended: with a lease, with nothing or with an error.
type outcome struct {
	lease *openintentv1.Lease
	err   error
}

// acquires asks for a scope, and waits for it so many seconds at most, or until the fight is over.
func (w *worker) acquires(f *fight, server *replica.Replica, on *resource, seconds int32) outcome {
	var got *openintentv1.Lease
	lasting := int32(90)
	err := server.Call(func() error {
		if f.over.Err() != nil {
			return nil
		}
		ctx, cancel := context.WithCancel(server.As(w.name))
		defer cancel()
		defer context.AfterFunc(f.over, cancel)()
		lease, err := server.Leases.AcquireLease(ctx, &openintentv1.AcquireLeaseRequest{
			IntentId: f.intent, Scope: on.scope, DurationSeconds: &lasting, WaitSeconds: seconds,
		})
		if err == nil {
			got = lease
		}
		return err
	})
	return outcome{got, expected(err, "LEASE_HELD", "LEASE_CIRCLE", "AGENT_LEAVING", "FORBIDDEN", "TOO_MANY_LEASE_WAITERS")}
}

// got notes a lease that the worker was given, and works with it.
func (w *worker) got(f *fight, on *resource, how outcome) error {
	if how.err != nil || how.lease == nil {
		return how.err
	}
	if before := w.held[on]; before != nil {
		w.known[on] = before
	}
	w.held[on] = how.lease
	return w.works(f, on, how.lease)
}

// works writes to a resource with the fence of a lease. The worker does not ask whether the lease has ended.
func (w *worker) works(f *fight, on *resource, lease *openintentv1.Lease) error {
	return f.write(on, w.server, w.name, lease.GetFence())
}

func (w *worker) renews(f *fight, on *resource) error {
	seconds, lease := int32(90), w.held[on]
	err := w.server.Call(func() error {
		_, err := w.server.Leases.RenewLease(w.server.As(w.name), &openintentv1.RenewLeaseRequest{
			IntentId: f.intent, LeaseId: lease.GetId(), DurationSeconds: &seconds,
		})
		return err
	})
	return expected(err, "LEASE_NOT_FOUND", "FORBIDDEN")
}

func (w *worker) releases(f *fight, on *resource) error {
	lease := w.held[on]
	err := w.server.Call(func() error {
		_, err := w.server.Leases.ReleaseLease(w.server.As(w.name), &openintentv1.ReleaseLeaseRequest{
			IntentId: f.intent, LeaseId: lease.GetId(),
		})
		return err
	})
	w.known[on] = lease
	delete(w.held, on)
	return expected(err, "LEASE_NOT_FOUND", "FORBIDDEN")
}

// expected drops the refusals that the fight brings with it.
func expected(err error, reasons ...string) error {
	var refusal *fault.Fault
	if errors.As(err, &refusal) && slices.Contains(reasons, refusal.Reason) {
		return nil
	}
	return err
}
