package openapi

import (
	"fmt"
	"slices"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"openintent/server/jsonform"
)

// schemas are the schemas of the contract's messages and enums, by name.
type schemas struct {
	comments comments
	made     map[string]*Schema
	// of says of what a schema is, so that no two have one name.
	of map[string]string
}

// component returns a reference to the schema of that name. It makes the schema if it is not there.
func (s *schemas) component(name, of string, fill func(into *Schema)) *Schema {
	if known, ok := s.of[name]; ok && known != of {
		panic(fmt.Errorf("openapi: both %s and %s would be the schema %s", known, of, name))
	} else if !ok {
		made := &Schema{}
		s.made[name], s.of[name] = made, of
		fill(made) // Afterwards, because a message may contain itself.
	}
	return schemaNamed(name)
}

// answer returns the schema of a message as the server writes it.
func (s *schemas) answer(message protoreflect.MessageDescriptor) *Schema {
	return s.component(string(message.Name()), "answer "+string(message.FullName()), func(into *Schema) {
		into.Type, into.Description = "object", s.comments.of(message)
		for field := range fieldsOf(message) {
			name := string(field.Name())
			into.Properties = append(into.Properties, Property{name, s.member(field, s.answer, mayBeNull(field))})
			if !jsonform.LeftOutWhenUnset(field) {
				into.Required = append(into.Required, name)
			}
		}
	})
}

// request returns the schema of a message as clients send it within a request. Its name tells it from what the server writes.
func (s *schemas) request(message protoreflect.MessageDescriptor) *Schema {
	name := string(message.Name())
	if s.of[name] == "answer "+string(message.FullName()) {
		name += "Input"
	}
	return s.body(name, message, nil, nil)
}

// body returns the schema of a message as clients send it, without the fields of a path. Those that are elsewhere sometimes are never
// required.
func (s *schemas) body(name string, message protoreflect.MessageDescriptor, without, elsewhere []string) *Schema {
	return s.component(name, "request "+string(message.FullName()), func(into *Schema) {
		into.Type, into.Description, into.AdditionalProperties = "object", s.comments.of(message), false
		for field := range fieldsOf(message) {
			name := string(field.Name())
			if slices.Contains(without, name) || behaves(field, annotations.FieldBehavior_OUTPUT_ONLY) {
				continue
			}
			required := behaves(field, annotations.FieldBehavior_REQUIRED)
			nullable := !required && field.HasPresence()
			member := s.member(field, s.request, nullable)
			into.Properties = append(into.Properties, Property{name, bounded(member, field)})
			if required && !slices.Contains(elsewhere, name) {
				into.Required = append(into.Required, name)
			}
		}
	})
}

// member returns the schema of a field, with its comment. nested makes the schemas of messages.
func (s *schemas) member(
	field protoreflect.FieldDescriptor, nested func(protoreflect.MessageDescriptor) *Schema, nullable bool,
) *Schema {
	made := s.value(field, nested)
	if field.IsList() {
		made = &Schema{Type: "array", Items: made}
	} else if nullable {
		made = orNull(made)
	}
	made.Description = s.comments.of(field)
	made.Deprecated = isDeprecated(field)
	return made
}

// value returns the schema of a field's value, or of one element of its list.
func (s *schemas) value(field protoreflect.FieldDescriptor, nested func(protoreflect.MessageDescriptor) *Schema) *Schema {
	switch field.Kind() {
	case protoreflect.StringKind:
		return &Schema{Type: "string"}
	case protoreflect.BoolKind:
		return &Schema{Type: "boolean"}
	case protoreflect.Int32Kind:
		return &Schema{Type: "integer", Format: "int32"}
	case protoreflect.Int64Kind:
		return &Schema{Type: "integer", Format: "int64"}
	case protoreflect.DoubleKind:
		return &Schema{Type: "number", Format: "double"}
	case protoreflect.EnumKind:
		return s.enum(field.Enum())
	case protoreflect.MessageKind:
		if made, known := wellKnown[field.Message().FullName()]; known {
			return &made
		}
		return nested(field.Message())
	}
	panic(fmt.Errorf("openapi: %s has a kind that the contract does not use: %s", field.FullName(), field.Kind()))
}

// enum returns the schema of an enum, whose values are words.
func (s *schemas) enum(enum protoreflect.EnumDescriptor) *Schema {
	return s.component(string(enum.Name()), "enum "+string(enum.FullName()), func(into *Schema) {
		into.Type, into.Description = "string", s.comments.of(enum)+"\n"
		for i := range enum.Values().Len() {
			if value := enum.Values().Get(i); value.Number() != 0 {
				word := jsonform.WordOf(value)
				into.Enum = append(into.Enum, word)
				into.Description += "\n- `" + word + "`: " + s.comments.of(value)
			}
		}
	})
}

// valueName is the type of a field that holds any JSON value, null included.
const valueName protoreflect.FullName = "google.protobuf.Value"

// wellKnown are the types that have a JSON form of their own.
var wellKnown = map[protoreflect.FullName]Schema{
	"google.protobuf.Timestamp": {Type: "string", Format: "date-time"},
	"google.protobuf.Struct":    {Type: "object", AdditionalProperties: true},
	"google.protobuf.ListValue": {Type: "array", Items: &Schema{}},
	valueName:                   {},
}

// orNull returns a schema that allows null, too.
func orNull(schema *Schema) *Schema {
	if name, ok := schema.Type.(string); ok {
		schema.Type = []string{name, "null"}
		return schema
	}
	if schema.Ref == "" {
		return schema // any value
	}
	return &Schema{AnyOf: []*Schema{schema, {Type: "null"}}}
}

func fieldsOf(message protoreflect.MessageDescriptor) func(yield func(protoreflect.FieldDescriptor) bool) {
	return func(yield func(protoreflect.FieldDescriptor) bool) {
		for i := range message.Fields().Len() {
			if !yield(message.Fields().Get(i)) {
				return
			}
		}
	}
}

func behaves(field protoreflect.FieldDescriptor, how annotations.FieldBehavior) bool {
	behaviour, _ := proto.GetExtension(field.Options(), annotations.E_FieldBehavior).([]annotations.FieldBehavior)
	return slices.Contains(behaviour, how)
}

func isDeprecated(field protoreflect.FieldDescriptor) bool {
	options, _ := field.Options().(*descriptorpb.FieldOptions)
	return options.GetDeprecated()
}
