package openapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"openintent/server/jsonform"
)

// bounded returns the schema of a field with the bounds that its proto has.
func bounded(schema *Schema, field protoreflect.FieldDescriptor) *Schema {
	rules, _ := proto.GetExtension(field.Options(), validate.E_Field).(*validate.FieldRules)
	if rules == nil {
		return schema
	}
	if repeated := rules.GetRepeated(); repeated != nil {
		schema.MinItems, schema.MaxItems, schema.UniqueItems = repeated.GetMinItems(), repeated.GetMaxItems(), repeated.GetUnique()
		addBounds(schema.Items, repeated.GetItems(), field)
		return schema
	}
	addBounds(schema, rules, field)
	return schema
}

// addBounds adds the bounds of one value.
func addBounds(schema *Schema, rules *validate.FieldRules, field protoreflect.FieldDescriptor) {
	switch {
	case rules.GetString() != nil:
		text := rules.GetString()
		schema.MinLength, schema.MaxLength, schema.Pattern, schema.Enum = text.GetMinLen(), text.GetMaxLen(), text.GetPattern(), text.GetIn()
	case rules.GetInt32() != nil:
		addRange(schema, rules.GetInt32())
	case rules.GetInt64() != nil:
		addRange(schema, rules.GetInt64())
	case rules.GetDouble() != nil:
		addRange(schema, rules.GetDouble())
	case rules.GetEnum() != nil:
		restrict(schema, rules.GetEnum(), field.Enum())
	}
}

// numberRules are the rules of a number.
type numberRules[N int32 | int64 | float64] interface {
	HasGte() bool
	GetGte() N
	HasGt() bool
	GetGt() N
	HasLte() bool
	GetLte() N
	HasLt() bool
	ProtoReflect() protoreflect.Message
}

func addRange[N int32 | int64 | float64](schema *Schema, rules numberRules[N]) {
	if rules.HasGte() {
		schema.Minimum = number(rules.GetGte())
	}
	if rules.HasGt() {
		schema.ExclusiveMinimum = number(rules.GetGt())
	}
	if rules.HasLte() {
		schema.Maximum = number(rules.GetLte())
	}
	if rules.HasLt() {
		panic(fmt.Errorf("openapi: %s has a bound that the contract does not use", rules.ProtoReflect().Descriptor().FullName()))
	}
}

func number[N int32 | int64 | float64](value N) json.Number {
	return json.Number(strconv.FormatFloat(float64(value), 'f', -1, 64))
}

// restrict leaves those words of an enum that the field takes.
func restrict(schema *Schema, rules *validate.EnumRules, enum protoreflect.EnumDescriptor) {
	var words []string
	all := true
	for i := range enum.Values().Len() {
		value := enum.Values().Get(i)
		refused := slices.Contains(rules.GetNotIn(), int32(value.Number())) ||
			len(rules.GetIn()) > 0 && !slices.Contains(rules.GetIn(), int32(value.Number()))
		switch {
		case value.Number() == 0:
		case refused:
			all = false
		default:
			words = append(words, jsonform.WordOf(value))
		}
	}
	if all {
		return
	}
	if schema.AnyOf != nil { // or null
		schema = schema.AnyOf[0]
	}
	schema.Ref, schema.Type, schema.Enum = "", "string", words
}
