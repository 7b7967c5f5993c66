package intents

import (
	"strings"

	"openintent/internal/caller"
	"openintent/internal/fault"
)

const (
	// maxStateBytes bounds an intent's state, its constraints and its governance policy, each as JSON text.
	maxStateBytes = 1 << 20
	// maxPayloadBytes bounds an appended event's payload with its proof, as JSON text.
	maxPayloadBytes = 256 << 10
)

// checkSize refuses JSON that is larger than the bound.
func checkSize(field string, size, bound int) error {
	if size > bound {
		return fault.LargeField(field, bound)
	}
	return nil
}

// actAs returns the agent that an action is attributed to. Only the operator can name another agent, and only with a name that
// an agent can have.
func actAs(c caller.Caller, field, named string) (string, error) {
	acting, err := c.ActAs(field, named)
	if err == nil && acting != c.Agent {
		err = caller.CheckName(field, acting)
	}
	return acting, err
}

// firstOf returns the first error of a list of checks.
func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// ValidTraceID reports whether a text can be a trace id: 32 lower-case hexadecimal digits.
func ValidTraceID(id string) bool {
	const length = 32
	return len(id) == length && strings.Trim(id, "0123456789abcdef") == ""
}
