package server

import (
	"strconv"
	"strings"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"openintent/internal/fault"
)

// fillFromHeaders copies the headers If-Match and Idempotency-Key into the request fields of the same meaning. A
// method without such a field ignores the header. A header and a field that disagree are refused.
func fillFromHeaders(md metadata.MD, called *method, request proto.Message) error {
	if called.expectedVersion != nil {
		if values := md.Get("if-match"); len(values) > 0 {
			version, err := parseIfMatch(values)
			if err != nil {
				return err
			}
			if err := fill(request, called.expectedVersion, protoreflect.ValueOfInt64(version), "If-Match"); err != nil {
				return err
			}
		}
	}
	if called.idempotencyKey != nil {
		if values := md.Get("idempotency-key"); len(values) > 0 {
			if len(values) > 1 {
				return fault.BadField("Idempotency-Key", "must be given once")
			}
			return fill(request, called.idempotencyKey, protoreflect.ValueOfString(values[0]), "Idempotency-Key")
		}
	}
	return nil
}

// fill sets an optional field that is unset, and refuses a value that differs from the one it has.
func fill(request proto.Message, field protoreflect.FieldDescriptor, value protoreflect.Value, header string) error {
	message := request.ProtoReflect()
	if !message.Has(field) {
		message.Set(field, value)
		return nil
	}
	if !message.Get(field).Equal(value) {
		return fault.BadField(header, "differs from %s in the request; give one of them", field.Name())
	}
	return nil
}

// parseIfMatch reads a version as clients send it: 5, "5" or W/"5".
func parseIfMatch(values []string) (int64, error) {
	text := strings.TrimSpace(values[0])
	if unweak, weak := strings.CutPrefix(text, "W/"); weak || strings.HasPrefix(text, `"`) {
		text = unweak
		if len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
			text = ""
		} else {
			text = text[1 : len(text)-1]
		}
	}
	version, err := strconv.ParseUint(text, 10, 63)
	if err != nil || len(values) > 1 {
		return 0, fault.BadField("If-Match", `must be one version number, such as 5 or "5"`)
	}
	return int64(version), nil
}
