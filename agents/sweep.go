package agents

import (
	"context"
	"errors"
	"time"

	"openintent/internal/database"
)

// sweepBatch is how many agents one transaction of a sweep judges at most.
const sweepBatch = 100

// Sweep stores the changes of status that the passing of time has caused: silence, and drain timeouts that have run out. It
// skips agents that another transaction is changing, goes on after a failure, and returns all failures; the next sweep tries
// these agents again. It judges silence as of its own beginning, because the server may freeze during the sweep.
func (s *Service) Sweep(ctx context.Context) error {
	h := s.attention.begin(s.db.Now())
	err := s.sweep(ctx, h)
	if !database.IsUnavailable(err) && ctx.Err() == nil {
		s.attention.end(h)
	}
	return err
}

func (s *Service) sweep(ctx context.Context, h hearing) error {
	var failures []error
	for after := ""; ; {
		var ids []string
		err := s.db.ReadStatement(ctx, func(tx *database.Tx) (err error) {
			ids, err = overdue(tx, h, after, sweepBatch)
			return err
		})
		if err != nil || len(ids) == 0 {
			return errors.Join(append(failures, err)...)
		}
		after = ids[len(ids)-1]
		drained, err := s.judge(ctx, ids, h)
		failures = append(failures, err)
		for _, id := range drained {
			failures = append(failures, s.endDrain(ctx, id))
		}
	}
}

// judge changes the status of silent agents in one transaction. It returns the ids of the agents whose drain timeout has run
// out: each of these needs a transaction for itself, because a departure has further effects.
func (s *Service) judge(ctx context.Context, ids []string, h hearing) (drained []string, err error) {
	err = s.db.Write(ctx, func(tx *database.Tx) error {
		drained = nil
		agents, err := lockAvailable(tx, ids)
		if err != nil {
			return err
		}
		for _, agent := range agents {
			ends, err := s.judgeOne(tx, agent, h)
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

// judgeOne takes a locked agent through every status that its silence calls for, so an agent that was silent for long becomes
// unhealthy and then dead. It reports whether the agent's drain timeout has run out.
func (s *Service) judgeOne(tx *database.Tx, agent *Agent, h hearing) (drained bool, err error) {
	changed := agent.setBack(h.now)
	for {
		next, reason, due := agent.due(h)
		if !due || next == StatusDeregistered {
			drained = due
			break
		}
		from := agent.presence()
		agent.suspectSilent(next, h.now)
		s.changed(tx, from, agent, reason)
		changed = true
	}
	if !changed {
		return drained, nil
	}
	return drained, save(tx, agent)
}

// endDrain deregisters an agent whose drain timeout has run out, if that is still so once the agent is locked.
func (s *Service) endDrain(ctx context.Context, id string) error {
	_, err := s.move(ctx, id, func(a *Agent, now time.Time) (Status, string, error) {
		if a.Status == StatusDraining && a.drained(now) {
			return StatusDeregistered, reasonDrained, nil
		}
		return a.Status, "", nil
	})
	return err
}
