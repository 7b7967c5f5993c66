package doors

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"openintent/internal/fault"
	"openintent/internal/jsonvalue"
)

// ReadArguments reads what somebody filled in for an action: one JSON object by the house's rules, or nothing, which stands for an empty
// one. It refuses members that the action does not have, and those that it needs and that are missing.
func ReadArguments(action string, given json.RawMessage, required []string, into any) error {
	object, err := readObject(given, "arguments", action, into)
	if err != nil {
		return err
	}
	for _, name := range required {
		if value, ok := object.Member(name); !ok || bytes.Equal(value, []byte("null")) {
			return fault.BadField(name, "is missing; %s needs it.", action)
		}
	}
	return nil
}

// ReadBody reads the body of a request as ReadArguments reads arguments.
func ReadBody(given []byte, into any) error {
	_, err := readObject(given, "body", "this request", into)
	return err
}

// readObject decodes an object. whole is how refusals call it, and action whose it is.
func readObject(given []byte, whole, action string, into any) (jsonvalue.Object, error) {
	if given = bytes.TrimSpace(given); len(given) == 0 || bytes.Equal(given, []byte("null")) {
		given = []byte("{}")
	}
	object, err := jsonvalue.ParseObject(given, "")
	if err != nil {
		var bad *jsonvalue.Violation
		if errors.As(err, &bad) && bad.Path == "" {
			bad.Path = whole
		}
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(into)
	var wrongType *json.UnmarshalTypeError
	switch {
	case err == nil:
		return object, nil
	case errors.As(err, &wrongType) && wrongType.Field != "":
		kind, _, _ := strings.Cut(wrongType.Value, " ") // a number follows with all its digits
		return nil, fault.BadField(pathIn(object, wrongType.Field), "must be %s, and is of the type %s.", kindOf(wrongType.Type), kind)
	case strings.HasPrefix(err.Error(), "json: unknown field "):
		name := strings.Trim(strings.TrimPrefix(err.Error(), "json: unknown field "), `"`)
		holder := holderOf(object, name)
		return nil, fault.BadField(Beginning(holder+name, longestName), "is no argument of %s; leave it out%s.", action, others(holder, into))
	}
	return nil, fault.BadField(whole, "cannot be read; %s takes other types.", action)
}

// others names what somebody may have meant that misspelt an argument: those that the action has. Within an object there is nothing to name.
func others(holder string, into any) string {
	names := namesIn(reflect.TypeOf(into).Elem())
	if holder != "" || len(names) == 0 {
		return ""
	}
	return ", or give one of these: " + strings.Join(names, ", ")
}

// namesIn returns the names of the members that are decoded into a type.
func namesIn(of reflect.Type) (names []string) {
	if of.Kind() != reflect.Struct {
		return nil
	}
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name != "" && name != "-":
			names = append(names, name)
		case field.Anonymous:
			names = append(names, namesIn(field.Type)...)
		}
	}
	return names
}

// longestName is how many bytes a refusal says of the name of an argument that there is not.
const longestName = 128

// pathIn returns the path of a value in an object. The library also names the Go types in which some arguments are declared together; they
// are no members, and the path leaves them out.
func pathIn(object jsonvalue.Object, named string) string {
	var path []string
	for _, name := range strings.Split(named, ".") {
		value, has := object.Member(name)
		if !has && object != nil {
			continue
		}
		path, object = append(path, name), nil
		if has && value[0] == '{' {
			object = value
		}
	}
	if len(path) == 0 { // in other letters, which the library takes
		return named
	}
	return strings.Join(path, ".")
}

// holderOf returns how the path of a member begins that is in an object of an object; it is empty for a member of the outer one.
func holderOf(object jsonvalue.Object, name string) string {
	if _, has := object.Member(name); has {
		return ""
	}
	for holder, value := range jsonvalue.Members(object) {
		if value[0] != '{' {
			continue
		}
		if _, has := jsonvalue.Object(value).Member(name); has {
			return string(holder) + "."
		}
	}
	return ""
}

// kindOf names the type of JSON that becomes a type of Go.
func kindOf(wanted reflect.Type) string {
	switch wanted.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "a whole number within bounds"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}
