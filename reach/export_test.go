package reach

// KeepAgents sets how many agents are known at most.
func (h *Here) KeepAgents(most int) { h.mostAgents = most }
