package jsonvalue

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCanonicalVectors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		// RFC 8785, sections 3.2.2 to 3.2.4.
		{`{
		  "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
		  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
		  "literals": [null, true, false]
		}`, `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`},
		{`{
		  "\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
		  "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"
		}`, `{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","ö":"Latin Small Letter O With Diaeresis",` +
			`"€":"Euro Sign","😀":"Emoji: Grinning Face","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`},
		// There are no escapes for HTML or JavaScript.
		{`"<>&\u2028\u2029\u007f"`, "\"<>&\u2028\u2029\u007f\""},
		{`"\b\f\n\r\t\u0001\u001F"`, `"\b\f\n\r\t\u0001\u001f"`},
		{`{"b":[{"z":1,"y":{}},[]],"a":{}}`, `{"a":{},"b":[{"y":{},"z":1},[]]}`},
		{`{"aa":1,"a":2,"":3}`, `{"":3,"a":2,"aa":1}`},
		{` null `, `null`},
		{`[-0, -0.0, 0e5]`, `[0,0,0]`},
		{`[1.0,10,-7,9007199254740991,1e20,9007199254740993]`, `[1,10,-7,9007199254740991,100000000000000000000,9007199254740992]`},
	} {
		got, err := Canonical([]byte(c.text))
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, string(got))
	}
}

// TestNumberVectors is the table of RFC 8785, appendix B, with some round figures.
func TestNumberVectors(t *testing.T) {
	for _, c := range []struct {
		bits uint64
		want string
	}{
		{0x0000000000000000, "0"},
		{0x8000000000000000, "0"},
		{0x0000000000000001, "5e-324"},
		{0x8000000000000001, "-5e-324"},
		{0x7fefffffffffffff, "1.7976931348623157e+308"},
		{0xffefffffffffffff, "-1.7976931348623157e+308"},
		{0x4340000000000000, "9007199254740992"},
		{0xc340000000000000, "-9007199254740992"},
		{0x4430000000000000, "295147905179352830000"},
		{0x44b52d02c7e14af5, "9.999999999999997e+22"},
		{0x44b52d02c7e14af6, "1e+23"},
		{0x44b52d02c7e14af7, "1.0000000000000001e+23"},
		{0x444b1ae4d6e2ef4e, "999999999999999700000"},
		{0x444b1ae4d6e2ef4f, "999999999999999900000"},
		{0x444b1ae4d6e2ef50, "1e+21"},
		{0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
		{0x3eb0c6f7a0b5ed8d, "0.000001"},
		{0x41b3de4355555553, "333333333.3333332"},
		{0x41b3de4355555554, "333333333.33333325"},
		{0x41b3de4355555555, "333333333.3333333"},
		{0x41b3de4355555556, "333333333.3333334"},
		{0x41b3de4355555557, "333333333.33333343"},
		{0xbecbf647612f3696, "-0.0000033333333333333333"},
		{0x43143ff3c1cb0959, "1424953923781206.2"},
		{math.Float64bits(1e-7), "1e-7"},
		{math.Float64bits(1e-10), "1e-10"},
		{math.Float64bits(1e100), "1e+100"},
		{math.Float64bits(9007199254740991), "9007199254740991"},
	} {
		require.Equal(t, c.want, string(appendES6(nil, math.Float64frombits(c.bits))))
		got, err := Canonical([]byte(c.want))
		require.NoError(t, err)
		require.Equal(t, c.want, string(got))
	}
}

func TestEventHashVectors(t *testing.T) {
	for _, c := range []struct{ text, hash string }{
		{
			`{"sequence":1, "id":"e1","intent_id":"i1","event_type":"intent_created","actor":"a","payload":{"title":"T"},
			  "created_at":"2026-02-13T10:00:00.000000Z","previous_event_hash":null}`,
			"e86_vnXTYqoXT5bBsKMqqjgTYusxp10c2vJfUoPmJGY",
		},
		{
			`{"actor":"b","created_at":"2026-02-13T10:00:01.000000Z","event_type":"channel_message","id":"e2","intent_id":"i1",
			  "payload":{"n":1.0,"channel_id":"c"},"previous_event_hash":"sha256:e86_vnXTYqoXT5bBsKMqqjgTYusxp10c2vJfUoPmJGY",
			  "sequence":2,"trace_id":"a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6"}`,
			"lmIkJeldEtVD9KkjrPIPIYNJqfKrlIW1Aflgwwk0E24",
		},
	} {
		text, err := Canonical([]byte(c.text))
		require.NoError(t, err)
		sum := sha256.Sum256(text)
		require.Equal(t, c.hash, base64.RawURLEncoding.EncodeToString(sum[:]))
	}
}

func TestMessageSignatureVector(t *testing.T) {
	seed := make([]byte, ed25519.SeedSize)
	for i := range seed {
		seed[i] = byte(i)
	}
	text, err := Canonical([]byte(`{"to":"b","sender":"a","payload":{"q":1},"metadata":{},"message_type":"request",
		"expires_at":null,"correlation_id":null,"channel_id":"chan_1"}`))
	require.NoError(t, err)
	signature := ed25519.Sign(ed25519.NewKeyFromSeed(seed), text)
	require.Equal(t, "qgRti8HuSDXYEqzVuZEqckmCHzRr0bgNkiH-VhEwdSCKIGAt7NjxfYD8--xidCzbWtZkayAbZfjTeYe-NwghCw",
		base64.RawURLEncoding.EncodeToString(signature))
}

func TestCanonicalRefuses(t *testing.T) {
	for _, text := range []string{``, `{"a":1,"a":1}`, `"\ud800"`, `"\u0000"`, `[1e999]`, nested(MaxDepth + wrappingDepth + 1), `{} 1`, "\"\xff\""} {
		_, err := Canonical([]byte(text))
		var violation *Violation
		require.ErrorAs(t, err, &violation, text)
	}
}

func TestCanonicalTakesTheDeepestObjectWithinOthers(t *testing.T) {
	event := `{"payload":{"payload":` + nested(MaxDepth) + `}}`
	text, err := Canonical([]byte(event))
	require.NoError(t, err)
	require.Equal(t, event, string(text))
}

func TestKeysAreOrderedByUTF16(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Characters around the places where the orders of UTF-8 and UTF-16 part.
		char := rapid.SampledFrom([]rune("a\u007f\u0080߿ࠀ\ud7ff\ue000\uefff\uf000\ufb33\uffff\U00010000😀\U0010ffff"))
		key := rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(char, 0, 4).Draw(t, "runes")) })
		a, b := key.Draw(t, "a"), key.Draw(t, "b")
		require.Equal(t, slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))), compareKeys(a, b))
		require.Equal(t, cmp.Compare(0, compareKeys(b, a)), compareKeys(a, b))
	})
}

func TestCanonicalProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := objectText().Draw(t, "text")
		requireCanonical(t, []byte(text))
	})
}

var largeInteger = regexp.MustCompile(`\d{16}`)

// FuzzCanonical checks that the canonical form is canonical, and that encoding/json reads the same value from it.
func FuzzCanonical(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if Check(text, "") == nil {
			requireCanonical(t, text)
		} else if again, err := Canonical(text); err == nil {
			deep := bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) > MaxDepth
			require.True(t, deep || largeInteger.Match(text), "only large integers and deep nesting may exceed what Check allows")
			require.True(t, json.Valid(again))
		}
	})
}

func requireCanonical(t require.TestingT, text []byte) {
	form, err := Canonical(text)
	require.NoError(t, err)
	again, err := Canonical(form)
	require.NoError(t, err)
	require.Equal(t, string(form), string(again))

	var want, got any
	require.NoError(t, json.Unmarshal(text, &want))
	require.NoError(t, json.Unmarshal(form, &got))
	require.Equal(t, want, got)

	var compacted bytes.Buffer
	require.NoError(t, json.Compact(&compacted, form))
	require.Equal(t, compacted.String(), string(form))
}

func BenchmarkCanonical(b *testing.B) {
	payload := benchmarkPayload(b)
	b.SetBytes(int64(len(payload)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Canonical(payload); err != nil {
			b.Fatal(err)
		}
	}
}
