package channels

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"openintent/caller"
	"openintent/fault"
)

const (
	maxTTL         = 100 * 365 * 24 * time.Hour
	maxMaxMessages = 1_000_000_000

	minTurnBudget = 2 // a thread has more than two messages before anybody speaks of a loop
	maxTurnBudget = 100
)

// CheckName refuses a text that cannot be a channel's name; field is the field of the request that has it. The server keeps a
// name as given: it does not trim it, and compares names by their bytes.
func (s *Service) CheckName(field, name string) error {
	switch length := utf8.RuneCountInString(name); {
	case length > s.maxNameLength:
		return fault.BadField(field, "has %d characters; use at most %d.", length, s.maxNameLength)
	case strings.TrimSpace(name) == "":
		return fault.BadField(field, "must hold at least one character that is not white space.")
	case strings.Contains(name, "/"):
		return fault.BadField(field, "may not contain a slash.")
	case strings.ContainsFunc(name, unicode.IsControl):
		return fault.BadField(field, "may not contain control characters.")
	case name == SystemName:
		return fault.BadField(field, "is the name of the server's own channel; choose another name.")
	}
	return nil
}

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

// ttlOf turns the wire's seconds into a time to live; nil means none.
func ttlOf(seconds *int64) (time.Duration, error) {
	if seconds == nil {
		return 0, nil
	}
	if *seconds < 1 || *seconds > int64(maxTTL/time.Second) {
		return 0, fault.BadField("options.ttl_seconds",
			"must lie between 1 and %d; null is no limit.", int64(maxTTL/time.Second))
	}
	return time.Duration(*seconds) * time.Second, nil
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
