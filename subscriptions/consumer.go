package subscriptions

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"openintent/internal/database"
)

const (
	// leaseTime is how long a consumer has the deliveries to itself without renewing its lease.
	leaseTime = 10 * time.Second
	// clockSkew is how far the clocks of two replicas may differ.
	clockSkew = time.Second
	// renewEvery is how often a process renews all its leases.
	renewEvery = 3 * time.Second
	// stalledRenewals is how many times the lease of a consumer is renewed while it waits for its client to accept a delivery.
	stalledRenewals = 2
	// releasePatience bounds how long a consumer tries to release its lease.
	releasePatience = 2 * time.Second
)

// consumer is a stream or a poster that has the lease on a subscription's deliveries, or waits for it. While it has the lease,
// it is registered with the service, which renews the lease in the database. The service does not renew the lease of a consumer
// that hangs, so that another one can take over. In the worst case, something is delivered twice.
type consumer struct {
	service *Service
	no      int64
	name    string
	// afresh makes the consumer begin with everything that is not acknowledged, even if there is time left to acknowledge it. A
	// client may reconnect after the last number that it received, and acknowledge everything up to the next number that it
	// receives. So nothing newer may come before what was lost on the way.
	afresh bool
	// replaced is true when the stream that had the lease before did not release it, or not with everything stored.
	replaced bool
	// takesOver makes the consumer take the lease once from whoever has it.
	takesOver bool
	// given is the highest number that this stream may have given. It gives none of these again, also if the database loses them. Otherwise an
	// acknowledgement of what is lost would acknowledge something else.
	given int64

	mutex   sync.Mutex
	busy    bool // waiting for the client
	stalled int  // renewals since it began to wait
	// until is when the lease ends, as far as this process knows. renewing is when this process began to renew it for the last
	// time, by the process's own clock, which nobody sets.
	until, renewing time.Time
}

func (s *Service) newConsumer(no int64) *consumer {
	return &consumer{service: s, no: no, name: ulid.Make().String()}
}

// acquire tries to get the lease. taken has what was wanted, or is nil if somebody else has the lease. until is when the present lease ends
// unless it is renewed. From then on, a stream that had the lease before can store nothing that it has sent.
func (c *consumer) acquire(
	ctx context.Context, seen *subscription, now time.Time, want wanted,
) (taken *change, until time.Time, err error) {
	if !c.takesOver && seen.leasedByOther(c.name, now) {
		return nil, seen.consumerUntil, nil
	}
	begun := processTime()
	err = c.service.changes.change(ctx, c.no, want, func(found *change) error {
		taken = nil
		locked, now := found.locked, found.now
		switch {
		case !locked.active(now):
			return errEnded
		case !c.takesOver && locked.leasedByOther(c.name, now):
			until = locked.consumerUntil
			return nil
		}
		if locked.leasedByOther(c.name, now) { // it hears at once that it has lost the lease
			found.tx.AfterCommit(func() { c.service.messaging.WakeSubscription(c.no) })
		}
		c.replaced = locked.consumer != ""
		taken, until = found, now.Add(leaseTime)
		locked.consumer, locked.consumerUntil = c.name, until
		locked.reservedThrough = max(locked.reservedThrough, c.given)
		locked.abandon()
		if c.afresh {
			found.also(makeDue(c.no, now))
		}
		return nil
	})
	if err != nil {
		return nil, until, err
	}
	if taken != nil {
		c.takesOver = false
		c.extend(until, begun)
		c.service.consumers.add(c)
	}
	return taken, until, nil
}

// mayHaveGiven notes that the stream may have given the numbers up to this one.
func (c *consumer) mayHaveGiven(number int64) { c.given = max(c.given, number) }

// has reports whether a subscription still has the consumer, and all numbers that it may have given. Otherwise the consumer must acquire the
// lease again.
func (c *consumer) has(seen *subscription) bool {
	return seen.consumer == c.name && c.given <= max(seen.lastNumber, seen.reservedThrough)
}

// confirm renews the lease, even after it has run out, if nobody else has taken it. It returns errConsumerLost if somebody has.
func (c *consumer) confirm(ctx context.Context) error {
	var until time.Time
	begun := processTime()
	err := c.service.changes.change(ctx, c.no, wanted{}, func(found *change) error {
		if err := found.locked.admits(c.name, found.now); err != nil {
			return err
		}
		until = found.now.Add(leaseTime)
		found.locked.consumerUntil = until
		return nil
	})
	if err == nil {
		c.extend(until, begun)
	}
	return err
}

