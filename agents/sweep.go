package agents

import (
	"context"
	"errors"
	"time"

	"openintent/database"
)

// sweepBatch is how many agents one transaction of a sweep judges.
const sweepBatch = 100

// Sweep makes lasting what time has brought: silence, and drain timeouts that have run out. It goes on past agents that
// fail, or that somebody else is changing, and returns the failures; the next sweep takes them up again.
func (s *Service) Sweep(ctx context.Context) error {
	var failures []error
	for after := ""; ; {
		var ids []string
		err := s.db.ReadStatement(ctx, func(tx *database.Tx) (err error) {
			ids, err = overdue(tx, tx.Now(), after, sweepBatch)
			return err
		})
		if err != nil || len(ids) == 0 {
			return errors.Join(append(failures, err)...)
		}
		after = ids[len(ids)-1]
		drained, err := s.judge(ctx, ids)
		failures = append(failures, err)
		for _, id := range drained {
			failures = append(failures, s.endDrain(ctx, id))
		}
	}
}

// judge changes the status of silent agents in one transaction. It leaves those whose drain timeout has run out to
// transactions of their own, because a departure has further effects, and returns their ids.
func (s *Service) judge(ctx context.Context, ids []string) (drained []string, err error) {
	err = s.db.Write(ctx, func(tx *database.Tx) error {
		drained = nil
		agents, err := lockAvailable(tx, ids)
		if err != nil {
			return err
		}
		now := tx.Now()
		for _, agent := range agents {
			ends, err := s.judgeOne(tx, agent, now)
			if err != nil {
				return err
			}
			if ends {
				drained = append(drained, agent.ID)
			}
		}
		return nil
	})
	return drained, err
}

// judgeOne takes a locked agent through every status that its silence has brought by now, so that one that was silent
// for long becomes unhealthy and then dead. It tells whether the agent's drain timeout has run out.
func (s *Service) judgeOne(tx *database.Tx, agent *Agent, now time.Time) (drained bool, err error) {
	before := agent.presence()
	for {
		next, reason, due := agent.due(now)
		if !due || next == StatusDeregistered {
			drained = due
			break
		}
		from := agent.presence()
		agent.become(next, now)
		s.changed(tx, from, agent, reason)
	}
	if agent.presence() == before {
		return drained, nil
	}
	return drained, save(tx, agent)
}

// endDrain deregisters an agent whose drain timeout has run out, if that still holds once it is locked.
func (s *Service) endDrain(ctx context.Context, id string) error {
	_, err := s.move(ctx, id, func(a *Agent, now time.Time) (Status, string, error) {
		if a.Status == StatusDraining && a.drained(now) {
			return StatusDeregistered, reasonDrained, nil
		}
		return a.Status, "", nil
	})
	return err
}
