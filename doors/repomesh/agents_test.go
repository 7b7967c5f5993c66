package repomesh

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	openintentv1 "openintent/gen/openintent/v1"
)

// records are the agents of a server, and what registrations ask for.
type records struct {
	openintentv1.AgentServiceClient
	there      []*openintentv1.Agent
	registered *openintentv1.RegisterAgentRequest
}

func (r *records) GetAgent(_ context.Context, asked *openintentv1.GetAgentRequest, _ ...grpc.CallOption) (*openintentv1.Agent, error) {
	for _, one := range r.there {
		if one.GetAgentId() == asked.GetAgentId() {
			return one, nil
		}
	}
	return nil, status.Error(codes.NotFound, "There is no such agent.")
}

func (r *records) UpsertAgent(_ context.Context, asked *openintentv1.RegisterAgentRequest, _ ...grpc.CallOption) (*openintentv1.Agent, error) {
	r.registered = asked
	return &openintentv1.Agent{AgentId: asked.GetAgentId()}, nil
}

func (r *records) ListAgents(_ context.Context, asked *openintentv1.ListAgentsRequest, _ ...grpc.CallOption) (*openintentv1.ListAgentsResponse, error) {
	var all []*openintentv1.Agent
	for _, one := range r.there {
		if one.GetStatus() == asked.GetStatus() {
			all = append(all, one)
		}
	}
	begin, _ := strconv.Atoi(asked.GetCursor())
	end := min(len(all), begin+int(asked.GetLimit()))
	page := &openintentv1.ListAgentsResponse{Agents: all[begin:end]}
	if end < len(all) {
		page.NextCursor = new(strconv.Itoa(end))
	}
	return page, nil
}

const (
	active       = openintentv1.AgentStatus_AGENT_STATUS_ACTIVE
	deregistered = openintentv1.AgentStatus_AGENT_STATUS_DEREGISTERED
)

// A new record gets the times that a model keeps. One that is there keeps its own. The role is that of a key that has one, and a key
// that is kept to a channel takes no part in the whole mesh.
func TestWhatARegistrationAsksFor(t *testing.T) {
	for what, given := range map[string]struct {
		there                       []*openintentv1.Agent
		roles, channels, intents    []string
		times, takesPart, takesRole bool
	}{
		"a new one":              {times: true, takesPart: true},
		"one that is there":      {there: []*openintentv1.Agent{{AgentId: "ann", Status: active}}, takesPart: true},
		"one that has left":      {there: []*openintentv1.Agent{{AgentId: "ann", Status: deregistered}}, times: true, takesPart: true},
		"with a role":            {roles: []string{"editor"}, times: true, takesPart: true, takesRole: true},
		"with any role":          {roles: []string{anyRole}, times: true, takesPart: true},
		"with two roles":         {roles: []string{"editor", "writer"}, times: true, takesPart: true},
		"kept to a channel":      {channels: []string{"chan_1"}, times: true},
		"kept to another intent": {intents: []string{"another"}, times: true},
		"kept to the mesh":       {intents: []string{"another", "mesh"}, channels: []string{"chan_1"}, times: true, takesPart: true},
	} {
		r, s := &records{there: given.there}, ann()
		s.intent, s.caller.Agents, s.caller.Roles, s.caller.OnlyChannels, s.caller.OnlyIntents = "mesh", r, given.roles, given.channels, given.intents
		_, err := s.register(t.Context(), registerArguments{})
		require.NoError(t, err)
		require.Equal(t, given.times, r.registered.GetHeartbeatConfig() != nil, what)
		require.Equal(t, given.takesPart, r.registered.GetTakesPartIn() == "mesh", what)
		require.Equal(t, map[bool]string{true: "editor"}[given.takesRole], r.registered.GetRoleId(), what)
	}
}

// The pages of a list together have each agent once, by its status: however many a page has, and where one status ends with a page. A cursor
// that is not of the list is refused: a list that began anew would never end.
func TestAgentsAreListedOnce(t *testing.T) {
	r, s := &records{}, ann()
	s.caller.Agents = r
	var all []string
	for i, state := range []openintentv1.AgentStatus{
		active, active, active, openintentv1.AgentStatus_AGENT_STATUS_DRAINING, openintentv1.AgentStatus_AGENT_STATUS_DRAINING,
		openintentv1.AgentStatus_AGENT_STATUS_DEAD,
	} {
		all = append(all, strconv.Itoa(i))
		r.there = append(r.there, &openintentv1.Agent{AgentId: strconv.Itoa(i), Status: state})
	}
	slices.Reverse(r.there[3:])
	list := func(status string, limit int) (found []string) {
		cursor := ""
		for {
			answer, err := agentList.run(t.Context(), s, []byte(`{"status":"`+status+`","limit":`+strconv.Itoa(limit)+`,"cursor":"`+cursor+`"}`))
			require.NoError(t, err)
			page := answer.(agentsAnswer)
			require.LessOrEqual(t, page.Count, limit)
			for _, one := range page.Items {
				found = append(found, one.ID)
			}
			if cursor = page.Next; cursor == "" {
				return found
			}
		}
	}
	all[3], all[4] = all[4], all[3]
	for limit := 1; limit <= 7; limit++ {
		require.Equal(t, all, list("", limit), limit)
		require.Equal(t, all[:3], list("active", limit), limit)
		require.Equal(t, all[3:5], list("draining", limit), limit)
		require.Equal(t, all[5:], list("dead", limit), limit)
	}
	for cursor, status := range map[string]string{
		"draining:": "active", "dead:1": "draining", "active:1": "draining", "unknown:1": "", "1": "", "active": "",
	} {
		_, err := agentList.run(t.Context(), s, []byte(`{"status":"`+status+`","cursor":"`+cursor+`"}`))
		require.ErrorContains(t, err, "cursor", "%s of a list of %q", cursor, status)
	}
}
