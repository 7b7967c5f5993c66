package leases

import (
	"context"
	"slices"
	"time"

	"openintent/internal/database"
)

const (
	// maxWaiting bounds the calls that wait in an intent, and maxWaitingEach those of one agent.
	maxWaiting     = 1000
	maxWaitingEach = 20
)

// acquire makes attempts until the scope is granted or the patience is over. Between two it waits to be woken, and shows now
// and then that it is alive.
func (s *Service) acquire(ctx context.Context, w wanted, patience time.Duration) (*Lease, error) {
	if patience == 0 {
		lease, _, err := s.attempt(ctx, w, 0, false)
		return lease, err
	}
	watch := s.messaging.WatchLeases(w.agentID, w.intentNo)
	defer watch.Close()
	until, over := s.db.Now().Add(patience), time.NewTimer(patience)
	defer over.Stop()
	lease, place, err := s.attempt(ctx, w, 0, true)
	defer func() { s.leaveLine(w.intentNo, place) }()
	beat := time.NewTicker(s.lookAgain)
	defer beat.Stop()
	for err == nil && lease == nil {
		look, last := false, false
		select {
		case <-watch.C():
			look, err = s.mayBeNext(ctx, w, place)
		case <-beat.C:
			if look, err = s.mayBeNext(ctx, w, place); err == nil && !look {
				look, err = s.lostPlace(ctx, w.intentNo, place)
			}
		case <-over.C:
			look, last = true, true
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if err == nil && s.clockEndsWaits && !s.db.Now().Before(until) {
			look, last = true, true
		}
		if err == nil && look {
			lease, place, err = s.attempt(ctx, w, place, !last)
		}
		if database.IsUnavailable(err) && !last {
			s.logger.Warn("a call that waits for a lease could not look; it looks again", "error", err)
			err = nil
		}
	}
	return lease, err
}

// mayBeNext reports whether it is worth to lock the intent: nobody waits longer for the scope, and it seems to be free, or the call
// has the lease already and does not know it.
func (s *Service) mayBeNext(ctx context.Context, w wanted, place int64) (bool, error) {
	var before int64
	err := s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		now, latest := s.livingAt(s.db.Now())
		return tx.Pipeline(database.ReadValue(&before, `SELECT
			(SELECT count(*) FROM lease_waiters WHERE intent_no = ? AND scope = ? AND place < ? AND `+living+`) +
			(SELECT count(*) FROM leases WHERE intent_no = ? AND scope = ? AND due_at > ? AND id <> ?)`,
			w.intentNo, w.scope, place, now, latest, w.intentNo, w.scope, now, w.leaseID))
	})
	return before == 0, err
}

// lostPlace notes that a call is alive, without the lock of the intent's head. It reports whether the call has lost its place,
// because it stood still for too long.
func (s *Service) lostPlace(ctx context.Context, intentNo, place int64) (lost bool, err error) {
	err = s.db.Write(ctx, func(tx *database.Tx) error {
		noted := tx.Gorm().Model(&waiter{}).Where("intent_no = ? AND place = ?", intentNo, place).
			Update("alive_until", database.Micros(s.alive(s.db.Now())))
		lost = noted.RowsAffected == 0
		return noted.Error
	})
	return lost, err
}

// leaveLine gives up a place, so that the next one does not wait for it. If that fails, the place is void when its time as a
// living one is over.
func (s *Service) leaveLine(intentNo, place int64) {
	if place == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.lookAgain)
	defer cancel()
	err := s.db.Write(ctx, func(tx *database.Tx) error {
		tx.AfterCommit(func() { s.messaging.WakeLeases(intentNo) })
		return leave(tx, intentNo, place)
	})
	if err != nil {
		s.logger.Warn("a call that waited for a lease could not leave its place; the next one waits a little for it", "error", err)
	}
}

// waiter is a call that waits for a scope.
type waiter struct {
	IntentNo   int64 `gorm:"primaryKey;autoIncrement:false"`
	Place      int64 `gorm:"primaryKey;autoIncrement:false"`
	Scope      string
	AgentID    string
	AliveUntil int64
}

// TableName is for gorm.
func (waiter) TableName() string { return "lease_waiters" }

// line are the living calls that wait for one scope, in the order of asking.
type line []waiter

// stand returns the place of a call in the line, or 0 if it has none (any more).
func (l line) stand(place int64) int64 {
	if slices.ContainsFunc(l, func(w waiter) bool { return w.Place == place }) {
		return place
	}
	return 0
}

