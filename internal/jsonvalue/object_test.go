package jsonvalue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseObjectCompacts(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{}`, `{}`},
		{" \t{ } \r\n", `{}`},
		{`{"b" : 1.50 , "a" : [ 1E2 , " x \" \\" , { "c" : null } ] }`, `{"b":1.50,"a":[1E2," x \" \\",{"c":null}]}`},
		{`{"\u00e9":"\/"}`, `{"\u00e9":"\/"}`},
	} {
		got, err := ParseObject([]byte(c.text), "payload")
		require.NoError(t, err)
		require.Equal(t, c.want, string(got))
	}
}

func TestParseObjectKeepsACopy(t *testing.T) {
	text := []byte(`{"a":1}`)
	object, err := ParseObject(text, "payload")
	require.NoError(t, err)
	text[5] = '2'
	require.Equal(t, `{"a":1}`, string(object))
}

func TestParseObjectRefuses(t *testing.T) {
	for _, text := range []string{`null`, ` []`, `"{}"`, `1`, `true`} {
		_, err := ParseObject([]byte(text), "metadata")
		require.EqualError(t, err, "metadata: must be a JSON object.", text)
	}
	_, err := ParseObject([]byte(`{"a":{"b":1,"b":2}}`), "metadata")
	require.ErrorContains(t, err, "metadata.a: the key")
}

func TestAbsent(t *testing.T) {
	var absent Object
	require.True(t, absent.IsNull())
	require.Equal(t, Object(`{}`), absent.OrEmpty())
	require.False(t, absent.OrEmpty().IsNull())
	require.Equal(t, Object(`{"a":1}`), Object(`{"a":1}`).OrEmpty())
	_, found := absent.String("a")
	require.False(t, found)
}

func TestEqualValuesHaveOneCanonicalForm(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[{"c":"d","e":null}]}`, `{"b":[{"e":null,"c":"\u0064"}],"a":1.0}`, true},
		{`{"a":100}`, `{"a":1e2}`, true},
		{`{"a":-0}`, `{"a":0}`, true},
		{`{"a":[1,2]}`, `{"a":[2,1]}`, false},
		{`{"a":1}`, `{"a":"1"}`, false},
		{`{"a":1}`, `{"a":1,"b":null}`, false},
		{`{"a":9007199254740991}`, `{"a":9007199254740990}`, false},
	} {
		require.Equal(t, c.want, bytes.Equal(canonical([]byte(c.a)), canonical([]byte(c.b))), "%s %s", c.a, c.b)
	}
}

func TestString(t *testing.T) {
	o := Object(`{"deep":{"name":"no"},"list":["name"],"n\u0061me":"\u00e9\n","count":1,"a\"b":"quoted","last":""}`)
	for key, want := range map[string]string{"name": "é\n", `a"b`: "quoted", "last": ""} {
		got, found := o.String(key)
		require.True(t, found, key)
		require.Equal(t, want, got)
	}
	for _, key := range []string{"count", "deep", "list", "missing", "no"} {
		_, found := o.String(key)
		require.False(t, found, key)
	}
}

func TestObjectProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := objectText().Draw(t, "text")
		o, err := ParseObject([]byte(text), "payload")
		require.NoError(t, err)

		var compacted bytes.Buffer
		require.NoError(t, json.Compact(&compacted, []byte(text)))
		require.Equal(t, compacted.String(), string(o))

		value := decode(t, o)
		same, err := json.Marshal(value)
		require.NoError(t, err)
		require.Equal(t, string(canonical(o)), string(canonical(same)))
		for key := range value {
			got, found := o.String(key)
			want, isString := value[key].(string)
			require.Equal(t, isString, found)
			require.Equal(t, want, got)
		}
	})
}

func decode(t require.TestingT, o Object) map[string]any {
	var value map[string]any
	require.NoError(t, json.Unmarshal(o, &value))
	return value
}

func decodeAny(text []byte) any {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		panic(err)
	}
	return value
}

// objectText generates objects as people and programs write them, by the rules of Check.
func objectText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string { return drawObject(t, 3) })
}

func drawObject(t *rapid.T, depth int) string {
	keys := rapid.SliceOfNDistinct(text(), 0, 20, rapid.ID[string]).Draw(t, "keys")
	members := make([]string, len(keys))
	for i, key := range keys {
		members[i] = spelled(t, key) + space(t) + ":" + space(t) + drawValue(t, depth-1)
	}
	return "{" + space(t) + strings.Join(members, space(t)+","+space(t)) + space(t) + "}"
}

func drawValue(t *rapid.T, depth int) string {
	switch kind := rapid.IntRange(0, 6).Draw(t, "kind"); {
	case kind == 0 && depth > 0:
		return drawObject(t, depth)
	case kind == 1 && depth > 0:
		elements := make([]string, rapid.IntRange(0, 3).Draw(t, "length"))
		for i := range elements {
			elements[i] = drawValue(t, depth-1)
		}
		return "[" + space(t) + strings.Join(elements, ","+space(t)) + "]"
	case kind == 2:
		return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "word")
	case kind == 3:
		return strconv.FormatInt(rapid.Int64Range(-maxInteger, maxInteger).Draw(t, "integer"), 10)
	case kind == 4:
		f := rapid.Float64().Draw(t, "double")
		return strconv.FormatFloat(f, 'e', -1, 64)
	default:
		return spelled(t, text().Draw(t, "string"))
	}
}

func text() *rapid.Generator[string] {
	char := rapid.RuneFrom([]rune("ab\"\\/<\n\t\u0001\u007f\u2028é€\ue000\uffff\ufffd😀\U0010ffff"))
	return rapid.StringOfN(char, 0, 6, -1)
}

// spelled writes a string either without unnecessary escapes, or with every character escaped.
func spelled(t *rapid.T, s string) string {
	if !rapid.Bool().Draw(t, "escaped") {
		return string(appendString(nil, s))
	}
	out := `"`
	for _, unit := range utf16.Encode([]rune(s)) {
		out += fmt.Sprintf(`\u%04x`, unit)
	}
	return out + `"`
}

func space(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", "", " ", "\n\t", "\r"}).Draw(t, "space")
}
