package doors

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"openintent/fault"
)

// ReadArguments reads what a model filled in for a tool. It refuses arguments that the tool does not have, and those that it needs and
// that are missing.
func ReadArguments(tool string, given json.RawMessage, required []string, into any) error {
	if err := decodeArguments(tool, given, into); err != nil {
		return err
	}
	var members map[string]json.RawMessage
	_ = json.Unmarshal(given, &members)
	for _, name := range required {
		if value, ok := members[name]; !ok || bytes.Equal(value, []byte("null")) {
			return fault.BadField(name, "is missing; %s needs it.", tool)
		}
	}
	return nil
}

func decodeArguments(tool string, given json.RawMessage, into any) error {
	if len(given) == 0 || bytes.Equal(given, []byte("null")) {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(given))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	var wrongType *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrongType) && wrongType.Field != "":
		return fault.BadField(wrongType.Field, "has the wrong type: it is a %s; tools/list has its schema.", wrongType.Value)
	case strings.HasPrefix(err.Error(), "json: unknown field "):
		return fault.BadField(strings.Trim(strings.TrimPrefix(err.Error(), "json: unknown field "), `"`),
			"is no argument of %s; tools/list has them.", tool)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fault.BadField("arguments", "end too early; send one JSON object.")
	}
	return fault.BadField("arguments", "must be one JSON object.")
}