// first reports whether nobody waits before the given place; without a place everybody does.
func (l line) first(place int64) bool { return len(l) == 0 || l[0].Place == place }

// line reads those who wait for a scope.
func (c *change) line(scope string) (line, error) {
	var waiting line
	now, latest := c.service.livingAt(c.head.Now())
	err := c.tx.Gorm().Where("intent_no = ? AND scope = ? AND "+living, c.head.IntentNo, scope, now, latest).Order("place").Find(&waiting).Error
	return waiting, err
}

// wait gives a call a place behind all others, or notes that it is alive if it has one. It refuses a call that would close a
// circle.
func (c *change) wait(w wanted, place int64, holding *Lease) (int64, error) {
	alive := database.Micros(c.service.alive(c.head.Now()))
	if place != 0 {
		return place, c.tx.Gorm().Model(&waiter{}).Where("intent_no = ? AND place = ?", w.intentNo, place).
			Update("alive_until", alive).Error
	}
	waiting, err := c.everyone()
	if err != nil {
		return 0, err
	}
	if len(waiting) >= maxWaiting || countOf(waiting, w.agentID) >= maxWaitingEach {
		return 0, errTooManyWait
	}
	if circle := circleThrough(w.agentID, w.scope, waiting, holding); circle != nil {
		return 0, circular(circle)
	}
	place = database.Micros(c.head.Tick())
	return place, c.tx.Gorm().Create(&waiter{
		IntentNo: w.intentNo, Place: place, Scope: w.scope, AgentID: w.agentID, AliveUntil: alive,
	}).Error
}

// blocked is a call that waits, with the agent that holds the scope; the holder is empty when the scope is free.
type blocked struct{ agentID, scope, holder string }

// everyone reads all who wait in the intent, in the order of asking, and removes those that are dead.
func (c *change) everyone() (waiting []blocked, err error) {
	now, latest := c.service.livingAt(c.head.Now())
	err = c.tx.Pipeline(
		database.Statement{
			SQL:  "DELETE FROM lease_waiters WHERE intent_no = ? AND NOT (" + living + ")",
			Args: []any{c.head.IntentNo, now, latest},
		},
		database.Statement{
			SQL: `SELECT w.agent_id, w.scope, COALESCE(l.agent_id, '') FROM lease_waiters AS w
				LEFT JOIN leases AS l ON l.intent_no = w.intent_no AND l.scope = w.scope
				WHERE w.intent_no = ? ORDER BY w.place`,
			Args: []any{c.head.IntentNo},
			Scan: func(row database.Row) error {
				var b blocked
				err := row.Scan(&b.agentID, &b.scope, &b.holder)
				waiting = append(waiting, b)
				return err
			},
		})
	return waiting, err
}

// deadFor is how long a place has been void when the sweep removes it.
const deadFor = time.Minute

// removeDeadWaiters removes the places of calls that have shown no sign of life for long. Nobody counts them any more, so this takes
// no intent's lock.
func (s *Service) removeDeadWaiters(ctx context.Context) error {
	now, latest := s.livingAt(s.db.Now())
	deadline, dead := now-deadFor.Microseconds(), int64(0)
	err := s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		return tx.Pipeline(database.ReadValue(&dead, "SELECT count(*) FROM lease_waiters WHERE NOT ("+living+")", deadline, latest))
	})
	if err != nil || dead == 0 {
		return err
	}
	return s.db.Write(ctx, func(tx *database.Tx) error {
		return tx.Gorm().Where("NOT ("+living+")", deadline, latest).Delete(&waiter{}).Error
	})
}

// living selects the places of living calls, with the arguments that livingAt returns.
const living = "alive_until > ? AND alive_until <= ?"

// farAhead is by how much a sign of life may outlast one that is shown now, because servers' clocks differ a little. One that lies further
// ahead comes from a clock that was set back since. It counts for nobody, so that a call that died before does not hold up the line. A
// living call shows its next sign soon, or asks for another place.
const farAhead = time.Minute

func (s *Service) livingAt(now time.Time) (earliest, latest int64) {
	return database.Micros(now), database.Micros(s.alive(now).Add(farAhead))
}

func countOf(waiting []blocked, agentID string) (count int) {
	for _, b := range waiting {
		if b.agentID == agentID {
			count++
		}
	}
	return count
}

// leave removes a call's place among those who wait.
func leave(tx *database.Tx, intentNo, place int64) error {
	if place == 0 {
		return nil
	}
	return tx.Gorm().Where("intent_no = ? AND place = ?", intentNo, place).Delete(&waiter{}).Error
}
