package jsonform

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/internal/fault"
	"openintent/internal/jsonvalue"
)

// Body is the path that a violation names when the body as a whole is wrong.
const Body = "body"

// mostViolations is how many violations one refusal names at most.
const mostViolations = 20

// longestName is how many bytes of an unknown field's name a refusal repeats at most.
const longestName = 64

// Options control how strictly Decode reads.
type Options struct {
	// IgnoreUnknown makes Decode skip fields that the message does not have, which existing clients need.
	IgnoreUnknown bool
}

// Decode reads a JSON object into an empty message and returns what is wrong with it, field by field; nothing when
// everything is right. A message with violations must not be used.
//
// Null means unset, except in a google.protobuf.Value, where it is the value null.
func Decode(text []byte, into proto.Message, options Options) []fault.Field {
	if err := jsonvalue.Check(text, ""); err != nil {
		return []fault.Field{fromViolation(err)}
	}
	d := decoder{options: options}
	d.message(text, into.ProtoReflect(), "")
	return d.violations
}

func fromViolation(err error) fault.Field {
	var violation *jsonvalue.Violation
	if !errors.As(err, &violation) {
		return fault.Field{Path: Body, Description: "must be JSON."}
	}
	if violation.Path == "" {
		return fault.Field{Path: Body, Description: violation.Reason}
	}
	return fault.Field{Path: violation.Path, Description: violation.Reason}
}

// decoder reads text that has passed jsonvalue.Check, so it need not check for malformed JSON.
type decoder struct {
	options    Options
	violations []fault.Field
}

func (d *decoder) refuse(path, description string, args ...any) {
	if len(d.violations) < mostViolations {
		d.violations = append(d.violations, fault.Field{Path: path, Description: fmt.Sprintf(description, args...)})
	}
}

// message reads an object's members into a message; path is the path of the object, empty for the whole body.
func (d *decoder) message(text []byte, into protoreflect.Message, path string) {
	if kindOf(text) != object {
		if path == "" {
			path = Body
		}
		d.refuse(path, "must be a JSON object.")
		return
	}
	p := planOf(into.Descriptor())
	for key, value := range jsonvalue.Members(text) {
		f, known := p.byName[string(key)]
		switch {
		case !known && !d.options.IgnoreUnknown:
			d.refuse(below(path, shorten(string(key))), "is not a field of this request.")
		case known:
			d.field(f, value, into, path)
		}
	}
}

func (d *decoder) field(f *field, text []byte, into protoreflect.Message, parent string) {
	if kindOf(text) == null && !f.is(freeValue) {
		return
	}
	if f.descriptor.IsList() {
		d.elements(f, text, into.Mutable(f.descriptor).List(), below(parent, f.name))
		return
	}
	if f.is(ordinary) {
		d.message(text, into.Mutable(f.descriptor).Message(), below(parent, f.name))
		return
	}
	value, problem := plainOf(f, text)
	if problem != "" {
		d.refuse(below(parent, f.name), "%s", problem)
		return
	}
	into.Set(f.descriptor, value)
}

func (d *decoder) elements(f *field, text []byte, into protoreflect.List, path string) {
	if kindOf(text) != list {
		d.refuse(path, "must be a list.")
		return
	}
	for element := range jsonvalue.Elements(text) {
		if f.is(ordinary) {
			d.message(element, into.AppendMutable().Message(), at(path, into.Len()-1))
			continue
		}
		value, problem := plainOf(f, element)
		if problem != "" {
			d.refuse(at(path, into.Len()), "%s", problem)
			value = into.NewElement() // keeps the indexes of the elements that follow
		}
		into.Append(value)
	}
}

// plainOf reads one value of a field, or of a list's element, that is not an ordinary message. It also returns what
// is wrong with the value, or "".
func plainOf(f *field, text []byte) (protoreflect.Value, string) {
	switch f.descriptor.Kind() {
	case protoreflect.MessageKind:
		return wellKnownOf(f, text)
	case protoreflect.StringKind:
		return textOf(text)
	case protoreflect.BoolKind:
		return boolOf(text)
	case protoreflect.EnumKind:
		return wordOf(f, text)
	default:
		return numberOf(f, text)
	}
}

func textOf(text []byte) (protoreflect.Value, string) {
	if kindOf(text) != quoted {
		return protoreflect.Value{}, "must be text in quotes."
	}
	return protoreflect.ValueOfString(jsonvalue.Unquote(text)), ""
}

func boolOf(text []byte) (protoreflect.Value, string) {
	if kindOf(text) != boolean {
		return protoreflect.Value{}, "must be true or false."
	}
	return protoreflect.ValueOfBool(text[0] == 't'), ""
}

func wordOf(f *field, text []byte) (protoreflect.Value, string) {
	if kindOf(text) != quoted {
		return protoreflect.Value{}, "must be one of " + f.words.list + "."
	}
	number, problem := f.words.find(jsonvalue.Unquote(text))
	return protoreflect.ValueOfEnum(number), problem
}

func numberOf(f *field, text []byte) (protoreflect.Value, string) {
	if kindOf(text) != number {
		return protoreflect.Value{}, "must be a number, without quotes."
	}
	return parseNumber(f, string(text))
}

func wellKnownOf(f *field, text []byte) (protoreflect.Value, string) {
	switch f.nested().shape {
	case timestamp:
		if kindOf(text) != quoted {
			return protoreflect.Value{}, timeProblem
		}
		return timestampOf(jsonvalue.Unquote(text))
	case freeObject:
		if kindOf(text) != object {
			return protoreflect.Value{}, "must be a JSON object."
		}
		decoded, err := jsonvalue.Object(text).Struct()
		if err != nil {
			return protoreflect.Value{}, "must be a JSON object."
		}
		return protoreflect.ValueOfMessage(decoded.ProtoReflect()), ""
	case freeValue:
		decoded := new(structpb.Value)
		if err := decoded.UnmarshalJSON(text); err != nil {
			return protoreflect.Value{}, "must be a JSON value."
		}
		return protoreflect.ValueOfMessage(decoded.ProtoReflect()), ""
	case freeList:
		decoded := new(structpb.ListValue)
		if kindOf(text) != list || decoded.UnmarshalJSON(text) != nil {
			return protoreflect.Value{}, "must be a list."
		}
		return protoreflect.ValueOfMessage(decoded.ProtoReflect()), ""
	default:
		return protoreflect.Value{}, "cannot be given in a body."
	}
}

func timestampOf(text string) (protoreflect.Value, string) {
	when, problem := parseTime(text)
	if problem != "" {
		return protoreflect.Value{}, problem
	}
	return protoreflect.ValueOfMessage(timestamppb.New(when).ProtoReflect()), ""
}

// is reports whether the field holds messages of that shape.
func (f *field) is(s shape) bool { return f.nested != nil && f.nested().shape == s }

// kind is the sort of JSON value that a text is.
type kind uint8

const (
	null kind = iota
	boolean
	number
	quoted
	list
	object
)

// kindOf looks at the first byte of a value that was checked before.
func kindOf(text []byte) kind {
	for _, c := range text {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '{':
			return object
		case '[':
			return list
		case '"':
			return quoted
		case 't', 'f':
			return boolean
		case 'n':
			return null
		}
		break
	}
	return number
}

func below(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "." + name
}

func at(path string, index int) string { return path + "[" + strconv.Itoa(index) + "]" }

func shorten(name string) string {
	if len(name) <= longestName {
		return name
	}
	end := longestName
	for !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end] + "…"
}
