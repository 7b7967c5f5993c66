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

// presence waits until an agent's record has the step's note, and returns its status and its note.
func (s *story) presence(a act, f facts) (any, error) {
	for {
		record, err := s.client(a.who).Raw().Agents.GetAgent(s.ctx, &openintentv1.GetAgentRequest{AgentId: f.Agent.Value})
		if err != nil {
			return nil, openintent.FromError(err)
		}
		if record.GetStatusNote() == f.Note {
			status := strings.ToLower(strings.TrimPrefix(record.GetStatus().String(), "AGENT_STATUS_"))
			return map[string]any{"status": status, "status_note": orNil(record.GetStatusNote())}, nil
		}
		select {
		case <-time.After(interval):
		case <-s.ctx.Done():
			return nil, fmt.Errorf("waited in vain for the note %q; it is %q", f.Note, record.GetStatusNote())
		}
	}
}
