package repomesh

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/jsonvalue"
)

// agentRegister makes or renews the caller's record.
var agentRegister = newAction("agent.register", "Say who you are: your type and what you can do.", nil,
	[]property{text("name"), text("type"), list("capabilities"), yes("reuse_existing"), yes("takeover_if_stale"), text("repo_id")},
	func(ctx context.Context, s *session, given registerArguments) (any, error) {
		if err := s.own(given.Name); err != nil {
			return nil, err
		}
		if err := s.own(given.AgentID); err != nil {
			return nil, err
		}
		record, err := s.register(ctx, given)
		if err != nil {
			return nil, err
		}
		return agentOf(record), nil
	}).by("name", "agent_id")

// registerArguments are the arguments of agent.register. An agent's id is its name, so whoever registers again is the same agent, whatever
// Reuse and Takeover say.
type registerArguments struct {
	identity
	repository
	Reuse        *bool           `json:"reuse_existing"`
	Takeover     *bool           `json:"takeover_if_stale"`
	Name         *string         `json:"name"`
	Type         *string         `json:"type"`
	Capabilities json.RawMessage `json:"capabilities"`
}

// Agents of the protocol are heard of when their models say something, which no clock does. So the door registers them with a promise
// that a model at work keeps, in seconds. Their locks end much earlier without a renewal.
const (
	beatInterval   = 900
	unhealthyAfter = 3600
	deadAfter      = 4 * 3600
)

// anyRole is how a key lists that it may take every role.
const anyRole = "*"

func (s *session) register(ctx context.Context, given registerArguments) (*openintentv1.Agent, error) {
	capabilities, facts, err := capabilitiesOf(given.Capabilities)
	if err != nil {
		return nil, err
	}
	if given.Type != nil {
		facts["type"] = *given.Type
	}
	metadata, err := structpb.NewStruct(map[string]any{namespace: facts})
	if err != nil {
		return nil, fault.BadField("capabilities", "must be a list of texts, or an object.")
	}
	request := &openintentv1.RegisterAgentRequest{
		AgentId: &s.caller.Agent, Name: &s.caller.Agent, Capabilities: capabilities, Metadata: metadata,
	}
	if s.covered() {
		request.TakesPartIn = &s.intent
	}
	record, err := s.caller.Agents.GetAgent(ctx, &openintentv1.GetAgentRequest{AgentId: s.caller.Agent})
	switch {
	case missing(err) || record.GetStatus() == openintentv1.AgentStatus_AGENT_STATUS_DEREGISTERED:
		request.HeartbeatConfig = &openintentv1.HeartbeatConfig{
			IntervalSeconds: new(int32(beatInterval)), UnhealthyAfterSeconds: new(int32(unhealthyAfter)), DeadAfterSeconds: new(int32(deadAfter)),
		}
	case err != nil:
		return nil, err
	}
	if len(s.caller.Roles) == 1 && s.caller.Roles[0] != anyRole {
		request.RoleId = &s.caller.Roles[0]
	}
	return s.caller.Agents.UpsertAgent(ctx, request)
}

// covered reports whether the caller's key is for the whole mesh, and not for some channels alone.
func (s *session) covered() bool {
	if len(s.caller.OnlyIntents)+len(s.caller.OnlyChannels) == 0 {
		return true
	}
	return slices.Contains(s.caller.OnlyIntents, s.intent)
}

// capabilitiesOf reads capabilities: texts, one text with commas, or an object, whose names they are.
func capabilitiesOf(given json.RawMessage) (names []string, facts map[string]any, err error) {
	facts = make(map[string]any)
	if len(given) == 0 || bytes.Equal(given, []byte("null")) {
		return nil, facts, nil
	}
	if json.Unmarshal(given, &names) == nil {
		return names, facts, nil
	}
	var line string
	if json.Unmarshal(given, &line) == nil {
		for _, name := range strings.Split(line, ",") {
			if name = strings.TrimSpace(name); name != "" {
				names = append(names, name)
			}
		}
		return names, facts, nil
	}
	object, err := jsonvalue.ParseObject(given, "capabilities")
	if err != nil {
		return nil, nil, fault.BadField("capabilities", "must be a list of texts, or an object.")
	}
	decoded, err := values(object)
	if err != nil {
		return nil, nil, err
	}
	for name := range decoded {
		names = append(names, name)
	}
	slices.Sort(names)
	facts["capabilities"] = decoded
	return names, facts, nil
}

