package model

import (
	"slices"
	"time"
)

// Agent is the record of a registered agent. Registering is optional; an unregistered agent holds no role.
type Agent struct {
	Role string
	// Since is when the agent began to hold the role.
	Since time.Time
	// Status is active, unhealthy, draining, dead or deregistered.
	Status string
}

func (a *Agent) present() bool {
	return a != nil && (a.Status == "active" || a.Status == "unhealthy" || a.Status == "draining")
}

// HoldsRole reports whether messages to a role are for the agent now.
func (w *World) HoldsRole(agent, role string) bool {
	record := w.Agents[agent]
	return record.present() && record.Role == role
}

// since returns when the agent began to hold its role; it held the role when later messages were sent.
func (w *World) since(agent string) time.Time { return w.Agents[agent].Since }

// takes returns since when an agent that registers with a role holds it: an unchanged role continues unless the agent
// had left.
func (w *World) takes(record *Agent, role string) time.Time {
	if record != nil && record.Role == role && record.Status != "deregistered" {
		return record.Since
	}
	return w.Now
}

// Register makes an agent's record, or a new one after the agent died or left. An agent that is present is refused
// unless update is true; it then takes the role and becomes active, even if it was draining.
func (w *World) Register(caller, agent, role string, update bool) Outcome {
	switch record := w.Agents[agent]; {
	case caller != agent && caller != Operator:
		return "NOT_AGENT_OWNER"
	case !record.present():
		w.Agents[agent] = &Agent{Role: role, Since: w.takes(record, role), Status: "active"}
	case !update:
		return "AGENT_EXISTS"
	default:
		record.Since = w.takes(record, role)
		record.Role, record.Status = role, "active"
	}
	return OK
}

var nextAgentStatuses = map[string][]string{
	"active":    {"unhealthy", "draining"},
	"unhealthy": {"active", "draining", "dead"},
	"draining":  {"dead"},
}

// Move changes an agent's status by name. A dead or departed agent comes back only by registering. Leaving is
// Deregister.
func (w *World) Move(caller, agent, next string) Outcome {
	switch record := w.Agents[agent]; {
	case caller != agent && caller != Operator:
		return "NOT_AGENT_OWNER"
	case record == nil:
		return "AGENT_NOT_FOUND"
	case record.Status == next:
		return OK
	case !slices.Contains(nextAgentStatuses[record.Status], next):
		return "INVALID_TRANSITION"
	default:
		record.Status = next
		return OK
	}
}

// Deregister ends an agent's service (RFC-0021 section 7.2): it leaves all member lists, unanswered requests to it
// expire, and each open channel that listed it or held such a request gets an announcement. It returns those
// channels.
func (w *World) Deregister(caller, agent string) (told []*Channel, _ Outcome) {
	switch record := w.Agents[agent]; {
	case caller != agent && caller != Operator:
		return nil, "NOT_AGENT_OWNER"
	case record == nil:
		return nil, "AGENT_NOT_FOUND"
	case record.Status == "deregistered":
		return nil, OK
	default:
		record.Status = "deregistered"
	}
	for _, c := range w.Channels {
		concerned := slices.Contains(c.Members, agent)
		c.leave(agent)
		delete(c.insiders, agent)
		for _, m := range c.Sent {
			if m.To == agent && m.unanswered(w.Now) {
				m.Ended, concerned = true, true
			}
		}
		if concerned && c.Open() {
			told = append(told, c)
		}
	}
	return told, OK
}

func without(names []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(other string) bool { return other == name })
}
