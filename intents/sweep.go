package intents

import (
	"context"
	"errors"

	"openintent/internal/caller"
	"openintent/internal/database"
)

// Bounds of one run of the sweeper.
const (
	sweptIntents = 500
	sweptEntries = 500
)

// sweeping bounds how many intents one run looks at, and how many access entries of each.
type sweeping struct{ intents, entries int }

// Sweep logs the expiry of each access entry once. Nothing waits for it, because the rules decide by time. Sweep also makes the
// silence of coordinators that were heard ahead of the clock count from now. It uses one transaction per intent, and leaves
// what is too much for one run to the next. Several replicas may sweep simultaneously.
func (s *Service) Sweep(ctx context.Context) error {
	var lapsed, ahead []int64
	err := s.db.Read(ctx, func(tx *database.Tx) (err error) {
		if lapsed, err = findIntentsWithLapsedEntries(tx, tx.Now(), s.sweeping.intents); err != nil {
			return err
		}
		ahead, err = findIntentsHeardAhead(tx, tx.Now().Add(maxLead), s.sweeping.intents)
		return err
	})
	if err != nil {
		return err
	}
	var failures []error
	for _, no := range lapsed {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failures = append(failures, s.db.Write(ctx, func(tx *database.Tx) error { return s.logExpiries(tx, no) }))
	}
	for _, no := range ahead {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failures = append(failures, s.db.Write(ctx, func(tx *database.Tx) error { return hearNow(tx, no) }))
	}
	return errors.Join(failures...)
}

// hearNow gives heartbeats that lie ahead of the clock the present time, because the clock was set back since. Otherwise a
// coordinator that fell silent would count as heard until the clock reached that time again.
func hearNow(tx *database.Tx, intentNo int64) error {
	heads, err := Lock(tx, intentNo)
	if err != nil {
		return err
	}
	head := heads[0]
	coordinators, err := liveCoordinators(tx, head)
	if err != nil {
		return err
	}
	for _, coordinator := range coordinators {
		if now := head.Now(); coordinator.LastHeartbeatAt.Sub(now) > maxLead {
			coordinator.LastHeartbeatAt = now
			if err := updateCoordinator(tx, coordinator); err != nil {
				return err
			}
			head.RaiseEpoch()
		}
	}
	return nil
}

func (s *Service) logExpiries(tx *database.Tx, intentNo int64) error {
	heads, err := Lock(tx, intentNo)
	if err != nil {
		return err
	}
	head := heads[0]
	lapsed, err := listLapsedEntries(tx, intentNo, head.Now(), s.sweeping.entries)
	if err != nil || len(lapsed) == 0 {
		return err
	}
	ids := make([]string, len(lapsed))
	for i, entry := range lapsed {
		ids[i] = entry.ID
		if err := log(head, caller.Caller{}, caller.System, "access_expired", describeEntry(entry)); err != nil {
			return err
		}
	}
	return markExpiryLogged(tx, intentNo, ids)
}
