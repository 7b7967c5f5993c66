package jsonvalue

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBuilderWritesMembersInOrder(t *testing.T) {
	var b Builder
	object := b.String("name", "a\"b\n\u00e9").Null("none").Raw("list", []byte("[1,2]")).Object()
	require.Equal(t, "{\"name\":\"a\\\"b\\n\u00e9\",\"none\":null,\"list\":[1,2]}", string(object))
	require.NoError(t, Check(object, "object"))
}

func TestBuilderWritesListsOfTexts(t *testing.T) {
	var object Builder
	require.Equal(t, `{"none":[],"some":["a","\"b\""]}`, string(object.Strings("none", nil).Strings("some", []string{"a", `"b"`}).Object()))
}

func TestBuilderWithoutMembersIsAnEmptyObject(t *testing.T) {
	var b Builder
	require.Equal(t, "{}", string(b.Object()))
}

func TestMemberGivesTheTextOfOneMember(t *testing.T) {
	object := Object(`{"a":{"deep":1},"b\u0063":[true]}`)
	value, ok := object.Member("a")
	require.True(t, ok)
	require.Equal(t, `{"deep":1}`, string(value))
	value, ok = object.Member("bc")
	require.True(t, ok)
	require.Equal(t, `[true]`, string(value))
	_, ok = object.Member("deep")
	require.False(t, ok)
	_, ok = Object(nil).Member("a")
	require.False(t, ok)
}
