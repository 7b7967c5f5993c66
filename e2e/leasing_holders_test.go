//go:build leasemodel

package e2e

import (
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"openintent/e2e/model"
	openintentv1 "openintent/gen/openintent/v1"
)

// drawLease draws a lease, mostly one that stands.
func (y *leasing) drawLease(t *rapid.T) *model.Lease {
	all := y.leases.Held()
	if len(all) == 0 || seldom(t, "an old one") {
		all = y.leases.Granted
	}
	if len(all) == 0 {
		t.Skip("no lease yet")
	}
	return pick(t, "lease", all)
}

// drawCaller draws who changes a lease: mostly its holder.
func (y *leasing) drawCaller(t *rapid.T, lease *model.Lease) string {
	switch below(t, "caller", 8) {
	case 0:
		return pick(t, "another", y.agents)
	case 1:
		return model.Operator
	}
	return lease.Agent
}

func (y *leasing) renew(t *rapid.T) {
	lease := y.drawLease(t)
	caller, lasting := y.drawCaller(t, lease), pick(t, "lasting", []time.Duration{time.Second, time.Minute})
	expected := y.leases.Renew(caller, lease, lasting)
	got, err := y.as(caller).Leases.RenewLease(y.ctx, &openintentv1.RenewLeaseRequest{
		IntentId: y.intent, LeaseId: lease.ID, DurationSeconds: proto.Int32(int32(lasting / time.Second)),
	})
	if y.came(t, "renew", expected, err) {
		y.same(t, lease, got)
	}
}

func (y *leasing) release(t *rapid.T) {
	lease := y.drawLease(t)
	y.releaseAs(t, y.drawCaller(t, lease), lease)
}

func (y *leasing) releaseAs(t *rapid.T, caller string, lease *model.Lease) {
	operation := "release"
	if caller == model.Operator {
		operation = "revoke"
	}
	expected := y.leases.Release(caller, lease)
	_, err := y.as(caller).Leases.ReleaseLease(y.ctx, &openintentv1.ReleaseLeaseRequest{IntentId: y.intent, LeaseId: lease.ID})
	y.came(t, operation, expected, err)
}
