package openintent

import (
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// This file checks names and sizes before anything is sent, by the bounds that the contract gives and the server checks. What a
// server's settings bound, such as the length of a channel's name and the size of a payload, the server alone knows.

// bound is how many characters a field of a request has.
type bound struct {
	field       protoreflect.FieldDescriptor
	least, most int
}

// known caches the bounds of each message's fields, as []bound by its full name.
var known sync.Map

// boundsOf returns the bounds of the texts of a message.
func boundsOf(message protoreflect.MessageDescriptor) []bound {
	if found, ok := known.Load(message.FullName()); ok {
		return found.([]bound)
	}
	var bounds []bound
	for i := range message.Fields().Len() {
		field := message.Fields().Get(i)
		rules, ok := proto.GetExtension(field.Options(), validate.E_Field).(*validate.FieldRules)
		if text := rules.GetString(); ok && !field.IsList() && text.GetMaxLen() > 0 {
			bounds = append(bounds, bound{field, int(text.GetMinLen()), int(text.GetMaxLen())}) //nolint:gosec // some thousands
		}
	}
	known.Store(message.FullName(), bounds)
	return bounds
}

// checkBounds refuses a request with a text that is too short or too long.
func checkBounds(request any) error {
	message, ok := request.(proto.Message)
	if !ok {
		return nil
	}
	reflected := message.ProtoReflect()
	for _, b := range boundsOf(reflected.Descriptor()) {
		if !reflected.Has(b.field) {
			continue
		}
		if length := utf8.RuneCountInString(reflected.Get(b.field).String()); length < b.least || length > b.most {
			return badField(string(b.field.Name()), fmt.Sprintf("has %d characters; use %d to %d", length, b.least, b.most))
		}
	}
	return nil
}

// maxAgentID bounds the id of an agent, in characters.
const maxAgentID = 256

// checkAgentID refuses a text that no agent can be called. setting is where it comes from. It travels with each call as metadata,
// which holds printable ASCII alone.
func checkAgentID(setting, id string) error {
	switch {
	case id == "":
		return nil // the key decides
	case len(id) > maxAgentID:
		return badSetting(setting, fmt.Sprintf("has %d characters; use 1 to %d", utf8.RuneCountInString(id), maxAgentID))
	case strings.Contains(id, "/"):
		return badSetting(setting, "may not contain a slash")
	case strings.ContainsFunc(id, func(c rune) bool { return c < ' ' || c > '~' }):
		return badSetting(setting, "must consist of printable ASCII characters")
	case reservedName(id):
		return badSetting(setting, fmt.Sprintf("%q is reserved and cannot be an agent's; to act as the operator, name no agent", id))
	}
	return nil
}

// reservedName reports whether a name is the server's own.
func reservedName(name string) bool {
	return name == "operator" || name == "system" || name == "*" || strings.HasPrefix(name, "role:")
}

// checkChannelName refuses a text that cannot be a channel's name, but for its length, which the server bounds.
func checkChannelName(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return badField("name", "must hold at least one character that is not white space")
	case strings.Contains(name, "/"):
		return badField("name", "may not contain a slash")
	case strings.ContainsFunc(name, unicode.IsControl):
		return badField("name", "may not contain control characters")
	case name == "_system":
		return badField("name", "is the name of the server's own channel; choose another name")
	}
	return nil
}

// badField is the refusal of a field of a request.
func badField(field, wrong string) error {
	return &Error{Code: "INVALID_ARGUMENT", Reason: "INVALID_FIELD", Message: field + " " + wrong + ".", Violations: []Violation{{field, wrong}}}
}
