package agents

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
)

// UpdateAgentStatus moves an agent along its lifecycle, for the agent itself, a key bound to it, or the operator. A request
// for the status that the agent already has changes nothing but the note, if it has one.
func (s *Service) UpdateAgentStatus(
	ctx context.Context, req *openintentv1.UpdateAgentStatusRequest,
) (*openintentv1.Agent, error) {
	if _, err := owner(ctx, req.GetAgentId()); err != nil {
		return nil, err
	}
	if err := caller.CheckText("status_note", req.GetStatusNote()); err != nil {
		return nil, err
	}
	if err := caller.CheckText("reason", req.GetReason()); err != nil {
		return nil, err
	}
	agent, err := s.move(ctx, req.GetAgentId(), func(a *Agent, _ time.Time) (Status, string, error) {
		if req.ExpectedVersion != nil && req.GetExpectedVersion() != a.Version {
			return "", "", versionMismatch(a.Version)
		}
		next := statusOf(req.GetStatus())
		if next != a.Status && !a.Status.mayBecome(next) {
			return "", "", invalidTransition(a.Status, next)
		}
		set(&a.Note, req.StatusNote)
		return next, req.GetReason(), nil
	})
	return reply(agent, err)
}

// DeregisterAgent takes an agent out of service, from any status. Repeating it is harmless.
func (s *Service) DeregisterAgent(
	ctx context.Context, req *openintentv1.DeregisterAgentRequest,
) (*emptypb.Empty, error) {
	if _, err := owner(ctx, req.GetAgentId()); err != nil {
		return nil, err
	}
	_, err := s.move(ctx, req.GetAgentId(), func(*Agent, time.Time) (Status, string, error) {
		return StatusDeregistered, reasonDeregistered, nil
	})
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}

// Heartbeat notes a sign of life, for the agent itself, a key bound to it, or the operator. A draining agent stays
// draining, whatever it reports, until it registers. A dead agent comes back with the record that it had.
func (s *Service) Heartbeat(
	ctx context.Context, req *openintentv1.HeartbeatRequest,
) (*openintentv1.HeartbeatResponse, error) {
	c, err := owner(ctx, req.GetAgentId())
	if err != nil {
		return nil, err
	}
	if err := caller.CheckText("status_note", req.GetStatusNote()); err != nil {
		return nil, err
	}
	drains := req.GetStatus() == openintentv1.AgentStatus_AGENT_STATUS_DRAINING
	var agent *Agent
	var now time.Time
	err = s.db.Write(ctx, func(tx *database.Tx) (err error) {
		if agent, err = lock(tx, req.GetAgentId()); err != nil {
			return err
		}
		if err := mayBeat(c, agent); err != nil {
			return err
		}
		now = tx.Now()
		before, reason := agent.presence(), reasonHeartbeat
		agent.heard(now)
		set(&agent.CurrentLoad, widen(req.CurrentLoad))
		set(&agent.Note, req.StatusNote)
		switch {
		case drains && agent.Status != StatusDraining:
			agent.become(StatusDraining, now)
			reason = reasonLeaving
		case agent.Status == StatusDead:
			agent.revive(now)
			reason = reasonRevived
		case agent.Status == StatusUnhealthy:
			agent.become(StatusActive, now)
		}
		s.changed(tx, before, agent, reason)
		return save(tx, agent)
	})
	if err != nil {
		return nil, err
	}
	return &openintentv1.HeartbeatResponse{
		Acknowledged:    true,
		Status:          "ok",
		ServerTimestamp: timestamppb.New(now),
		AgentStatus:     statusMessages[agent.Status],
		NextHeartbeatAt: timestamppb.New(now.Add(seconds(agent.Silence.Interval))),
	}, nil
}

// mayBeat refuses the heartbeat of an agent that has left. An agent that counted as dead gets its role back, so mayBeat
// also refuses its heartbeat if the caller may no longer take that role.
func mayBeat(c caller.Caller, agent *Agent) error {
	switch {
	case agent.Status == StatusDeregistered:
		return ErrGone
	case agent.Status == StatusDead && !c.MayTakeRole(agent.RoleID):
		return errRoleNotAllowed
	}
	return nil
}

// move locks an agent and changes its status to the one that decide returns, with all effects of a departure. If decide
// returns the status that the agent already has, nothing but its note changes.
func (s *Service) move(
	ctx context.Context, id string, decide func(a *Agent, now time.Time) (next Status, reason string, err error),
) (*Agent, error) {
	var agent *Agent
	var departed bool
	err := s.db.Write(ctx, func(tx *database.Tx) (err error) {
		departed = false
		if agent, err = lock(tx, id); err != nil {
			return err
		}
		now, note := tx.Now(), agent.Note
		next, reason, err := decide(agent, now)
		if err != nil {
			return err
		}
		if next == agent.Status {
			return saveNote(tx, agent, note)
		}
		before := agent.presence()
		departed = next == StatusDeregistered
		if departed {
			if now, err = s.departureTime(tx, id, now); err != nil {
				return err
			}
		}
		agent.become(next, now)
		agent.suspectSaid(now, reason)
		if err := save(tx, agent); err != nil {
			return err
		}
		s.changed(tx, before, agent, reason)
		if !departed {
			return nil
		}
		return s.depart(tx, agent)
	})
	if err != nil {
		return nil, err
	}
	if departed {
		for _, hook := range s.afterDeparted {
			hook(ctx, agent.ID)
		}
	}
	return agent, nil
}

// saveNote stores an agent whose note alone may have changed.
func saveNote(tx *database.Tx, agent *Agent, before string) error {
	if agent.Note == before {
		return nil
	}
	agent.Version++
	return save(tx, agent)
}

// departureTime returns the time of a departure: now, but not before anything that the departure makes void. Such a thing may
// lie ahead of the clock, if it was stored before the clock was set back.
func (s *Service) departureTime(tx *database.Tx, agentID string, now time.Time) (time.Time, error) {
	for _, hook := range s.onDeparting {
		notBefore, err := hook(tx, agentID)
		if err != nil {
			return now, err
		}
		now = later(now, notBefore)
	}
	return now, nil
}

// depart lets the rooms above note, in the deregistration's transaction, the work that follows from it.
func (s *Service) depart(tx *database.Tx, agent *Agent) error {
	for _, hook := range s.onDeparted {
		if err := hook(tx, agent.ID, agent.DepartedAt); err != nil {
			return err
		}
	}
	return nil
}

// changed reports a change of role, status or departure to the log and the hooks once the transaction is committed.
func (s *Service) changed(tx *database.Tx, before Presence, agent *Agent, reason string) {
	after, suspicion := agent.presence(), agent.Suspicion
	if before.Status == after.Status && before.RoleID == after.RoleID && before.RoleSince.Equal(after.RoleSince) &&
		before.DepartedAt.Equal(after.DepartedAt) {
		return
	}
	tx.AfterCommit(func() {
		s.logger.Info("an agent changed", "agent", after.AgentID, "role", after.RoleID,
			"from", string(before.Status), "to", string(after.Status), "reason", reason)
		if after.Status == StatusDead && before.Status != StatusDead {
			s.logger.Warn("an agent is presumed dead", "agent", after.AgentID, "why", suspicion.Why)
		}
		for _, hook := range s.onChanged {
			hook(after.AgentID)
		}
	})
}
