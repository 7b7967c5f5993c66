package openintent

import (
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"
)

// deepestPlain is how deep a plain payload may be. A deeper one may contain itself, which encoding/json finds out.
const deepestPlain = 32

// plainStruct makes a payload from a map of plain values, as most payloads are, without writing it as JSON and reading that again. It
// returns false for anything whose JSON form is not evident.
func plainStruct(object map[string]any, depth int) (*structpb.Struct, bool) {
	fields := make(map[string]*structpb.Value, len(object))
	for name, member := range object {
		value, plain := plainValue(member, depth+1)
		if !plain || !utf8.ValidString(name) {
			return nil, false
		}
		fields[name] = value
	}
	return &structpb.Struct{Fields: fields}, true
}

func plainValue(value any, depth int) (*structpb.Value, bool) {
	if depth > deepestPlain {
		return nil, false
	}
	switch value := value.(type) {
	case nil:
		return structpb.NewNullValue(), true
	case bool:
		return structpb.NewBoolValue(value), true
	case string:
		return structpb.NewStringValue(value), utf8.ValidString(value)
	case int:
		return structpb.NewNumberValue(float64(value)), -greatestInteger <= int64(value) && int64(value) <= greatestInteger
	case float64:
		return structpb.NewNumberValue(value), math.Abs(value) <= greatestInteger // false for what is no number
	case []any:
		return plainList(value, depth)
	case map[string]any:
		if value == nil {
			return structpb.NewNullValue(), true
		}
		object, plain := plainStruct(value, depth)
		return structpb.NewStructValue(object), plain
	}
	return nil, false
}

func plainList(list []any, depth int) (*structpb.Value, bool) {
	if list == nil {
		return structpb.NewNullValue(), true
	}
	values := make([]*structpb.Value, len(list))
	for i, element := range list {
		value, plain := plainValue(element, depth+1)
		if !plain {
			return nil, false
		}
		values[i] = value
	}
	return structpb.NewListValue(&structpb.ListValue{Values: values}), true
}
