package messaging

import (
	"openintent/agents"
	"openintent/channels"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/reach"
)

// shownReach reads the reach of those among some agents that the caller may know of: those with a record, if the caller's key shows all records,
// and those on a list of members that the caller may read.
func (s *Service) shownReach(
	tx *database.Tx, by caller.Caller, channel *channels.Rules, agentIDs []string,
) (map[string]*reach.Reach, error) {
	if s.here == nil || len(agentIDs) == 0 {
		return nil, nil
	}
	recorded, err := agents.LoadPresences(tx, agentIDs)
	if err != nil {
		return nil, err
	}
	var shown []string
	for _, agent := range agentIDs {
		presence, hasRecord := recorded[agent]
		if by.IsOperator || hasRecord && by.Scope.ShowsAllAgents() || channel.Lists(agent, presence.DepartedAt) {
			shown = append(shown, agent)
		}
	}
	if len(shown) == 0 {
		return nil, nil
	}
	return s.here.Read(tx, shown)
}
