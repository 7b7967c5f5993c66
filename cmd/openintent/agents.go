package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// agentsCommand shows the registered agents.
type agentsCommand struct {
	List agentListCommand `cmd:"" default:"withargs" help:"List the registered agents: the active ones unless asked otherwise."`
	Show agentShowCommand `cmd:"" help:"Show an agent."`
}

// agentListCommand lists agents.
type agentListCommand struct {
	connection
	output
	Status     string   `enum:",registering,active,draining,unhealthy,dead,deregistered" default:"" placeholder:"STATUS" help:"Only agents with this status: registering, active, draining, unhealthy, dead or deregistered (active)."`
	Role       string   `placeholder:"ROLE" help:"Only agents with this role."`
	Capability []string `placeholder:"NAME" help:"Only agents with this capability; if repeated, agents with any of them."`
}

// Run prints a table.
func (c *agentListCommand) Run(ctx context.Context, to terminal) error {
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	request := &openintentv1.ListAgentsRequest{RoleId: present(c.Role), Capabilities: c.Capability}
	if c.Status != "" {
		request.Status = openintentv1.AgentStatus(number(openintentv1.AgentStatus_value, "AGENT_STATUS_", c.Status)).Enum()
	}
	listed, err := openintent.EveryPage(ctx, func(ctx context.Context, cursor *string) ([]*openintentv1.Agent, *string, error) {
		request.Cursor = cursor
		page, err := client.Raw().Agents.ListAgents(ctx, request)
		if err != nil {
			return nil, nil, err
		}
		return page.GetAgents(), page.NextCursor, nil
	})
	if err != nil {
		return err
	}
	printed := newTable("AGENT", "ROLE", "STATUS", "HEARTBEAT", "CAPABILITIES")
	return list(c.output, to, printed, listed, func(a *openintentv1.Agent) []string {
		return []string{
			a.GetAgentId(), a.GetRoleId(), word(a.GetStatus()), clock(a.GetLastHeartbeatAt()),
			strings.Join(a.GetCapabilities(), ", "),
		}
	})
}

// agentShowCommand shows an agent.
type agentShowCommand struct {
	connection
	output
	ID string `arg:"" name:"agent-id" help:"The agent's id."`
}

// Run prints its fields.
func (c *agentShowCommand) Run(ctx context.Context, to terminal) error {
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	agent, err := called(client.Raw().Agents.GetAgent(ctx, &openintentv1.GetAgentRequest{AgentId: c.ID}))
	if err != nil {
		return err
	}
	return show(c.output, to, agent, agentFields)
}

func agentFields(a *openintentv1.Agent) (shown fields) {
	shown.add("agent", a.GetAgentId())
	shown.add("name", a.GetName())
	shown.add("role", a.GetRoleId())
	shown.add("status", word(a.GetStatus()))
	shown.add("capabilities", strings.Join(a.GetCapabilities(), ", "))
	if capacity := a.GetCapacity(); capacity != nil {
		shown.add("load", fmt.Sprintf("%d of %d", capacity.GetCurrentLoad(), capacity.GetMaxConcurrentTasks()))
	}
	shown.add("endpoint", a.GetEndpoint())
	shown.add("metadata", inline(a.GetMetadata()))
	shown.add("registered", clock(a.GetRegisteredAt()))
	shown.add("heartbeat", clock(a.GetLastHeartbeatAt()))
	shown.add("version", strconv.FormatInt(a.GetVersion(), 10))
	return shown
}
