package jsonvalue

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"openintent/internal/fault"
)

func TestCheckAccepts(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `""`, `0`, `-0`, `null`, `true`, `false`, " \t\r\n{ } ",
		`9007199254740991`, `-9007199254740991`, `9007199254740993.0`, `1e20`, `1E+2`, `1e-2`, `0e999999`, `0E9`, `-0.0e-999999`,
		`1.7976931348623157e308`, `5e-324`, `0.1000000000000000055511151231257827`,
		"0." + strings.Repeat("0", 320) + "1",
		`"é😀  \u2028\ufffe\ud83d\ude00\"\\\/\b\f\n\r\t"`, "\"\x7f\"",
		`{"a":{"a":1},"b":{"a":1}}`, `[{"a":1},{"a":2}]`, `{"":1," ":2}`, `{"a":1,"A":2}`,
		nested(MaxDepth), strings.Repeat(`{"a":`, MaxDepth-1) + "{}" + strings.Repeat("}", MaxDepth-1), "[" + strings.Repeat(nested(MaxDepth-1)+",", 3) + "0]",
	} {
		require.NoError(t, Check([]byte(text), "payload"), text)
	}
}

func TestCheckRefuses(t *testing.T) {
	const integer, tooLarge, tooSmall = "±(2^53−1)", "too large", "too small"
	const early, unexpected, zero, utf = "ends too early", "not expected", "U+0000", "UTF-8"
	const surrogate, twice, deep = "stands alone", "appears twice", "nested at most 64"
	for _, c := range []struct{ text, path, reason string }{
		// Where the one value is broken, missing or not alone.
		{``, `payload`, early},
		{`  `, `payload`, early},
		{`{} {}`, `payload`, `character '{' at byte 3`},
		{`{}x`, `payload`, unexpected},
		{"{}\x00", `payload`, unexpected},
		{"\ufeff{}", `payload`, unexpected},
		{`{"a":1`, `payload`, early},
		{`{"a":1,}`, `payload`, unexpected},
		{`{"a" 1}`, `payload`, unexpected},
		{`{"a":}`, `payload.a`, unexpected},
		{`{a:1}`, `payload`, unexpected},
		{`[1 2]`, `payload`, unexpected},
		{`[1,]`, `payload[1]`, unexpected},
		{`[`, `payload[0]`, early},
		{`[1`, `payload`, early},
		{`["]`, `payload[0]`, early},
		{`[tru]`, `payload[0]`, unexpected},
		{`[nul`, `payload[0]`, early},
		{`//`, `payload`, unexpected},
		// Numbers.
		{`[NaN]`, `payload[0]`, unexpected},
		{`[Infinity]`, `payload[0]`, unexpected},
		{`[-Infinity]`, `payload[0]`, unexpected},
		{`[01]`, `payload`, unexpected},
		{`[+1]`, `payload[0]`, unexpected},
		{`[.5]`, `payload[0]`, unexpected},
		{`[1.]`, `payload[0]`, unexpected},
		{`[1e]`, `payload[0]`, unexpected},
		{`[1e+]`, `payload[0]`, unexpected},
		{`[-]`, `payload[0]`, unexpected},
		{`[0x1]`, `payload`, unexpected},
		{`{"items":[0,1,2,{"n":9007199254740992}]}`, `payload.items[3].n`, integer},
		{`[-9007199254740992]`, `payload[0]`, integer},
		{`[10000000000000000]`, `payload[0]`, integer},
		{`[` + strings.Repeat("9", 400) + `]`, `payload[0]`, integer},
		{`[1e309]`, `payload[0]`, tooLarge},
		{`[-1e309]`, `payload[0]`, tooLarge},
		{`[1` + strings.Repeat("0", 400) + `.0]`, `payload[0]`, tooLarge},
		{`[1e-400]`, `payload[0]`, tooSmall},
		{`[-2e-324]`, `payload[0]`, tooSmall},
		{`[0.` + strings.Repeat("0", 400) + `1]`, `payload[0]`, tooSmall},
		// Strings.
		{`{"a":"\u0000"}`, `payload.a`, zero},
		{"{\"a\":\"\x00\"}", `payload.a`, zero},
		{`{"a":{"\u0000":1}}`, `payload.a`, zero},
		{"[\"\n\"]", `payload[0]`, "control character U+000A"},
		{"[\"\xff\"]", `payload[0]`, utf},
		{"[\"\xed\xa0\x80\"]", `payload[0]`, utf},
		{"[\"\xc3", `payload[0]`, utf},
		{"[\xff]", `payload[0]`, utf},
		{"{\"\xff\":1}", `payload`, utf},
		{`["\ud83d"]`, `payload[0]`, surrogate},
		{`["\ude00"]`, `payload[0]`, surrogate},
		{`["\ud83dx"]`, `payload[0]`, surrogate},
		{`["\ud83d\n"]`, `payload[0]`, surrogate},
		{`["\ud83d\u0041"]`, `payload[0]`, surrogate},
		{`["\ud83d\ud83d\ude00"]`, `payload[0]`, surrogate},
		{`["\x41"]`, `payload[0]`, unexpected},
		{`["\u12g4"]`, `payload[0]`, unexpected},
		{`["\ud83d\u12g4"]`, `payload[0]`, unexpected},
		{`["\u12`, `payload[0]`, early},
		{`["\`, `payload[0]`, early},
		// Keys.
		{`{"a":1,"a":1}`, `payload`, twice},
		{`{"x":[{"a":1,"b":2,"\u0061":3}]}`, `payload.x[0]`, `the key "a" appears twice`},
		{`{"😀":1,"\ud83d\uDE00":3}`, `payload`, twice},
		{`{"a b":{"a.b":1e309}}`, `payload["a b"]["a.b"]`, tooLarge},
		{`{"":1e309}`, `payload[""]`, tooLarge},
		// Nesting.
		{nested(MaxDepth + 1), `payload` + strings.Repeat("[0]", MaxDepth), deep},
		{strings.Repeat(`[`, 1_000_000), `payload` + strings.Repeat("[0]", MaxDepth), deep},
	} {
		err := Check([]byte(c.text), "payload")
		var violation *Violation
		require.ErrorAs(t, err, &violation, "%.80q", c.text)
		require.Equal(t, c.path, violation.Path, "%.80q", c.text)
		require.Contains(t, violation.Reason, c.reason, "%.80q", c.text)
		require.True(t, strings.HasSuffix(violation.Reason, "."), "a sentence: %s", violation.Reason)
	}
}

func TestRepeatedKeysAreFoundAmongMany(t *testing.T) {
	for count := range 60 {
		var members []string
		for i := range count {
			members = append(members, fmt.Sprintf(`"key %d":[{"key %d":%d}]`, i, i, i))
		}
		require.NoError(t, Check([]byte("{"+strings.Join(members, ",")+"}"), ""))
		for i := range count {
			more := append(members, fmt.Sprintf(`"\u006bey %d":0`, i))
			err := Check([]byte("{"+strings.Join(more, ",")+"}"), "")
			require.ErrorContains(t, err, fmt.Sprintf(`the key "key %d" appears twice`, i))
		}
	}
}

func TestViolationIsAnInvalidFault(t *testing.T) {
	refusal := fault.From(Check([]byte(`{"a":[1e999]}`), "payload"))
	require.Equal(t, fault.Invalid, refusal.Kind)
	require.Equal(t, "INVALID_FIELD", refusal.Reason)
	require.Equal(t, "payload.a[0]", refusal.Fields[0].Path)
	require.Contains(t, refusal.Message, "payload.a[0]: the number is too large")

	unnamed := fault.From(Check([]byte(`{`), ""))
	require.Equal(t, "the JSON text ends too early.", unnamed.Message)
	require.Empty(t, unnamed.Fields)
	require.EqualError(t, Check([]byte(`{"a":[1e999]}`), ""), "a[0]: the number is too large for a double; send it as a string.")
}

func TestPathsStayShort(t *testing.T) {
	key := strings.Repeat("é\x01", 1000)
	quoted, err := json.Marshal(key)
	require.NoError(t, err)
	text := strings.Repeat(`{`+string(quoted)+`:`, MaxDepth) + `1e999` + strings.Repeat(`}`, MaxDepth)
	var violation *Violation
	require.ErrorAs(t, Check([]byte(text), "payload"), &violation)
	require.Less(t, len(violation.Path), 2*longestPath)
	require.True(t, strings.HasPrefix(violation.Path, "payload…["), violation.Path)
	require.True(t, utf8.ValidString(violation.Path))

	err = Check([]byte(`{`+string(quoted)+`:1,`+string(quoted)+`:2}`), "payload")
	require.ErrorAs(t, err, &violation)
	require.Less(t, len(violation.Reason), 5*longestKey)
}

// A long key is cut between two letters, so that no half of one is shown.
func TestPathsShowWholeLetters(t *testing.T) {
	for _, key := range []string{strings.Repeat("é", 100), "a" + strings.Repeat("é", 100), "ab" + strings.Repeat("😀", 100)} {
		var violation *Violation
		require.ErrorAs(t, Check([]byte(`{"`+key+`":1e999}`), "payload"), &violation)
		shown, _ := strings.CutSuffix(strings.TrimPrefix(violation.Path, `payload["`), `…"]`)
		require.True(t, shown != "" && strings.HasPrefix(key, shown), violation.Path)
	}
}

func TestCheckDoesNotAllocate(t *testing.T) {
	payload := benchmarkPayload(t)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if err := Check(payload, "payload"); err != nil {
			t.Fatal(err)
		}
	}))
}

// FuzzCheck compares Check with encoding/json, which has looser rules: it must accept every text that Check accepts.
func FuzzCheck(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		err := Check(text, "payload")
		if err != nil {
			var violation *Violation
			require.ErrorAs(t, err, &violation)
			require.True(t, utf8.ValidString(violation.Error()), "%q", violation.Error())
			require.True(t, strings.HasPrefix(violation.Path, "payload"))
			return
		}
		require.True(t, json.Valid(text))
		require.True(t, utf8.Valid(text))
		var value any
		require.NoError(t, json.Unmarshal(text, &value))
		requireSane(t, value)
	})
}

// requireSane checks that a decoded value has nothing in it that Check promises to refuse.
func requireSane(t *testing.T, value any) {
	switch value := value.(type) {
	case string:
		require.NotContains(t, value, "\x00")
	case float64:
		require.False(t, math.IsInf(value, 0))
	case []any:
		for _, element := range value {
			requireSane(t, element)
		}
	case map[string]any:
		for key, element := range value {
			require.NotContains(t, key, "\x00")
			requireSane(t, element)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	payload := benchmarkPayload(b)
	b.SetBytes(int64(len(payload)))
	b.ReportAllocs()
	for b.Loop() {
		if err := Check(payload, "payload"); err != nil {
			b.Fatal(err)
		}
	}
}

// benchmarkPayload returns a usual payload of 500 bytes.
func benchmarkPayload(t testing.TB) []byte {
	const head = `{"task":"summarize","priority":3,"confidence":0.875,"urgent":false,"parent":null,` +
		`"document":{"title":"Quarterly report – Zürich","pages":[1,2,3,5,8,13],"url":"https://example.org/reports/2026/q1"},` +
		`"instructions":"Read the \"findings\" section first.\nThen write three sentences.",` +
		`"constraints":{"max_words":120,"language":"en","deadline":"2026-02-13T10:00:00Z"},"notes":"`
	const length, tail = 500, `"}`
	payload := head + strings.Repeat("n", length-len(head)-len(tail)) + tail
	require.Len(t, payload, length)
	return []byte(payload)
}

// nested returns lists that are nested to the given depth.
func nested(depth int) string {
	return strings.Repeat("[", depth) + strings.Repeat("]", depth)
}

// seeds are the inputs with which the fuzzing begins.
var seeds = []string{
	`{"a":1,"b":[true,false,null],"c":{"d":"e"}}`, `{"a":1,"\u0061":2}`, `"\ud83d\ude00 \ud83d"`, "\"\xff\"", `"\u0000"`,
	`9007199254740992`, `-0`, `1e400`, `1e-400`, `[1.5e+3,0.1,1E30,123456789012345678901.5]`, ` { "é" : "\n\u001f\u007f\/" } `,
	`{"\ufb33":1,"\ud83d\ude00":2,"€":3,"":4}`, nested(65), `[1,]`, `{"a":1,}`, `tru`, ``,
}
