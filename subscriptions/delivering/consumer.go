package delivering

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"openintent/internal/database"
	"openintent/subscriptions/record"
)

const (
	// renewEvery is how often a process renews all its leases.
	renewEvery = 3 * time.Second
	// renewBatch bounds how many leases one transaction renews.
	renewBatch = 500
	// stalledRenewals is how many times the lease of a consumer is renewed while it waits for its client to accept a delivery.
	stalledRenewals = 2
	// releasePatience bounds how long a consumer tries to release its lease.
	releasePatience = 2 * time.Second
)

// Consumer is a stream or a poster that has the lease on a subscription's deliveries, or waits for it. While it has the lease,
// it is registered with the service, which renews the lease in the database. The service does not renew the lease of a consumer
// that hangs, so that another one can take over. In the worst case, something is delivered twice.
type Consumer struct {
	supplier *Supplier
	no       int64
	Name     string
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

// NewConsumer makes a consumer of a subscription. It has no lease yet.
func (s *Supplier) NewConsumer(no int64) *Consumer {
	return &Consumer{supplier: s, no: no, Name: ulid.Make().String()}
}

// Acquire tries to get the lease. taken has what was wanted, or is nil if somebody else has the lease. until is when the present lease ends
// unless it is renewed. From then on, a stream that had the lease before can store nothing that it has sent.
func (c *Consumer) Acquire(
	ctx context.Context, seen *record.Subscription, now time.Time, want record.Wanted,
) (taken *record.Change, until time.Time, err error) {
	if !c.takesOver && seen.LeasedByOther(c.Name, now) {
		return nil, seen.ConsumerUntil, nil
	}
	begun := record.ProcessTime()
	err = c.supplier.changes.Change(ctx, c.no, want, func(found *record.Change) error {
		taken = nil
		locked, now := found.Locked, found.Now
		switch {
		case !locked.Active(now):
			return record.ErrEnded
		case !c.takesOver && locked.LeasedByOther(c.Name, now):
			until = locked.ConsumerUntil
			return nil
		}
		if locked.LeasedByOther(c.Name, now) { // it hears at once that it has lost the lease
			found.Tx.AfterCommit(func() { c.supplier.messaging.WakeSubscription(c.no) })
		}
		c.replaced = locked.Consumer != ""
		taken, until = found, now.Add(record.LeaseTime)
		locked.Consumer, locked.ConsumerUntil = c.Name, until
		locked.ReservedThrough = max(locked.ReservedThrough, c.given)
		locked.Abandon()
		if c.afresh {
			found.Also(record.MakeDue(c.no, now))
		}
		return nil
	})
	if err != nil {
		return nil, until, err
	}
	if taken != nil {
		c.takesOver = false
		c.Extend(until, begun)
		c.supplier.consumers.add(c)
	}
	return taken, until, nil
}

// mayHaveGiven notes that the stream may have given the numbers up to this one.
func (c *Consumer) mayHaveGiven(number int64) { c.given = max(c.given, number) }

// has reports whether a subscription still has the consumer, and all numbers that it may have given. Otherwise the consumer must acquire the
// lease again.
func (c *Consumer) has(seen *record.Subscription) bool {
	return seen.Consumer == c.Name && c.given <= max(seen.LastNumber, seen.ReservedThrough)
}

// Confirm renews the lease, even after it has run out, if nobody else has taken it. It returns record.ErrConsumerLost if somebody has.
func (c *Consumer) Confirm(ctx context.Context) error {
	var until time.Time
	begun := record.ProcessTime()
	err := c.supplier.changes.Change(ctx, c.no, record.Wanted{}, func(found *record.Change) error {
		if err := found.Locked.Admits(c.Name, found.Now); err != nil {
			return err
		}
		until = found.Now.Add(record.LeaseTime)
		found.Locked.ConsumerUntil = until
		return nil
	})
	if err == nil {
		c.Extend(until, begun)
	}
	return err
}

// Extend notes that the lease was renewed by a transaction that began at a time of the process's clock.
func (c *Consumer) Extend(until, begun time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.until, c.renewing = until, begun
}

// Leased reports whether it is certain that nobody else has taken the lease, whatever happened in the database since the lease
// was renewed. A lease that seems to last longer than any lease can counts for nobody (record.Subscription.LeasedByOther).
func (c *Consumer) Leased(now time.Time) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	left := c.until.Sub(now)
	return left > record.ClockSkew && left <= record.LeaseTime+record.ClockSkew && record.ProcessTime().Sub(c.renewing) < record.LeaseTime-record.ClockSkew
}

