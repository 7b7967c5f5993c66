package subscriptions

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"openintent/database"
)

const (
	// leaseTime is how long a consumer has the deliveries to itself without renewing its lease.
	leaseTime = 10 * time.Second
	// clockSkew is how far the clocks of two replicas may differ.
	clockSkew = time.Second
	// renewEvery is how often leases are renewed, all those of a process together.
	renewEvery = 3 * time.Second
	// stalledRenewals is how many times the lease of a consumer is renewed that waits for its client to accept a delivery.
	stalledRenewals = 2
	// releasePatience bounds how long a consumer tries to release its lease.
	releasePatience = 2 * time.Second
)

// consumer is a stream or a poster that has the lease on a subscription's deliveries, or waits for it. While it has the lease it is
// registered with the service, which renews it in the database. The lease of a consumer that hangs is not renewed, so that another
// one can take over. At worst something is delivered twice.
type consumer struct {
	service *Service
	no      int64
	name    string
	// afresh lets it begin with everything that is not acknowledged, although there is time left to acknowledge it. A client may
	// come back with the last number that it received, and acknowledge everything up to the next number that it is given. So
	// nothing newer may come before what was lost on the way.
	afresh bool

	mutex   sync.Mutex
	busy    bool // waiting for the client
	stalled int  // renewals since
}

func (s *Service) newConsumer(no int64) *consumer {
	return &consumer{service: s, no: no, name: ulid.Make().String()}
}

// acquire tries to get the lease. When another consumer has it, until says when that lease ends unless it is renewed.
func (c *consumer) acquire(ctx context.Context, seen *subscription, now time.Time) (ours bool, until time.Time, err error) {
	if seen.leasedByOther(c.name, now) {
		return false, seen.consumerUntil, nil
	}
	err = c.service.db.Write(ctx, func(tx *database.Tx) error {
		ours = false
		locked, now, err := lock(tx, c.no)
		switch {
		case err != nil:
			return err
		case !locked.active(now):
			return errEnded
		case locked.leasedByOther(c.name, now):
			until = locked.consumerUntil
			return nil
		}
		ours = true
		tx.SendWithCommit(setConsumer(c.no, c.name, now.Add(leaseTime)))
		if c.afresh {
			tx.SendWithCommit(makeDue(c.no, now))
		}
		return nil
	})
	if err == nil && ours {
		c.service.consumers.add(c)
	}
	return ours && err == nil, until, err
}

// release gives the lease back. It may be called whether or not this consumer had the lease, and after an acquire whose outcome is
// unknown.
func (c *consumer) release(ctx context.Context) error {
	c.service.consumers.remove(c)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releasePatience)
	defer cancel()
	return c.service.db.Write(ctx, func(tx *database.Tx) error {
		tx.AfterCommit(func() { c.service.messaging.WakeSubscription(c.no) })
		return tx.Pipeline(database.Statement{
			SQL: "UPDATE subscriptions SET consumer = NULL, consumer_until = NULL" +
				" WHERE subscription_no = ? AND consumer = ?",
			Args: []any{c.no, c.name},
		})
	})
}

// forgetConsumers ends the leases of consumers that died with the process before this one. It may run only where no other process
// can have a lease.
func (s *Service) forgetConsumers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, releasePatience)
	defer cancel()
	return s.db.Write(ctx, func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL: "UPDATE subscriptions SET consumer = NULL, consumer_until = NULL WHERE consumer IS NOT NULL",
		})
	})
}

// handing runs the function that hands a delivery to the client.
func (c *consumer) handing(hand func() error) error {
	c.mutex.Lock()
	c.busy, c.stalled = true, 0
	c.mutex.Unlock()
	err := hand()
	c.mutex.Lock()
	c.busy = false
	c.mutex.Unlock()
	return err
}

// lives tells whether the consumer's lease is to be renewed once more.
func (c *consumer) lives() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !c.busy {
		return true
	}
	c.stalled++
	return c.stalled <= stalledRenewals
}

// consumers are the consumers of this process that have a lease.
type consumers struct {
	mutex sync.Mutex
	all   map[*consumer]struct{}
}

func (c *consumers) add(one *consumer) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.all == nil {
		c.all = make(map[*consumer]struct{})
	}
	c.all[one] = struct{}{}
}

func (c *consumers) remove(one *consumer) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.all, one)
}

// living returns the subscriptions and names of the consumers whose leases are to be renewed.
func (c *consumers) living() (nos []int64, names []string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for one := range c.all {
		if one.lives() {
			nos, names = append(nos, one.no), append(names, one.name)
		}
	}
	return nos, names
}

// renew renews the leases of all living consumers of this process.
func (s *Service) renew(ctx context.Context) error {
	nos, names := s.consumers.living()
	for len(nos) > 0 {
		count := min(len(nos), sweepBatch)
		if err := s.renewSome(ctx, nos[:count], names[:count]); err != nil {
			return err
		}
		nos, names = nos[count:], names[count:]
	}
	return nil
}

// renewSome locks the subscriptions in order, because other replicas may be renewing leases, too.
func (s *Service) renewSome(ctx context.Context, nos []int64, names []string) error {
	return s.db.Write(ctx, func(tx *database.Tx) error {
		in, numbers := tx.In("subscription_no", nos)
		var now time.Time
		var ours []int64
		err := tx.Pipeline(database.Statement{
			SQL:  "SELECT subscription_no, consumer FROM subscriptions WHERE " + in + " ORDER BY subscription_no" + tx.ForUpdate(),
			Args: []any{numbers},
			Scan: func(row database.Row) error {
				var no int64
				var name *string
				err := row.Scan(&no, &name)
				if slices.Contains(names, orZero(name)) {
					ours = append(ours, no)
				}
				return err
			},
		}, tx.Clock(&now))
		if err != nil || len(ours) == 0 {
			return err
		}
		in, numbers = tx.In("subscription_no", ours)
		tx.SendWithCommit(database.Statement{
			SQL:  "UPDATE subscriptions SET consumer_until = ? WHERE " + in,
			Args: []any{database.Micros(now.Add(leaseTime)), numbers},
		})
		return nil
	})
}
