package mcp

import (
	"context"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

const (
	// longestState and longestNote are in characters. A record has one note of 200 characters, which begins with the state.
	longestState, longestNote = 32, 200
	// othersShown is how many other agents an answer shows, and statusRoom how many bytes of the note of each.
	othersShown = 20
	statusRoom  = 60
)

// Agents that come through the door are heard of when their models say something about themselves, which no clock does. So the door
// registers them with a promise that a model at work keeps. In seconds.
const (
	beatInterval   = 900
	unhealthyAfter = 3600
	deadAfter      = 4 * 3600
)

// presence says what the caller does, and shows what others say.
var presence = newTool(repeats, "status", "Say what you are doing, and see what other agents say and whether they listen.",
	`"state":{"type":"string","description":"a word"},"note":{"type":"string"}`,
	nil,
	func(ctx context.Context, s *session, given statusArguments) (any, error) {
		note, err := given.line()
		if err != nil {
			return nil, err
		}
		if note != nil {
			if err := s.beat(ctx, *note); err != nil {
				return nil, err
			}
		}
		return s.presences(ctx)
	})

type statusArguments struct {
	State *string `json:"state"`
	Note  *string `json:"note"`
}

// line returns what the record's note shall say: the state and then the note. It is nil if the caller says nothing.
func (given statusArguments) line() (*string, error) {
	state, note := "", ""
	switch {
	case given.State == nil && given.Note == nil:
		return nil, nil
	case given.State != nil && (*given.State == "" || utf8.RuneCountInString(*given.State) > longestState):
		return nil, fault.BadField("state", "must be a word of 1 to %d characters.", longestState)
	case given.State != nil:
		state = *given.State
	}
	if given.Note != nil {
		note = *given.Note
	}
	if state != "" && note != "" {
		state += ": "
	}
	if free := longestNote - utf8.RuneCountInString(state); utf8.RuneCountInString(note) > free {
		return nil, fault.BadField("note", "must be at most %d characters beside this state.", free)
	}
	return new(state + note), nil
}

// beat says that the caller lives, and what it does. An agent without a record, or that has left, gets a record first.
func (s *session) beat(ctx context.Context, note string) error {
	request := &openintentv1.HeartbeatRequest{AgentId: s.caller.Agent, StatusNote: &note}
	_, err := s.caller.Agents.Heartbeat(ctx, request)
	if reason := doors.RefusalOf(err).Reason; err == nil || reason != "AGENT_NOT_FOUND" && reason != "AGENT_GONE" {
		return err
	}
	_, err = s.caller.Agents.RegisterAgent(ctx, &openintentv1.RegisterAgentRequest{
		AgentId: &s.caller.Agent, RoleId: s.onlyRole(),
		HeartbeatConfig: &openintentv1.HeartbeatConfig{
			IntervalSeconds: new(int32(beatInterval)), UnhealthyAfterSeconds: new(int32(unhealthyAfter)), DeadAfterSeconds: new(int32(deadAfter)),
		},
	})
	if err != nil && status.Code(err) != codes.AlreadyExists { // another of its processes was faster
		return err
	}
	_, err = s.caller.Agents.Heartbeat(ctx, request)
	return err
}

// onlyRole returns the role that the caller's key lets it take, if that is one, and nil if there is a choice to make.
func (s *session) onlyRole() *string {
	if len(s.caller.Roles) != 1 || s.caller.Roles[0] == anyRole {
		return nil
	}
	return &s.caller.Roles[0]
}

// anyRole is how a key lists that it may take every role.
const anyRole = "*"

// presencesAnswer is what agents say of themselves. More counts the agents that it leaves out.
type presencesAnswer struct {
	Me     *presenceAnswer  `json:"me,omitempty"`
	More   int64            `json:"more,omitempty"`
	Others []presenceAnswer `json:"others"`
}

type presenceAnswer struct {
	Agent string `json:"agent"`
	Role  string `json:"role,omitempty"`
	// Reach says whether anybody would hear what is sent to the agent: live, wakeable, none or unknown. Of the caller itself it is left out.
	Reach string `json:"reach,omitempty"`
	// Status is left out while it is active.
	Status string `json:"status,omitempty"`
	// DeadSince says since when the agent is presumed dead.
	DeadSince string `json:"presumed_dead_since,omitempty"`
	Note      string `json:"note,omitempty"`
}

// presences shows the caller's record and those of others: first of those at work, then of those that are quiet, leaving or dead.
func (s *session) presences(ctx context.Context) (any, error) {
	answer := presencesAnswer{Others: []presenceAnswer{}}
	me, err := s.caller.Agents.GetAgent(ctx, &openintentv1.GetAgentRequest{AgentId: s.caller.Agent})
	switch {
	case err == nil:
		answer.Me = new(presenceOf(me, longestNote*utf8.UTFMax))
	case status.Code(err) != codes.NotFound:
		return nil, err
	}
	for _, lives := range []openintentv1.AgentStatus{
		openintentv1.AgentStatus_AGENT_STATUS_ACTIVE, openintentv1.AgentStatus_AGENT_STATUS_UNHEALTHY,
		openintentv1.AgentStatus_AGENT_STATUS_DRAINING, openintentv1.AgentStatus_AGENT_STATUS_DEAD,
	} {
		page, err := s.caller.Agents.ListAgents(ctx, &openintentv1.ListAgentsRequest{Status: &lives, Limit: new(int32(othersShown + 1)), Include: []string{"reach"}})
		if err != nil {
			return nil, err
		}
		answer.More += page.GetTotal()
		if me.GetStatus() == lives {
			answer.More--
		}
		for _, agent := range page.GetAgents() {
			if agent.GetAgentId() != s.caller.Agent && len(answer.Others) < othersShown {
				answer.Others = append(answer.Others, presenceOf(agent, statusRoom))
				answer.More--
			}
		}
	}
	return answer, nil
}

// presenceOf returns a record as a model sees it, with so many bytes of its note.
func presenceOf(agent *openintentv1.Agent, room int) presenceAnswer {
	answer := presenceAnswer{
		Agent: agent.GetAgentId(), Role: agent.GetRoleId(), DeadSince: moment(agent.GetPresumedDeadAt()),
		Note: doors.Beginning(agent.GetStatusNote(), room),
	}
	if agent.GetStatus() != openintentv1.AgentStatus_AGENT_STATUS_ACTIVE {
		answer.Status = doors.Word(agent.GetStatus())
	}
	if agent.GetReach() != nil {
		answer.Reach = doors.Word(agent.GetReach().GetLevel())
	}
	return answer
}
