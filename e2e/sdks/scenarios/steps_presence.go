package scenarios

import (
	"fmt"
	"strings"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// statusNote makes a running agent say what it is doing.
func (s *story) statusNote(_ act, f facts) (any, error) {
	agent := s.agents[s.plain(f.Agent.Value).(string)]
	if agent == nil {
		return nil, fmt.Errorf("no agent %s is running", f.Agent.Value)
	}
	return nil, agent.runtime.SetStatusNote(f.Note)
}

// deregister takes an agent out of service, as anybody with the agent's key may. Its processes are not asked.
func (s *story) deregister(_ act, f facts) (any, error) {
	_, err := s.client("").Raw().Agents.DeregisterAgent(s.ctx, &openintentv1.DeregisterAgentRequest{AgentId: f.Agent.Value})
	return nil, openintent.FromError(err)
}

// presence waits until an agent's record has the step's note, and its status if it names one, and returns both.
func (s *story) presence(a act, f facts) (any, error) {
	for {
		record, err := s.client(a.who).Raw().Agents.GetAgent(s.ctx, &openintentv1.GetAgentRequest{AgentId: f.Agent.Value})
		if err != nil {
			return nil, openintent.FromError(err)
		}
		status := strings.ToLower(strings.TrimPrefix(record.GetStatus().String(), "AGENT_STATUS_"))
		if record.GetStatusNote() == f.Note && (f.Status == "" || status == f.Status) {
			return map[string]any{"status": status, "status_note": orNil(record.GetStatusNote())}, nil
		}
		select {
		case <-time.After(interval):
		case <-s.ctx.Done():
			return nil, fmt.Errorf("waited in vain for the note %q; it is %q, %s", f.Note, record.GetStatusNote(), status)
		}
	}
}

// reach waits until an agent's reach has the step's level, and returns it.
func (s *story) reach(a act, f facts) (any, error) {
	for {
		reach, err := s.client(a.who).Reach(s.ctx, f.Agent.Value)
		if err != nil {
			return nil, err
		}
		if string(reach.Level) == f.Level {
			kinds := []any{}
			for _, path := range reach.Paths {
				kinds = append(kinds, path.Kind)
			}
			return map[string]any{"agent_id": reach.AgentID, "level": f.Level, "paths": kinds, "waiting": reach.Waiting}, nil
		}
		select {
		case <-time.After(interval):
		case <-s.ctx.Done():
			return nil, fmt.Errorf("waited in vain for the reach %s; it is %s", f.Level, reach.Level)
		}
	}
}

// probe probes an agent, and returns its level and which kinds of path confirmed the probe.
func (s *story) probe(a act, f facts) (any, error) {
	probed, err := s.client(a.who).Raw().Reach.ProbeAgent(s.ctx, &openintentv1.ProbeAgentRequest{AgentId: f.Agent.Value})
	if err != nil {
		return nil, openintent.FromError(err)
	}
	confirmed := []any{}
	for _, path := range probed.GetPaths() {
		if path.GetConfirmedAt() != nil {
			confirmed = append(confirmed, path.GetKind())
		}
	}
	level := strings.ToLower(strings.TrimPrefix(probed.GetReach().GetLevel().String(), "REACH_LEVEL_"))
	return map[string]any{"level": level, "confirmed": confirmed}, nil
}