// agentList lists the agents of the server.
var agentList = newAction("agent.list", "Who is there: status active, unhealthy, draining or dead (default: all).", nil,
	[]property{text("status"), whole("limit"), text("cursor"), text("repo_id")},
	func(ctx context.Context, s *session, given agentsArguments) (any, error) {
		states := []openintentv1.AgentStatus{
			openintentv1.AgentStatus_AGENT_STATUS_ACTIVE, openintentv1.AgentStatus_AGENT_STATUS_UNHEALTHY,
			openintentv1.AgentStatus_AGENT_STATUS_DRAINING, openintentv1.AgentStatus_AGENT_STATUS_DEAD,
		}
		limit := int32(defaultPage)
		if given.Limit != nil {
			limit = *given.Limit
		}
		if limit < 1 || limit > mostAgents {
			return nil, fault.BadField("limit", "must be 1 to %d.", mostAgents)
		}
		at, cursor := 0, ""
		if word := value(given.Status); word != "" {
			if at = slices.Index(agentStates, word); at < 0 {
				return nil, fault.BadField("status", "must be one of %v.", agentStates)
			}
			states = states[:at+1]
		}
		if value(given.Cursor) != "" {
			word, rest, both := strings.Cut(*given.Cursor, ":")
			from := slices.Index(agentStates, word)
			if !both || from < at || from >= len(states) {
				return nil, fault.BadField("cursor", "is not of this list; leave it out to begin anew.")
			}
			at, cursor = from, rest
		}
		return s.agents(ctx, states, at, cursor, limit)
	}).by().anyone()

// mostAgents is how many agents a page has at most, which is the contract's bound.
const mostAgents = 1000

// agentStates are the statuses in the order in which agents are listed.
var agentStates = []string{"active", "unhealthy", "draining", "dead"}

type agentsArguments struct {
	repeats
	repository
	Status *string `json:"status"`
	Limit  *int32  `json:"limit"`
	Cursor *string `json:"cursor"`
}

type agentsAnswer struct {
	// Agents and Items are the same list; a model gets Items alone.
	Agents *[]agent `json:"agents,omitempty"`
	Items  []agent  `json:"items"`
	Count  int      `json:"count"`
	Next   string   `json:"next,omitempty"`
}

// listedAgents returns the answer with a list.
func (s *session) listedAgents(found []agent, next string) agentsAnswer {
	answer := agentsAnswer{Items: found, Count: len(found), Next: next}
	if !s.model {
		answer.Agents = &answer.Items
	}
	return answer
}

// agents lists those of some states, beginning with one of them, after a cursor of the contract's.
func (s *session) agents(ctx context.Context, states []openintentv1.AgentStatus, at int, cursor string, limit int32) (any, error) {
	found := []agent{}
	for ; at < len(states) && int32(len(found)) < limit; at++ {
		request := &openintentv1.ListAgentsRequest{Status: &states[at], Limit: new(limit - int32(len(found))), Cursor: given(cursor)}
		page, err := s.caller.Agents.ListAgents(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, record := range page.GetAgents() {
			found = append(found, agentOf(record))
		}
		if cursor = page.GetNextCursor(); cursor != "" {
			return s.listedAgents(found, agentStates[at]+":"+cursor), nil
		}
	}
	if at < len(states) {
		return s.listedAgents(found, agentStates[at]+":"), nil
	}
	return s.listedAgents(found, ""), nil
}

// agent is a record in the protocol's form. An agent's name is its id.
type agent struct {
	ID           string   `json:"id"`
	AgentID      string   `json:"agent_id"`
	Name         string   `json:"name"`
	Type         string   `json:"type,omitempty"`
	Role         string   `json:"role,omitempty"`
	Status       string   `json:"status"`
	Capabilities []string `json:"capabilities"`
	Heartbeat    string   `json:"last_heartbeat_at"`
	Note         string   `json:"note,omitempty"`
}

func agentOf(record *openintentv1.Agent) agent {
	facts := record.GetMetadata().GetFields()[namespace].GetStructValue().GetFields()
	made := agent{
		ID: record.GetAgentId(), AgentID: record.GetAgentId(), Name: record.GetAgentId(), Type: facts["type"].GetStringValue(), Role: record.GetRoleId(),
		Status:       strings.ToLower(strings.TrimPrefix(record.GetStatus().String(), "AGENT_STATUS_")),
		Capabilities: record.GetCapabilities(), Heartbeat: stamp(record.GetLastHeartbeatAt()), Note: record.GetStatusNote(),
	}
	if made.Capabilities == nil {
		made.Capabilities = []string{}
	}
	return made
}

// missing reports whether a refusal says that the caller has no record, or that it has left.
func missing(err error) bool {
	return status.Code(err) == codes.NotFound || unless(err, "AGENT_GONE") == nil && err != nil
}