// extend notes that the lease was renewed by a transaction that began at a time of the process's clock.
func (c *consumer) extend(until, begun time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.until, c.renewing = until, begun
}

// processTime reads the process's own clock. It goes on steadily, whatever happens to the database's clock.
func processTime() time.Time { return time.Now() } //nolint:forbidigo // see above

// leased reports whether it is certain that nobody else has taken the lease, whatever happened in the database since the lease
// was renewed. A lease that seems to last longer than any lease can counts for nobody (subscription.leasedByOther).
func (c *consumer) leased(now time.Time) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	left := c.until.Sub(now)
	return left > clockSkew && left <= leaseTime+clockSkew && processTime().Sub(c.renewing) < leaseTime-clockSkew
}

// release gives the lease back. It may be called even if this consumer never had the lease, and after an acquire whose outcome
// is unknown. settled says that everything is stored that this stream, or one that it replaced, may have sent. Otherwise the
// subscription keeps the consumer's name as a mark, so that the next stream is careful (ahead.go).
func (c *consumer) release(ctx context.Context, settled bool) error {
	c.service.consumers.remove(c)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releasePatience)
	defer cancel()
	return c.service.db.Write(ctx, func(tx *database.Tx) error {
		tx.AfterCommit(func() { c.service.messaging.WakeSubscription(c.no) })
		return tx.Pipeline(database.Statement{
			SQL: "UPDATE subscriptions SET consumer = CASE WHEN ? THEN NULL ELSE consumer END, consumer_until = NULL," +
				" reserved_through = CASE WHEN ? THEN 0 ELSE reserved_through END WHERE subscription_no = ? AND consumer = ?",
			Args: []any{settled, settled, c.no, c.name},
		})
	})
}

// forgetConsumers ends the leases of consumers that died with the previous process. It may run only where no other process can
// have a lease.
func (s *Service) forgetConsumers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, releasePatience)
	defer cancel()
	return s.db.Write(ctx, func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL: "UPDATE subscriptions SET consumer_until = NULL WHERE consumer IS NOT NULL",
		})
	})
}

// whileBusy runs the function that hands a delivery to the client, and marks the consumer as busy while it runs.
func (c *consumer) whileBusy(hand func() error) error {
	c.mutex.Lock()
	c.busy, c.stalled = true, 0
	c.mutex.Unlock()
	err := hand()
	c.mutex.Lock()
	c.busy = false
	c.mutex.Unlock()
	return err
}

// lives reports whether to renew the consumer's lease once more.
func (c *consumer) lives() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !c.busy {
		return true
	}
	c.stalled++
	return c.stalled <= stalledRenewals
}

// consumers keeps the consumers of this process that have a lease, by name.
type consumers struct {
	mutex  sync.Mutex
	byName map[string]*consumer
}

func (c *consumers) add(one *consumer) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.byName == nil {
		c.byName = make(map[string]*consumer)
	}
	c.byName[one.name] = one
}

func (c *consumers) remove(one *consumer) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.byName, one.name)
}

// living returns the subscriptions and names of the consumers whose leases must be renewed.
func (c *consumers) living() (nos []int64, names []string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for name, one := range c.byName {
		if one.lives() {
			nos, names = append(nos, one.no), append(names, name)
		}
	}
	return nos, names
}

// extend notes that the leases of some consumers were renewed.
func (c *consumers) extend(names []string, until, begun time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, name := range names {
		if one := c.byName[name]; one != nil {
			one.extend(until, begun)
		}
	}
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

// renewSome renews some leases. It locks the subscriptions in order, because other replicas may also be renewing leases.
func (s *Service) renewSome(ctx context.Context, nos []int64, names []string) error {
	var renewed []string
	var until time.Time
	begun := processTime()
	err := s.db.Write(ctx, func(tx *database.Tx) error {
		renewed = nil
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
					ours, renewed = append(ours, no), append(renewed, *name)
				}
				return err
			},
		}, tx.Clock(&now))
		if err != nil || len(ours) == 0 {
			return err
		}
		until = now.Add(leaseTime)
		in, numbers = tx.In("subscription_no", ours)
		tx.SendWithCommit(database.Statement{
			SQL:  "UPDATE subscriptions SET consumer_until = ? WHERE " + in,
			Args: []any{database.Micros(until), numbers},
		})
		return nil
	})
	if err == nil {
		s.consumers.extend(renewed, until, begun)
	}
	return err
}
