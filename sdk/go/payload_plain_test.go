package openintent

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// Whatever is made without JSON is what encoding/json makes of it.
func TestPlainPayloadsAreWhatJSONMakesOfThem(t *testing.T) {
	var member func(depth int) *rapid.Generator[any]
	member = func(depth int) *rapid.Generator[any] {
		kinds := []*rapid.Generator[any]{
			rapid.SampledFrom([]any{
				nil, true, "", "a<b>&\u2028", "\xff", 7, -7, greatestInteger, greatestInteger + 1, -greatestInteger - 1, 0.1, math.Copysign(0, -1), 1e-320, 1e16,
				-1e300, math.NaN(), math.Inf(1), int64(7), []any(nil), map[string]any(nil), []string{"a"}, struct{ A int }{1}, func() {},
			}),
			rapid.String().AsAny(), rapid.Float64().AsAny(), rapid.Int().AsAny(),
		}
		if depth < 3 {
			kinds = append(kinds, rapid.SliceOfN(member(depth+1), 0, 3).AsAny(),
				rapid.MapOfN(rapid.OneOf(rapid.String(), rapid.Just("\xff")), member(depth+1), 0, 3).AsAny())
		}
		return rapid.OneOf(kinds...)
	}
	rapid.Check(t, func(t *rapid.T) {
		object := rapid.MapOfN(rapid.String(), member(0), 0, 4).Draw(t, "object")
		made, plain := plainStruct(object, 0)
		if !plain {
			return
		}
		expected, err := encodeByJSON(object)
		require.NoError(t, err)
		require.True(t, proto.Equal(expected, made), "%v is not %v", made, expected)
	})
}

func TestAPayloadThatContainsItselfIsRefused(t *testing.T) {
	object := map[string]any{}
	object["self"] = object
	_, plain := plainStruct(object, 0)
	require.False(t, plain)
	_, err := encode(object)
	require.ErrorIs(t, err, ErrInvalidArgument)
}

func TestAPlainPayloadTakesNoJSON(t *testing.T) {
	_, plain := plainStruct(map[string]any{"a": "b", "c": 1, "d": []any{1.5, nil, true}, "e": map[string]any{"f": "g"}}, 0)
	require.True(t, plain)
}
