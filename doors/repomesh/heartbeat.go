package repomesh

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// agentHeartbeat says that the caller lives, that it is back after a crash, or that it stops.
var agentHeartbeat = newAction("agent.heartbeat",
	"Say that you live. status recovered, after a crash: frees your locks and tasks and tells the others; inactive: you stop.", nil,
	[]property{text("status"), text("current_task")},
	func(ctx context.Context, s *session, given heartbeatArguments) (any, error) {
		if err := s.own(given.AgentID); err != nil {
			return nil, err
		}
		word := value(given.Status)
		if word == "" {
			word = "active"
		}
		if !slices.Contains(beats, word) {
			return nil, fault.BadField("status", "must be one of %v.", beats)
		}
		switch word {
		case "inactive":
			return s.stop(ctx)
		case "recovered":
			return s.recover(ctx, value(given.Task))
		}
		return s.beat(ctx, word, value(given.Task))
	})

// beats are what an agent may say of itself.
var beats = []string{"active", "idle", "busy", "inactive", "recovered"}

type heartbeatArguments struct {
	identity
	Status *string `json:"status"`
	Task   *string `json:"current_task"`
}

type beatAnswer struct {
	agent
	// Recovery is what the beat of an agent that was back after a crash has done.
	Recovery *recovery `json:"recovery,omitempty"`
}

// longestNote is how many characters a record's note has at most.
const longestNote = 200

// beat notes a sign of life, and what the caller says that it does. An agent without a record gets one.
func (s *session) beat(ctx context.Context, word, task string) (any, error) {
	note := ""
	if word != "active" {
		note = word
	}
	if task != "" {
		note = strings.TrimPrefix(note+": "+task, ": ")
	}
	if utf8.RuneCountInString(note) > longestNote {
		return nil, fault.BadField("current_task", "must be at most %d characters.", longestNote-len("idle: "))
	}
	request := &openintentv1.HeartbeatRequest{AgentId: s.caller.Agent, StatusNote: &note}
	_, err := s.caller.Agents.Heartbeat(ctx, request)
	if missing(err) {
		if _, err = s.register(ctx, registerArguments{}); err == nil {
			_, err = s.caller.Agents.Heartbeat(ctx, request)
		}
	}
	if err != nil {
		return nil, err
	}
	return s.me(ctx)
}

// me returns the caller's record.
func (s *session) me(ctx context.Context) (beatAnswer, error) {
	record, err := s.caller.Agents.GetAgent(ctx, &openintentv1.GetAgentRequest{AgentId: s.caller.Agent})
	if err != nil {
		return beatAnswer{}, err
	}
	return beatAnswer{agent: agentOf(record)}, nil
}

// stop notes that the caller has stopped. The server then ends its locks, as it does when it presumes an agent dead. The next beat
// brings the agent back.
func (s *session) stop(ctx context.Context) (any, error) {
	if _, err := s.beat(ctx, "active", ""); err != nil { // whoever has no record yet gets one
		return nil, err
	}
	for _, next := range []openintentv1.AgentStatus{openintentv1.AgentStatus_AGENT_STATUS_UNHEALTHY, openintentv1.AgentStatus_AGENT_STATUS_DEAD} {
		_, err := s.caller.Agents.UpdateAgentStatus(ctx, &openintentv1.UpdateAgentStatusRequest{
			AgentId: s.caller.Agent, Status: next, Reason: new("The agent says that it is inactive."),
		})
		if err := unless(err, "INVALID_TRANSITION"); err != nil { // it drains
			return nil, err
		}
	}
	return s.me(ctx)
}
