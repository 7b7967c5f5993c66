package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// agentsCommand holds the verbs that work on agents.
type agentsCommand struct {
	List     agentListCommand     `cmd:"" default:"withargs" help:"List the registered agents: the active ones unless asked otherwise."`
	Register agentRegisterCommand `cmd:"" help:"Register an agent, with a role and capabilities, or change what it has registered."`
	Show     agentShowCommand     `cmd:"" help:"Show an agent."`
	Refuse   agentRefuseCommand   `cmd:"" help:"Take no messages of a sender that are addressed to the agent."`
	Allow    agentAllowCommand    `cmd:"" help:"Take messages of a sender again."`
	Refused  agentRefusedCommand  `cmd:"" help:"List the senders that the agent refuses."`
}

// agentListCommand lists agents.
type agentListCommand struct {
	connection
	listing
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
	printed := newTable("AGENT", "ROLE", "STATUS", "HEARTBEAT", "CAPABILITIES", "NOTE")
	return listOf(c.listing, to, printed, listed, func(a *openintentv1.Agent) []string {
		return []string{
			a.GetAgentId(), a.GetRoleId(), word(a.GetStatus()), clock(a.GetLastHeartbeatAt()),
			strings.Join(a.GetCapabilities(), ", "), a.GetStatusNote(),
		}
	})
}

// agentRegisterCommand registers an agent.
type agentRegisterCommand struct {
	connection
	output
	ID         string   `complete:"agents" arg:"" optional:"" name:"agent-id" help:"The agent's id (else the agent that the command acts as)."`
	Role       string   `placeholder:"ROLE" help:"The role that it takes; the key must allow it."`
	Capability []string `placeholder:"NAME" help:"What it can do; may be repeated."`
	Name       string   `placeholder:"TEXT" help:"A name for people."`
}

// Help says what the record is good for.
func (agentRegisterCommand) Help() string {
	return `What is sent to role:ROLE reaches every agent that is registered with the role. An agent that sends no heartbeats
counts as dead after some minutes, and keeps its role only if it registers again. Agents of the SDKs do both by themselves.

  openintent agents register data-agent --role data --capability sql --capability schemas`
}

// Run prints the record.
func (c *agentRegisterCommand) Run(ctx context.Context, to terminal) error {
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	if c.ID == "" {
		c.ID = client.AgentID()
	}
	registered, err := called(client.Raw().Agents.UpsertAgent(ctx, &openintentv1.RegisterAgentRequest{
		AgentId: present(c.ID), RoleId: present(c.Role), Name: present(c.Name), Capabilities: c.Capability,
	}))
	if err != nil {
		return err
	}
	return show(c.output, to, registered, agentFields)
}

// agentShowCommand shows an agent.
type agentShowCommand struct {
	connection
	output
	ID string `complete:"agents" arg:"" name:"agent-id" help:"The agent's id."`
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
	shown.add("note", a.GetStatusNote())
	shown.add("because", a.GetPresenceReason())
	if a.GetSilentSince() != nil {
		shown.add("silent since", clock(a.GetSilentSince()))
	}
	if a.GetPresumedDeadAt() != nil {
		shown.add("presumed dead", clock(a.GetPresumedDeadAt()))
	}
	shown.add("capabilities", strings.Join(a.GetCapabilities(), ", "))
	if capacity := a.GetCapacity(); capacity != nil {
		shown.add("load", fmt.Sprintf("%d of %d", capacity.GetCurrentLoad(), capacity.GetMaxConcurrentTasks()))
	}
	shown.add("endpoint", a.GetEndpoint())
	shown.add("metadata", inline(a.GetMetadata()))
	shown.add("registered", clock(a.GetRegisteredAt()))
	shown.add("heartbeat", fmt.Sprintf("%s, promised every %d s",
		clock(a.GetLastHeartbeatAt()), a.GetHeartbeatConfig().GetIntervalSeconds()))
	shown.add("version", strconv.FormatInt(a.GetVersion(), 10))
	return shown
}
