package jsonvalue

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// written returns what a layout makes of a text.
func written(layout func(*bufio.Writer, []byte), text string) string {
	var out bytes.Buffer
	w := bufio.NewWriterSize(&out, 16)
	layout(w, []byte(text))
	_ = w.Flush()
	return out.String()
}

const forPeople = `{"id":"é\"\\\u0041","list":[1,[],{"a":{}},[[2]]],"num":1e21,"yes":null,"- a":{"b":true}}`

func TestJSONForPeople(t *testing.T) {
	require.Equal(t, `{
  "id": "é\"\\\u0041",
  "list": [
    1,
    [],
    {
      "a": {}
    },
    [
      [
        2
      ]
    ]
  ],
  "num": 1e21,
  "yes": null,
  "- a": {
    "b": true
  }
}
`, written(WriteLines, forPeople))
	require.Equal(t, "5\n", written(WriteLines, " 5 "))
}

func TestYAMLForPeople(t *testing.T) {
	require.Equal(t, `id: "é\"\\A"
list:
  - 1
  - []
  - a: {}
  - - - 2
num: 1.0e+21
"yes": null
"- a":
  b: true
`, written(WriteYAML, forPeople))
	for given, want := range map[string]string{
		"{}": "{}\n", "[]": "[]\n", ` "x"`: "\"x\"\n", "1.5E3": "1.5e+3\n", "-1e-7": "-1.0e-7\n", "false": "false\n",
		`"\u007f\u0085\u00a0\u2028\ufffe\ufeff\ud83d\ude00\udb40\udc01\t\/"`: `"\u007F\u0085\u00A0\u2028\uFFFE\uFEFF😀\U000E0001\t/"` + "\n",
	} {
		require.Equal(t, want, written(WriteYAML, given), given)
	}
	long := strings.Repeat("k", 1001)
	require.Equal(t, `? "`+long+"\"\n: {? \""+long+`" : 1, a: 2}`+"\n", written(WriteYAML, `{"`+long+`":{"`+long+`":1,"a":2}}`))
}

// However deep a value is nested, neither form is much longer than the value.
func TestNestingMakesNoLongAnswer(t *testing.T) {
	deep := strings.Repeat("[", 58) + strings.Repeat("1,", 100_000) + "1" + strings.Repeat("]", 58)
	for _, text := range []string{deep, `{"spec":{"payload":{"a":` + deep + `}}}`, strings.Repeat("[", 3) + strings.Repeat("[[1]],", 50_000) + "1]]]"} {
		for _, layout := range []func(*bufio.Writer, []byte){WriteLines, WriteYAML} {
			require.Less(t, len(written(layout, text)), 5*len(text))
		}
	}
	small := `{"a":{"b":{"c":{"d":[1,{"e":[2]}]}}}}`
	require.Equal(t, 16, strings.Count(written(WriteLines, small), "\n"), "what is short is laid over lines, however deep")
}

// FuzzLayouts checks that both forms say what the text says.
func FuzzLayouts(f *testing.F) {
	for _, text := range []string{
		forPeople, `{"a":1e-7,"b":-0,"c":9007199254740991,"d":1.0,"e":123456789012345678901e3}`, `["y","0o7","1:30","2024-01-01","1_000","=","<<","~"]`,
		`{"` + strings.Repeat("\\u0085", 400) + `":[{"` + strings.Repeat("\\u2028", 400) + `":[1]}]}`, `[[[[[["\u007f\ufffe\u0085"]]]]]]`,
		strings.Repeat("[", 20) + strings.Repeat("1,", 600) + `{"a b":"c: d"}` + strings.Repeat("]", 20), `{"":{"":""},"off":"on","#":"#"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if Check(text, "") != nil {
			return
		}
		lines := written(WriteLines, string(text))
		require.JSONEq(t, string(text), lines)
		require.NoError(t, Check([]byte(lines), ""))

		inYAML := written(WriteYAML, string(text))
		require.NotContains(t, strings.TrimSuffix(inYAML, "\n"), "\n\n")
		for _, r := range inYAML {
			require.True(t, r == '\n' || unicode.IsPrint(r), "%U", r)
		}
		var got any
		require.NoError(t, yaml.Unmarshal([]byte(inYAML), &got), inYAML)
		again, err := json.Marshal(got)
		require.NoError(t, err, inYAML)
		require.JSONEq(t, string(text), string(again), inYAML)
	})
}
