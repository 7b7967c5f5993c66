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
	// consumerPatience is how long a consumer that does not say that it lives keeps the deliveries to itself.
	consumerPatience = 10 * time.Second
	// clockSkew is how far the clocks of two replicas may lie apart.
	clockSkew = time.Second
	// renewEvery is how often consumers say so, all of a process in one statement.
	renewEvery = 3 * time.Second
	// stalledTurns is for how many of these turns a consumer is vouched for that waits for its client to take a delivery.
	stalledTurns = 2
	// leavingPatience bounds how long a consumer that ends tries to say so.
	leavingPatience = 2 * time.Second
)

// consumer is one stream or poster that has a subscription's deliveries to itself, or waits to have them. While it has
// them it is registered with the service, which renews that in the store. One that hangs is not vouched for any more, so
// that another can take over; at worst something is delivered twice.
type consumer struct {
	service *Service
	no      int64
	name    string
	// afresh lets it begin with everything that is not acknowledged, though the time for that is not over: a client that comes
	// back with the last number that it received acknowledges everything up to the next one that it is given, so nothing
	// newer may come before what was lost on the way.
	afresh bool

	mutex   sync.Mutex
	busy    bool // waiting for the client
	stalled int  // turns since
}

func (s *Service) newConsumer(no int64) *consumer {
	return &consumer{service: s, no: no, name: ulid.Make().String()}
}

// take tries to have the deliveries. When another consumer has them it gives until when at least.
func (c *consumer) take(ctx context.Context, seen *subscription, now time.Time) (ours bool, until time.Time, err error) {
	if seen.held(c.name, now) {
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
		case locked.held(c.name, now):
			until = locked.consumerUntil
			return nil
		}
		ours = true
		tx.SendWithCommit(setConsumer(c.no, c.name, now.Add(consumerPatience)))
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

// leave lets others have the deliveries. It may be called whether or not this consumer had them, and after a take whose
// outcome is unknown.
func (c *consumer) leave(ctx context.Context) error {
	c.service.consumers.remove(c)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leavingPatience)
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

// forgetConsumers lets others have the deliveries of consumers that died with the process before this one. It may run only
// where no other process can have any.
func (s *Service) forgetConsumers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, leavingPatience)
	defer cancel()
	return s.db.Write(ctx, func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL: "UPDATE subscriptions SET consumer = NULL, consumer_until = NULL WHERE consumer IS NOT NULL",
		})
	})
}

// handing runs what hands a delivery to the client.
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

// lives tells whether the service vouches for the consumer one more time.
func (c *consumer) lives() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !c.busy {
		return true
	}
	c.stalled++
	return c.stalled <= stalledTurns
}

// consumers are those of this process that have their subscriptions' deliveries.
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

// living gives the subscriptions and names of those to be vouched for.
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

// renew says of all living consumers of this process that they live.
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

// renewSome locks the subscriptions in order: others may be renewing theirs.
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
			Args: []any{database.Micros(now.Add(consumerPatience)), numbers},
		})
		return nil
	})
}
