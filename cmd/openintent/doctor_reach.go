package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// record checks what the agent's record says.
func (e *examination) record(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, longestCheck)
	defer cancel()
	agent, err := called(e.client.Raw().Agents.GetAgent(ctx, &openintentv1.GetAgentRequest{AgentId: e.who.GetAgentId()}))
	switch {
	case errors.Is(err, openintent.ErrNotFound):
		e.fine("record", "the agent has no record; it needs one only to hold a role, or to be found in lists")
	case err != nil:
		e.wrong("record", err.Error(), "try again")
	case agent.GetStatus() == openintentv1.AgentStatus_AGENT_STATUS_DEREGISTERED:
		e.wrong("record", "the agent has deregistered: it holds no role and is in no channel any more",
			"register it again with `openintent agents register`")
	case agent.GetPresenceReason() != "":
		e.wrong("record", agent.GetPresenceReason(), "let its program send heartbeats, or register it again with `openintent agents register`")
	default:
		e.fine("record", "the agent is registered%s", withRole(agent))
	}
}

func withRole(agent *openintentv1.Agent) string {
	if agent.GetRoleId() == "" {
		return ""
	}
	return ", with the role " + agent.GetRoleId()
}

// wakings is what to do for an agent that nothing reaches.
const wakings = "connect its harness (docs/doors/mcp.md), let its program run, or run `openintent wake` for it"

// reach checks whether anything of the agent's would hear a message, and whether something waits for it.
func (e *examination) reach(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, longestProbe)
	defer cancel()
	found, err := called(e.client.Raw().Reach.GetReach(ctx, &openintentv1.GetReachRequest{AgentId: e.who.GetAgentId()}))
	if err != nil {
		e.wrong("reach", err.Error(), "try again; a server before 0.3 does not know reach, so update such a server")
		return
	}
	var paths []string
	for _, path := range found.GetPaths() {
		paths = append(paths, fmt.Sprintf("%s for %s", path.GetKind(), since(path.GetSince().AsTime())))
	}
	open := strings.Join(paths, ", ")
	switch found.GetLevel() {
	case openintentv1.ReachLevel_REACH_LEVEL_LIVE:
		e.fine("reach", "something of it listens now: %s", open)
		e.probe(ctx)
	case openintentv1.ReachLevel_REACH_LEVEL_WAKEABLE:
		e.fine("reach", "nothing of it listens now, and it can be woken: %s", open)
	default:
		e.wrong("reach", "nothing of it listens now, and nothing can wake it", wakings)
	}
	waiting := found.GetWaiting()
	if waiting.GetCount() == 0 {
		e.fine("waiting", "nothing that must be answered waits unheard")
		return
	}
	said := fmt.Sprintf("%d that must be answered were handed to nothing of it yet; the oldest is %s old", waiting.GetCount(),
		since(waiting.GetOldestAt().AsTime()))
	if found.GetLevel() == openintentv1.ReachLevel_REACH_LEVEL_LIVE {
		e.fine("waiting", "%s", said)
		return
	}
	e.wrong("waiting", said, wakings)
}

// longestProbe bounds the check of the reach: a probe takes up to ten seconds.
const longestProbe = 10*time.Second + longestCheck

// probe asks what listens whether it is there.
func (e *examination) probe(ctx context.Context) {
	answer, err := called(e.client.Raw().Reach.ProbeAgent(ctx, &openintentv1.ProbeAgentRequest{AgentId: e.who.GetAgentId()}))
	if err != nil {
		e.wrong("probe", err.Error(), "try again in a minute")
		return
	}
	var confirmed, silent []string
	for _, path := range answer.GetPaths() {
		switch {
		case path.GetConfirmedAt() != nil:
			confirmed = append(confirmed, path.GetKind())
		case path.GetOfferedAt() != nil:
			silent = append(silent, path.GetKind())
		}
	}
	switch {
	case len(silent) > 0:
		e.wrong("probe", fmt.Sprintf("its %s took a probe and did not confirm it within 10 seconds", strings.Join(silent, " and ")),
			"its program hangs; restart it")
	case len(confirmed) > 0:
		e.fine("probe", "its %s confirmed a probe", strings.Join(confirmed, " and "))
	default:
		e.fine("probe", "nothing that listens takes part in probes")
	}
}

// since is how long ago a time was, for people.
func since(at time.Time) string { return max(0, time.Since(at)).Round(time.Second).String() }
