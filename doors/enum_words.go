package doors

import (
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Word returns a value of an enum as the contract's JSON writes it, and "" for the unspecified one.
func Word(value protoreflect.Enum) string {
	descriptor := value.Descriptor()
	name := string(descriptor.Values().ByNumber(value.Number()).Name())
	if value.Number() == 0 {
		return ""
	}
	zero := string(descriptor.Values().ByNumber(0).Name())
	return strings.ToLower(strings.TrimPrefix(name, strings.TrimSuffix(zero, "UNSPECIFIED")))
}

// Beginning returns at most so many bytes of a text and no part of a character.
func Beginning(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	for bytes > 0 && !utf8.RuneStart(text[bytes]) {
		bytes--
	}
	return text[:bytes]
}
