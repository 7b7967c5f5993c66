package server

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"openintent/internal/fault"
)

// zeroProblem says why no text may have the character U+0000: PostgreSQL takes no such text, neither to store it nor to look for it.
const zeroProblem = "may not contain U+0000."

// checkZero refuses a request that has U+0000 in a text, so that no room has to think of it. The rooms themselves look into free-form
// values, which they read anyway.
func checkZero(request protoreflect.Message) error {
	if path := zeroIn(request); path != "" {
		return fault.BadField(path, zeroProblem)
	}
	return nil
}

// zeroIn returns the path of a text with U+0000 in a message, and "" if there is none.
func zeroIn(message protoreflect.Message) (path string) {
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap(), isFreeForm(field.Message()): // no request has a map
		case !field.IsList():
			if rest, has := zeroInValue(field, value); has {
				path = string(field.Name()) + rest
			}
		case field.Kind() == protoreflect.StringKind || field.Message() != nil: // and not the many numbers of an acknowledgement
			for i := range value.List().Len() {
				if rest, has := zeroInValue(field, value.List().Get(i)); has && path == "" {
					path = fmt.Sprintf("%s[%d]%s", field.Name(), i, rest)
				}
			}
		}
		return path == ""
	})
	return path
}

// zeroInValue reports whether one value of a field has U+0000, and where within the value.
func zeroInValue(field protoreflect.FieldDescriptor, value protoreflect.Value) (rest string, has bool) {
	switch {
	case field.Message() != nil:
		path := zeroIn(value.Message())
		return "." + path, path != ""
	case field.Kind() == protoreflect.StringKind:
		return "", strings.ContainsRune(value.String(), 0)
	}
	return "", false
}

// isFreeForm reports whether values of a type are any JSON.
func isFreeForm(message protoreflect.MessageDescriptor) bool {
	return message != nil && message.ParentFile().Path() == "google/protobuf/struct.proto"
}
