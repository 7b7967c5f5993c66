package leases

import "slices"

// dependence says that one agent waits for a scope that another one holds, or gets before it.
type dependence struct {
	waits, scope, on string
	// holds is true if the other one holds the scope already.
	holds bool
}

func (d dependence) verb() string {
	if d.holds {
		return "is held by"
	}
	return "goes first to"
}

// circleThrough returns the circle that an agent would close by waiting for a scope, beginning with the agent; nil if there is
// none. waiting are those who wait already, in the order of asking. An agent depends on whoever holds the scope that it waits
// for, and on those who asked for it earlier.
func circleThrough(agentID, scope string, waiting []blocked, holding *Lease) []dependence {
	asking := blocked{agentID: agentID, scope: scope}
	if holding != nil {
		asking.holder = holding.AgentID
	}
	dependences := dependencesOf(append(slices.Clone(waiting), asking))
	from := make(map[string][]dependence)
	for _, d := range dependences {
		from[d.waits] = append(from[d.waits], d)
	}
	seen := make(map[string]bool)
	var follow func(path []dependence) []dependence
	follow = func(path []dependence) []dependence {
		last := path[len(path)-1]
		if last.on == agentID {
			return path
		}
		if seen[last.on] {
			return nil
		}
		seen[last.on] = true
		for _, next := range from[last.on] {
			if circle := follow(append(slices.Clone(path), next)); circle != nil {
				return circle
			}
		}
		return nil
	}
	for _, first := range from[agentID] {
		if first.scope != scope {
			continue // that wait was admitted before
		}
		if circle := follow([]dependence{first}); circle != nil {
			return circle
		}
	}
	return nil
}

// dependencesOf returns the dependences among the waiting agents.
func dependencesOf(waiting []blocked) []dependence {
	var all []dependence
	earlier := make(map[string][]string) // those who wait for a scope, in the order of asking
	for _, b := range waiting {
		if b.holder != "" {
			all = append(all, dependence{b.agentID, b.scope, b.holder, true})
		}
		for _, first := range earlier[b.scope] {
			if first != b.agentID {
				all = append(all, dependence{b.agentID, b.scope, first, false})
			}
		}
		earlier[b.scope] = append(earlier[b.scope], b.agentID)
	}
	return all
}
