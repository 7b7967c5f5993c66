package agents

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"openintent/internal/caller"
	"openintent/internal/fault"
)

// CheckRole refuses a text that cannot be a role's id; an empty text stands for no role.
func CheckRole(field, role string) error {
	if utf8.RuneCountInString(role) > caller.MaxNameLength || !utf8.ValidString(role) ||
		strings.ContainsFunc(role, unicode.IsControl) {
		return fault.BadField(field, "a role's id has at most %d characters and no control characters.", caller.MaxNameLength)
	}
	return nil
}