// Release gives the lease back. It may be called even if this consumer never had the lease, and after an acquire whose outcome
// is unknown. settled says that everything is stored that this stream, or one that it replaced, may have sent. Otherwise the
// subscription keeps the consumer's name as a mark, so that the next stream is careful (send_before_storing.go).
func (c *Consumer) Release(ctx context.Context, settled bool) error {
	c.supplier.consumers.remove(c)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releasePatience)
	defer cancel()
	return c.supplier.db.Write(ctx, func(tx *database.Tx) error {
		tx.AfterCommit(func() { c.supplier.messaging.WakeSubscription(c.no) })
		return tx.Pipeline(database.Statement{
			SQL: "UPDATE subscriptions SET consumer = CASE WHEN ? THEN NULL ELSE consumer END, consumer_until = NULL," +
				" reserved_through = CASE WHEN ? THEN 0 ELSE reserved_through END WHERE subscription_no = ? AND consumer = ?",
			Args: []any{settled, settled, c.no, c.Name},
		})
	})
}

// forgetConsumers ends the leases of consumers that died with the previous process. It may run only where no other process can
// have a lease.
func (s *Supplier) forgetConsumers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, releasePatience)
	defer cancel()
	return s.db.Write(ctx, func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL: "UPDATE subscriptions SET consumer_until = NULL WHERE consumer IS NOT NULL",
		})
	})
}

// whileBusy runs the function that hands a delivery to the client, and marks the consumer as busy while it runs.
func (c *Consumer) whileBusy(hand func() error) error {
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
func (c *Consumer) lives() bool {
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
	byName map[string]*Consumer
}

// count returns how many consumers there are, and how many of them wait for their clients.
func (c *consumers) count() (all, busy int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, one := range c.byName {
		one.mutex.Lock()
		if one.busy {
			busy++
		}
		one.mutex.Unlock()
	}
	return len(c.byName), busy
}

func (c *consumers) add(one *Consumer) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.byName == nil {
		c.byName = make(map[string]*Consumer)
	}
	c.byName[one.Name] = one
}

func (c *consumers) remove(one *Consumer) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.byName, one.Name)
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
			one.Extend(until, begun)
		}
	}
}

// Consuming returns how many consumers of this process have a lease, and how many of these wait for their clients.
func (s *Supplier) Consuming() (all, busy int) { return s.consumers.count() }

// DropConsumer forgets a consumer that has lost its lease, or has released it with a change.
func (s *Supplier) DropConsumer(c *Consumer) { s.consumers.remove(c) }

// Renew renews the leases of all living consumers of this process.
func (s *Supplier) Renew(ctx context.Context) error {
	nos, names := s.consumers.living()
	for len(nos) > 0 {
		count := min(len(nos), renewBatch)
		if err := s.renewSome(ctx, nos[:count], names[:count]); err != nil {
			return err
		}
		nos, names = nos[count:], names[count:]
	}
	return nil
}

// renewSome renews some leases. It locks the subscriptions in order, because other replicas may also be renewing leases.
func (s *Supplier) renewSome(ctx context.Context, nos []int64, names []string) error {
	var renewed []string
	var until time.Time
	begun := record.ProcessTime()
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
				if name != nil && slices.Contains(names, *name) {
					ours, renewed = append(ours, no), append(renewed, *name)
				}
				return err
			},
		}, tx.Clock(&now))
		if err != nil || len(ours) == 0 {
			return err
		}
		until = now.Add(record.LeaseTime)
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
