package jsonvalue

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func set(path, value string) Operation { return Operation{Op: OpSet, Path: path, Value: []byte(value)} }
func extend(path, value string) Operation {
	return Operation{Op: OpAppend, Path: path, Value: []byte(value)}
}
func remove(path string) Operation { return Operation{Op: OpRemove, Path: path} }

func TestApply(t *testing.T) {
	for _, c := range []struct {
		name, state string
		ops         []Operation
		want        string
	}{
		{"nothing", `{"b":1,"a":2}`, nil, `{"b":1,"a":2}`},
		{"nothing on absent", ``, nil, `{}`},
		{"set on absent", ``, []Operation{set("progress", ` [ 1 , "a b" ] `)}, `{"progress":[1,"a b"]}`},
		{"set replaces whatever was there", `{"a":{"b":1}}`, []Operation{set("a", `null`)}, `{"a":null}`},
		{"set makes what leads there", `{"z":1}`, []Operation{set("/a/b/c", `1`)}, `{"a":{"b":{"c":1}},"z":1}`},
		{"bare keys are split", `{}`, []Operation{set("a/b", `1`)}, `{"a":{"b":1}}`},
		{"bare keys have no escapes", `{}`, []Operation{set("a~1b", `1`)}, `{"a~1b":1}`},
		{"pointers have", `{}`, []Operation{set("/a~1b/~0/~01", `1`)}, `{"a/b":{"~":{"~1":1}}}`},
		{"an empty key", `{}`, []Operation{set("/", `1`), set("/a/", `2`)}, `{"":1,"a":{"":2}}`},
		{"escaped keys are found", `{"\u0061":{"\u0062":1}}`, []Operation{set("a/b", `2`)}, `{"a":{"b":2}}`},
		{"the rest stays as written", `{"x":{"n":1.50,"m":"\/"},"y":[1.0]}`, []Operation{set("a", `1`)}, `{"a":1,"x":{"n":1.50,"m":"\/"},"y":[1.0]}`},
		{"append", `{"l":[1]}`, []Operation{extend("l", `2`), extend("/l", `[3]`)}, `{"l":[1,2,[3]]}`},
		{"append to an empty list", `{"l":[]}`, []Operation{extend("l", `2`)}, `{"l":[2]}`},
		{"append makes the list", `{}`, []Operation{extend("a/l", `1`), extend("a/l", `{}`)}, `{"a":{"l":[1,{}]}}`},
		{"append after set", `{}`, []Operation{set("l", `[1]`), extend("l", `2`)}, `{"l":[1,2]}`},
		{"remove", `{"a":{"b":1,"c":2},"d":3}`, []Operation{remove("a/b"), remove("d")}, `{"a":{"c":2}}`},
		{"remove what is not there", `{"a":{}}`, []Operation{remove("b"), remove("a/x"), remove("x/y/z")}, `{"a":{}}`},
		{"set after remove", `{"a":{"b":1}}`, []Operation{remove("a"), set("a/c", `1`)}, `{"a":{"c":1}}`},
		{"into what was just set", `{}`, []Operation{set("a", `{"b":{}}`), set("a/b/c", `1`)}, `{"a":{"b":{"c":1}}}`},
	} {
		state := Object(c.state)
		got, err := state.Apply(c.ops)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, string(got), c.name)
		require.Equal(t, c.state, string(state), "unchanged: "+c.name)
	}
}

