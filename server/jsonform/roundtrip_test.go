package jsonform_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"openintent/server/jsonform"
)

func TestEveryMessageComesBackAsItWas(t *testing.T) {
	types := allTypes(t)
	rapid.Check(t, func(t *rapid.T) {
		messageType := rapid.SampledFrom(types).Draw(t, "type")
		message := messageType.New()
		draw(t, message)
		text, err := jsonform.Encode(message.Interface())
		if err != nil {
			t.Fatal(err)
		}
		back := messageType.New()
		if wrong := jsonform.Decode(text, back.Interface(), jsonform.Options{}); len(wrong) > 0 {
			t.Fatalf("%s is refused: %v", text, wrong)
		}
		if !proto.Equal(message.Interface(), back.Interface()) {
			t.Fatalf("%s\nwas %v\nis  %v", text, message, back)
		}
	})
}

// draw fills a message with any values that JSON can tell apart. It always sets a free-form value, because null is
// one.
func draw(t *rapid.T, message protoreflect.Message) {
	fields := message.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		isFree := field.Message() != nil && field.Message().FullName() == "google.protobuf.Value"
		if !isFree && rapid.Bool().Draw(t, "unset") {
			continue
		}
		if !field.IsList() {
			message.Set(field, drawValue(t, field, message.NewField(field)))
			continue
		}
		list := message.Mutable(field).List()
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list.Append(drawValue(t, field, list.NewElement()))
		}
	}
}

func drawValue(t *rapid.T, field protoreflect.FieldDescriptor, fresh protoreflect.Value) protoreflect.Value {
	switch field.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(drawText(t))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(rapid.Bool().Draw(t, "flag"))
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(rapid.Int32().Draw(t, "int32"))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(rapid.Int64Range(-(1<<53-1), 1<<53-1).Draw(t, "int64"))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(rapid.Float64().Draw(t, "double"))
	case protoreflect.EnumKind:
		number := rapid.IntRange(0, field.Enum().Values().Len()-1).Draw(t, "enum")
		if (field.HasPresence() || field.IsList()) && number == 0 {
			number = 1 // The zero value has no word: it comes back unset, and a list cannot hold it.
		}
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(number))
	}
	switch message := fresh.Message().Interface().(type) {
	case *timestamppb.Timestamp:
		message.Seconds = rapid.Int64Range(-62135596800, 253402300799).Draw(t, "seconds")
		message.Nanos = rapid.Int32Range(0, 999_999).Draw(t, "micros") * 1000
	case *structpb.Struct:
		proto.Merge(message, drawFree(t, 3).GetStructValue())
	case *structpb.Value:
		proto.Merge(message, drawFree(t, 3))
	default:
		draw(t, fresh.Message())
	}
	return fresh
}

func drawText(t *rapid.T) string {
	return string(bytes.ReplaceAll([]byte(rapid.String().Draw(t, "text")), []byte{0}, nil))
}

func drawFree(t *rapid.T, depth int) *structpb.Value {
	kinds := []string{"object", "list", "text", "number", "flag", "null"}
	switch depth {
	case 3:
		kinds = kinds[:1]
	case 0:
		kinds = kinds[2:]
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "object":
		fields := make(map[string]*structpb.Value)
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			fields[drawText(t)] = drawFree(t, depth-1)
		}
		return structpb.NewStructValue(&structpb.Struct{Fields: fields})
	case "list":
		list := &structpb.ListValue{}
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			list.Values = append(list.Values, drawFree(t, depth-1))
		}
		return structpb.NewListValue(list)
	case "text":
		return structpb.NewStringValue(drawText(t))
	case "number":
		return structpb.NewNumberValue(rapid.Float64().Draw(t, "number"))
	case "flag":
		return structpb.NewBoolValue(rapid.Bool().Draw(t, "flag"))
	}
	return structpb.NewNullValue()
}

// FuzzBody decodes arbitrary bytes as every request. Nothing may panic, and whatever is accepted must survive its own
// encoding. For types that have the same form in protobuf's JSON, protobuf must read the same message.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, `null`, `{"payload":{"a":[1,"b",null,{"c":1e-7}]},"sender":"x","expires_at":"2026-02-13T10:00:00Z"}`,
		`{"patches":[{"op":"set","path":"/a","value":null}],"expected_version":3}`, `{"members":["a","\ud83d\ude00"]}`,
		`{"options":{"audit":true,"ttl_seconds":60,"max_messages":null},"member_policy":"explicit"}`,
		`{"status":"active","output":{},"artifacts":[1,[2]],"error":"x"}`, "{\"a\":\"\x00\"}", `{"a":1,"a":2}`,
	} {
		f.Add([]byte(seed))
	}
	types := allTypes(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, messageType := range types {
			message := messageType.New().Interface()
			if wrong := jsonform.Decode(text, message, jsonform.Options{}); len(wrong) > 0 {
				continue
			}
			encoded, err := jsonform.Encode(message)
			require.NoError(t, err)
			back := messageType.New().Interface()
			require.Empty(t, jsonform.Decode(encoded, back, jsonform.Options{}), "%s", encoded)
			again, err := jsonform.Encode(back)
			require.NoError(t, err)
			require.Equal(t, string(encoded), string(again))

			theirs := messageType.New().Interface()
			if hasOnlyCommonForms(messageType.Descriptor()) && protojson.Unmarshal(text, theirs) == nil {
				requireEqual(t, theirs, message)
			}
		}
	})
}

// hasOnlyCommonForms reports whether a type has the same JSON in our form and in protobuf's: it has no enums.
func hasOnlyCommonForms(message protoreflect.MessageDescriptor) bool {
	fields := message.Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if field.Enum() != nil {
			return false
		}
		nested := field.Message()
		if nested != nil && nested.FullName().Parent() != "google.protobuf" && !hasOnlyCommonForms(nested) {
			return false
		}
	}
	return true
}
