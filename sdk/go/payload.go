package openintent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
)

// greatestInteger is the greatest integer n for which a double represents n and its neighbours exactly.
const greatestInteger = 1<<53 - 1

// encode makes a payload from a value that encoding/json writes as an object. A nil payload becomes the empty object.
func encode(value any) (*structpb.Struct, error) {
	if value == nil {
		return &structpb.Struct{}, nil
	}
	if object, is := value.(map[string]any); is {
		if payload, plain := plainStruct(object, 0); plain {
			return payload, nil
		}
	}
	return encodeByJSON(value)
}

func encodeByJSON(value any) (*structpb.Struct, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, invalidPayload(err.Error())
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var decoded any
	if err := decoder.Decode(&decoded); err != nil && err != io.EOF {
		return nil, invalidPayload(err.Error())
	}
	object, ok := decoded.(map[string]any)
	if !ok {
		if decoded == nil {
			return &structpb.Struct{}, nil
		}
		return nil, invalidPayload(fmt.Sprintf("a payload is a JSON object, and %T is not", value))
	}
	return structOf(object)
}

func structOf(object map[string]any) (*structpb.Struct, error) {
	fields := make(map[string]*structpb.Value, len(object))
	for name, member := range object {
		value, err := valueOf(member)
		if err != nil {
			return nil, err
		}
		fields[name] = value
	}
	return &structpb.Struct{Fields: fields}, nil
}

func valueOf(decoded any) (*structpb.Value, error) {
	switch decoded := decoded.(type) {
	case bool:
		return structpb.NewBoolValue(decoded), nil
	case string:
		return structpb.NewStringValue(decoded), nil
	case json.Number:
		number, err := decoded.Float64()
		if err != nil {
			return nil, invalidPayload("the number " + decoded.String() + " does not fit a double")
		}
		if math.Abs(number) > greatestInteger && !strings.ContainsAny(decoded.String(), ".eE") {
			return nil, invalidPayload("the integer " + decoded.String() + " does not fit a double; send it as a string")
		}
		return structpb.NewNumberValue(number), nil
	case []any:
		list := make([]*structpb.Value, len(decoded))
		for i, element := range decoded {
			value, err := valueOf(element)
			if err != nil {
				return nil, err
			}
			list[i] = value
		}
		return structpb.NewListValue(&structpb.ListValue{Values: list}), nil
	case map[string]any:
		object, err := structOf(decoded)
		return structpb.NewStructValue(object), err
	}
	return structpb.NewNullValue(), nil
}

// decode fills a value with an object, as encoding/json does.
func decode(object map[string]any, into any) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func invalidPayload(description string) *Error {
	return &Error{Code: "INVALID_ARGUMENT", Reason: reasonPayload, Message: "The payload cannot be sent: " + description + ".",
		Violations: []Violation{{Field: "payload", Description: description}}}
}