func TestApplyRefuses(t *testing.T) {
	const state = `{"text":"x","list":[{"a":1}],"null":null,"object":{}}`
	for _, c := range []struct {
		op           Operation
		path, reason string
	}{
		{Operation{Op: "replace", Path: "a", Value: []byte(`1`)}, "patches[1].op", `"replace" is not an operation`},
		{Operation{Op: OpSet, Path: "a"}, "patches[1].value", "set needs a value"},
		{Operation{Op: OpAppend, Path: "a"}, "patches[1].value", "append needs a value"},
		{set("", `1`), "patches[1].path", "must name a key"},
		{set("/a~2", `1`), "patches[1].path", "not a JSON Pointer"},
		{set("/a~", `1`), "patches[1].path", "not a JSON Pointer"},
		{set("/~~01", `1`), "patches[1].path", "not a JSON Pointer"},
		{set("text/a", `1`), "patches[1].path", `leads through "text"`},
		{set("list/0", `1`), "patches[1].path", `leads through "list"`},
		{set("null/a", `1`), "patches[1].path", `leads through "null"`},
		{remove("text/a"), "patches[1].path", `leads through "text"`},
		{extend("text/a/b", `1`), "patches[1].path", `leads through "text"`},
		{extend("text", `1`), "patches[1].path", `"text" is not a list`},
		{extend("object", `1`), "patches[1].path", `"object" is not a list`},
		{extend("null", `1`), "patches[1].path", `"null" is not a list`},
		{set(strings.Repeat("/a", MaxDepth+1), `1`), "patches[1].path", "nested at most 64"},
		{set("a", nested(MaxDepth)), "state.a" + strings.Repeat("[0]", MaxDepth-1), "nested at most 64"},
		{set("a/\x00", `1`), "state.a", "U+0000"},
		{set("a/\xff", `1`), "state.a", "UTF-8"},
	} {
		_, err := Object(state).Apply([]Operation{set("ok", `1`), c.op})
		var violation *Violation
		require.ErrorAs(t, err, &violation, "%+v", c.op)
		require.Equal(t, c.path, violation.Path, "%+v", c.op)
		require.Contains(t, violation.Reason, c.reason, "%+v", c.op)
	}
}

func TestDeepestPath(t *testing.T) {
	got, err := Object(`{}`).Apply([]Operation{set(strings.Repeat("/a", MaxDepth), `1`)})
	require.NoError(t, err)
	require.Equal(t, strings.Repeat(`{"a":`, MaxDepth)+"1"+strings.Repeat("}", MaxDepth), string(got))
}

// TestApplyAgainstModel compares Apply with the same operations on decoded maps.
func TestApplyAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		state := Object(`{}`)
		model := map[string]any{}
		for range rapid.IntRange(1, 8).Draw(t, "rounds") {
			op := Operation{
				Op:   rapid.SampledFrom([]string{OpSet, OpAppend, OpRemove}).Draw(t, "op"),
				Path: strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "é"}), 1, 3).Draw(t, "keys"), "/"),
			}
			if op.Op != OpRemove {
				op.Value = []byte(rapid.SampledFrom([]string{`1`, `{}`, `[]`, `[null]`, `{"a":{"b":[]}}`}).Draw(t, "value"))
			}
			want := applyToModel(model, op)
			next, err := state.Apply([]Operation{op})
			require.Equal(t, want, err == nil, "%+v on %s: %v", op, state, err)
			if err == nil {
				state = next
			}
			require.Equal(t, model, decode(t, state))
		}
	})
}

// applyToModel changes the model, and reports whether the operation was possible. If not, the model stays as before.
func applyToModel(model map[string]any, op Operation) bool {
	key, rest, deeper := strings.Cut(op.Path, "/")
	value, found := model[key]
	if deeper {
		if !found {
			if op.Op == OpRemove {
				return true
			}
			value = map[string]any{}
			model[key] = value
		}
		inner, ok := value.(map[string]any)
		return ok && applyToModel(inner, Operation{Op: op.Op, Path: rest, Value: op.Value})
	}
	switch op.Op {
	case OpSet:
		model[key] = decodeAny(op.Value)
	case OpRemove:
		delete(model, key)
	case OpAppend:
		if !found {
			value = []any{}
		}
		list, ok := value.([]any)
		if !ok {
			return false
		}
		model[key] = append(list, decodeAny(op.Value))
	}
	return true
}
