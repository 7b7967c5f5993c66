package jsonform_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
)

var someTime = time.Date(2026, 2, 13, 10, 0, 0, 123456000, time.UTC)

// grpcOnly are the messages of SendMessages, which have no JSON form.
var grpcOnly = []protoreflect.Name{"SendMessagesResponse", "Acknowledgement"}

// allTypes returns the contract's messages that have a JSON form, sorted by name.
func allTypes(t testing.TB) []protoreflect.MessageType {
	var types []protoreflect.MessageType
	files := []protoreflect.FileDescriptor{
		openintentv1.File_openintent_v1_access_proto, openintentv1.File_openintent_v1_agents_proto,
		openintentv1.File_openintent_v1_channels_proto, openintentv1.File_openintent_v1_coordinators_proto,
		openintentv1.File_openintent_v1_events_proto, openintentv1.File_openintent_v1_intents_proto,
		openintentv1.File_openintent_v1_messages_proto, openintentv1.File_openintent_v1_subscriptions_proto,
		openintentv1.File_openintent_v1_tasks_proto, openintentv1.File_openintent_v1_keys_proto,
		openintentv1.File_openintent_v1_invites_proto,
	}
	for _, file := range files {
		for i := range file.Messages().Len() {
			if slices.Contains(grpcOnly, file.Messages().Get(i).Name()) {
				continue
			}
			found, err := protoregistry.GlobalTypes.FindMessageByName(file.Messages().Get(i).FullName())
			require.NoError(t, err)
			types = append(types, found)
		}
	}
	return types
}

// fill gives every field of a message a value that shows which field it came from.
func fill(message protoreflect.Message) {
	fields := message.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		switch {
		case field.IsList():
			list := message.Mutable(field).List()
			list.Append(sample(field, list.NewElement(), i))
			list.Append(sample(field, list.NewElement(), i+1))
		default:
			message.Set(field, sample(field, message.NewField(field), i))
		}
	}
}

func sample(field protoreflect.FieldDescriptor, fresh protoreflect.Value, seed int) protoreflect.Value {
	switch field.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(fmt.Sprintf("%s %d <&>\u2028é😀\"\\\n", field.Name(), seed))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(-seed - 1))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(1<<50 + int64(seed))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(float64(seed) + 0.25)
	case protoreflect.EnumKind:
		values := field.Enum().Values()
		return protoreflect.ValueOfEnum(values.Get(1 + seed%(values.Len()-1)).Number())
	}
	switch message := fresh.Message().Interface().(type) {
	case *timestamppb.Timestamp:
		proto.Merge(message, timestamppb.New(someTime.Add(time.Duration(seed)*time.Second)))
	case *structpb.Struct:
		proto.Merge(message, sampleObject)
	case *structpb.Value:
		proto.Merge(message, structpb.NewStructValue(sampleObject))
	default:
		fill(fresh.Message())
	}
	return fresh
}

var sampleObject = object(map[string]any{
	"text": "<b>&\u2028é😀", "none": nil, "yes": true, "whole": 3, "largest": 1<<53 - 1, "huge": 1e300, "big": 1e16,
	"tiny": 1e-7, "fraction": 0.1, "negative": -2.5, "list": []any{1, "a", []any{}}, "nested": map[string]any{"": map[string]any{}},
})

func object(fields map[string]any) *structpb.Struct {
	made, err := structpb.NewStruct(fields)
	if err != nil {
		panic(err)
	}
	return made
}
