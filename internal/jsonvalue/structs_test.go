package jsonvalue

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"
)

func TestFromStruct(t *testing.T) {
	s, err := structpb.NewStruct(map[string]any{
		"b": []any{nil, true, false, "é\n<", map[string]any{}, []any{}},
		"a": map[string]any{"\ufb33": 1, "😀": 2},
		"numbers": []any{1.0, -7.0, math.Copysign(0, -1), 0.1, 1e-7, float64(maxInteger), -float64(maxInteger),
			9007199254740992.0, 1e20, 1e21, math.MaxFloat64, math.SmallestNonzeroFloat64},
	})
	require.NoError(t, err)
	o, err := FromStruct(s, "payload")
	require.NoError(t, err)
	require.Equal(t, `{"a":{"😀":2,"`+"\ufb33"+`":1},"b":[null,true,false,"é\n<",{},[]],`+
		`"numbers":[1,-7,0,0.1,1e-7,9007199254740991,-9007199254740991,`+
		`9.007199254740992e+15,1e+20,1e+21,1.7976931348623157e+308,5e-324]}`, string(o))
	require.NoError(t, Check(o, "payload"))
}

func TestAbsentAndEmptyStructs(t *testing.T) {
	o, err := FromStruct(nil, "payload")
	require.NoError(t, err)
	require.True(t, o.IsNull())
	s, err := o.Struct()
	require.NoError(t, err)
	require.Nil(t, s)

	o, err = FromStruct(&structpb.Struct{}, "payload")
	require.NoError(t, err)
	require.Equal(t, Object(`{}`), o)
	s, err = o.Struct()
	require.NoError(t, err)
	require.NotNil(t, s)
}

func TestFromStructRefuses(t *testing.T) {
	deep := func(depth int) *structpb.Value {
		value := structpb.NewNullValue()
		for range depth {
			value = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{value}})
		}
		return value
	}
	field := func(key string, value *structpb.Value) *structpb.Struct {
		return &structpb.Struct{Fields: map[string]*structpb.Value{key: value}}
	}
	_, err := FromStruct(field("a", deep(MaxDepth-1)), "payload")
	require.NoError(t, err)

	for _, c := range []struct {
		s            *structpb.Struct
		path, reason string
	}{
		{field("a", structpb.NewNumberValue(math.NaN())), "payload.a", "NaN"},
		{field("a", structpb.NewNumberValue(math.Inf(-1))), "payload.a", "infinities"},
		{field("a", structpb.NewStringValue("\x00")), "payload.a", "U+0000"},
		{field("a", structpb.NewStringValue("\xff")), "payload.a", "UTF-8"},
		{field("a", structpb.NewStructValue(field("\x00", structpb.NewNullValue()))), "payload.a", "U+0000"},
		{field("\xed\xa0\x80", structpb.NewNullValue()), "payload", "UTF-8"},
		{field("a", &structpb.Value{}), "payload.a", "no kind"},
		{field("a", nil), "payload.a", "no kind"},
		{field("a", structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{nil}})), "payload.a[0]", "no kind"},
		{field("a", deep(MaxDepth)), "payload.a" + strings.Repeat("[0]", MaxDepth-1), "nested at most 64"},
	} {
		_, err := FromStruct(c.s, "payload")
		var violation *Violation
		require.ErrorAs(t, err, &violation)
		require.Equal(t, c.path, violation.Path)
		require.Contains(t, violation.Reason, c.reason)
	}
}

func TestStructRefusesWhatWasNeverValidated(t *testing.T) {
	for _, text := range []string{`{`, `[]`, `{"a":1,"a":2}`, `{"a":1e999}`} {
		_, err := Object(text).Struct()
		var violation *Violation
		require.ErrorAs(t, err, &violation, text)
	}
}

func TestStructRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, err := ParseObject([]byte(objectText().Draw(t, "text")), "payload")
		require.NoError(t, err)
		s, err := o.Struct()
		require.NoError(t, err)

		reference := &structpb.Struct{}
		require.NoError(t, reference.UnmarshalJSON(o))
		require.True(t, proto.Equal(reference, s))

		back, err := FromStruct(s, "payload")
		require.NoError(t, err)
		require.NoError(t, Check(back, "payload"))
		require.Equal(t, string(canonical(o)), string(canonical(back)))
		again, err := FromStruct(s, "payload")
		require.NoError(t, err)
		require.Equal(t, back, again)
	})
}

func TestAcceptedObjectCanBeSentWithinAnother(t *testing.T) {
	deepest, err := ParseObject([]byte(strings.Repeat(`{"a":`, MaxDepth-1)+"{}"+strings.Repeat("}", MaxDepth-1)), "payload")
	require.NoError(t, err)
	var event Builder
	wrapped := event.Raw("payload", deepest).Object()
	s, err := wrapped.Struct()
	require.NoError(t, err)
	back, err := FromStruct(s.GetFields()["payload"].GetStructValue(), "payload")
	require.NoError(t, err)
	require.Equal(t, string(deepest), string(back))
}
