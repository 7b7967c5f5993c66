package channels

import (
	"fmt"

	"openintent/internal/caller"
	"openintent/internal/fault"
)

const (
	maxMaxMessages = 1_000_000_000

	minTurnBudget = 2 // a thread has more than two messages before anybody speaks of a loop
	maxTurnBudget = 100

	minConversationBudget = 2
	maxConversationBudget = 1000
)

// checkMembers refuses names that no agent can have, and lists that are too long. It removes repetitions; the first place of
// each name counts.
func (s *Service) checkMembers(members []string) ([]string, error) {
	seen := make(map[string]bool, len(members))
	distinct := make([]string, 0, len(members))
	for i, name := range members {
		if err := caller.CheckName(fmt.Sprintf("members[%d]", i), name); err != nil {
			return nil, err
		}
		if !seen[name] {
			seen[name] = true
			distinct = append(distinct, name)
		}
	}
	return distinct, s.checkMemberCount(len(distinct))
}

func (s *Service) checkMemberCount(count int) error {
	if count > s.maxMembers {
		return fault.BadField("members", "would list %d agents; a channel lists at most %d.", count, s.maxMembers)
	}
	return nil
}

// maxMessagesOf reads the bound on listed messages from the wire; nil means the default.
func maxMessagesOf(bound *int64) (int64, error) {
	if bound == nil {
		return DefaultMaxMessages, nil
	}
	if *bound < 1 || *bound > maxMaxMessages {
		return 0, fault.BadField("options.max_messages", "must lie between 1 and %d.", int64(maxMaxMessages))
	}
	return *bound, nil
}

// turnBudgetOf reads the turn budget from the wire; nil means the default.
func turnBudgetOf(budget *int64) (int64, error) {
	switch {
	case budget == nil:
		return DefaultTurnBudget, nil
	case *budget != 0 && (*budget < minTurnBudget || *budget > maxTurnBudget):
		return 0, fault.BadField("options.turn_budget", "must be 0, which switches the brake off, or lie between %d and %d.",
			minTurnBudget, maxTurnBudget)
	}
	return *budget, nil
}

// conversationBudgetOf reads the conversation budget from the wire; nil means the default, which is not stored.
func conversationBudgetOf(budget *int64) (*int64, error) {
	if budget != nil && *budget != 0 && (*budget < minConversationBudget || *budget > maxConversationBudget) {
		return nil, fault.BadField("options.conversation_budget", "must be 0, which switches the brake off, or lie between %d and %d.",
			minConversationBudget, maxConversationBudget)
	}
	return budget, nil
}
