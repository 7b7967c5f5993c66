package jsonvalue

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMembersWalksInWrittenOrder(t *testing.T) {
	var keys, values []string
	for key, value := range Members([]byte(` { "b\u0061" : [1, {"x":2}] , "a":"}" , "n":null }`)) {
		keys, values = append(keys, string(key)), append(values, string(value))
	}
	require.Equal(t, []string{"ba", "a", "n"}, keys)
	require.Equal(t, []string{`[1, {"x":2}]`, `"}"`, "null"}, values)
}

func TestMembersStopsWhenTheLoopDoes(t *testing.T) {
	var keys []string
	for key := range Members([]byte(`{"a":1,"b":2}`)) {
		keys = append(keys, string(key))
		break
	}
	require.Equal(t, []string{"a"}, keys)
}

func TestElementsWalksAList(t *testing.T) {
	var elements []string
	for element := range Elements([]byte(` [ 1 , "a,]" , [2,3] , {} ] `)) {
		elements = append(elements, string(element))
	}
	require.Equal(t, []string{"1", `"a,]"`, "[2,3]", "{}"}, elements)
	for range Elements([]byte("[]")) {
		t.Fatal("an empty list has no elements")
	}
}

func TestStringsWalksAllStringsButKeys(t *testing.T) {
	var all []string
	for text := range Strings([]byte(` { "a" : "b" , "c\"":["d",{"e" :"\u0066\"", "g":1},["h",[]],{}],"i":null,"":"" } `)) {
		all = append(all, text)
	}
	require.Equal(t, []string{"b", "d", "f\"", "h", ""}, all)
	for text := range Strings([]byte(`["a","b"]`)) {
		require.Equal(t, "a", text)
		break
	}
	for range Strings(nil) {
		t.Fatal("there are no strings in nothing")
	}
}

func TestUnquoteResolvesEscapes(t *testing.T) {
	require.Equal(t, "a\"\n\U0001F600é", Unquote([]byte(`"a\"\n\uD83D\uDE00é"`)))
}
