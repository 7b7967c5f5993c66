package doors

import (
	"encoding/json"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	"openintent/internal/jsonvalue"
)

// Arguments says by which arguments of a door the fields of the contract are given. If several may give a field, the first one is named
// unless the caller gave another. A dot leads into an object. The longest field that is here decides about those in it.
type Arguments map[string][]string

// Explain returns the refusal of a call in the words of a door's caller: it calls the fields by the arguments that the caller gave for
// them. Fields that have no other name, and other errors, stay as they are.
func (a Arguments) Explain(err error, given json.RawMessage) error {
	refused, isStatus := status.FromError(err)
	if err == nil || !isStatus {
		return err
	}
	proto, changed := refused.Proto(), false
	details := make([]protoadapt.MessageV1, 0, len(proto.GetDetails()))
	for _, detail := range refused.Details() {
		if bad, ok := detail.(*errdetails.BadRequest); ok {
			for i, violation := range bad.GetFieldViolations() {
				name := a.named(violation.GetField(), given)
				if i == 0 && name != violation.GetField() {
					proto.Message, changed = rename(proto.GetMessage(), violation.GetField(), name), true
				}
				violation.Field = name
			}
		}
		if kept, ok := detail.(protoadapt.MessageV1); ok {
			details = append(details, kept)
		}
	}
	if !changed {
		return err
	}
	explained, err := status.New(refused.Code(), proto.GetMessage()).WithDetails(details...)
	if err != nil {
		return refused.Err()
	}
	return explained.Err()
}

// rename gives a field another name at the beginning of a sentence about it.
func rename(sentence, field, name string) string {
	if rest, found := strings.CutPrefix(sentence, field+":"); found {
		return name + ":" + rest
	}
	return sentence
}

// named returns the name that the caller knows a field by.
func (a Arguments) named(field string, given json.RawMessage) string {
	for end := len(field); end > 0; end = strings.LastIndexAny(field[:end], ".[") {
		names, rest := a[field[:end]], field[end:]
		if len(names) == 0 {
			continue
		}
		chosen := names[0]
		for _, name := range names {
			if has(given, name) {
				chosen = name
				break
			}
		}
		if rest == "."+chosen { // as text, which stands for the payload's member text
			rest = ""
		}
		return chosen + rest
	}
	return field
}

// has reports whether an object has a member; a dot in the name leads into another object.
func has(given json.RawMessage, name string) bool {
	first, rest, nested := strings.Cut(name, ".")
	object, err := jsonvalue.ParseObject(given, "")
	if err != nil {
		return false
	}
	value, found := object.Member(first)
	if !found || !nested {
		return found
	}
	return has(json.RawMessage(value), rest)
}
