package caller

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"openintent/internal/fault"
)

// MaxNameLength bounds the ids of agents and of roles, in characters.
const MaxNameLength = 256

// CheckName refuses a name that cannot be an agent's id. An id has 1 to 256 characters, no "/" and no control characters,
// and is none of the reserved names. The refusal names the given field of the request.
func CheckName(field, name string) error {
	switch {
	case name == "" || utf8.RuneCountInString(name) > MaxNameLength:
		return fault.BadField(field, "an agent's id has 1 to %d characters.", MaxNameLength)
	case !utf8.ValidString(name) || strings.Contains(name, "/") || strings.ContainsFunc(name, unicode.IsControl):
		return fault.BadField(field, `an agent's id is UTF-8 text without "/" and control characters.`)
	case Reserved(name):
		return fault.BadField(field, "this name is reserved and cannot be an agent's.")
	}
	return nil
}

// CheckText refuses text that not every database can store or search for: text with U+0000, and text that is not UTF-8.
// The refusal names the given field of the request.
func CheckText(field, text string) error {
	if strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
		return fault.BadField(field, "text is UTF-8 without U+0000.")
	}
	return nil
}
