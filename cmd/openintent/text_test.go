package main

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

func TestNothingReachesATerminalAsACommand(t *testing.T) {
	for hostile, shown := range map[string]string{
		"plain, é, 漢字, 👍🏽, 👩‍💻":      "plain, é, 漢字, 👍🏽, 👩‍💻",
		"\x1b[2J\x1b]0;title\x07":    `\u001b[2J\u001b]0;title\u0007`,
		"\u009b31m":                  `\u009b31m`,
		"line\r\nover\b\x7f\ttab":    `line\u000d\nover\u0008\u007f\ttab`,
		"\u202eevil\u2066\u200b":     `\u202eevil\u2066\u200b`,
		"a\u2028b\ufeff":             `a\u2028b\ufeff`,
		"\U000e0041hidden":           `\U000e0041hidden`,
		"no\xff\xc3(utf-8":           `no\xff\xc3(utf-8`,
		"\u0085next line, \u00a0ok.": `\u0085next line, ` + "\u00a0ok.",
	} {
		require.Equal(t, shown, escaped(hostile))
	}
	require.Equal(t, `a b \u001b[1m c`, oneLine("a\n\tb  \x1b[1m\r\nc"))
}

func TestHarmlessJSONIsTheSameJSON(t *testing.T) {
	const text = "a\u009b\u202e\U000e0041\u007f漢👍"
	written, err := json.Marshal(map[string]string{"k": text})
	require.NoError(t, err)
	shown := harmless(written)
	require.Equal(t, `{"k":"a\u009b\u202e\udb40\udc41\u007f漢👍"}`, shown)
	var read map[string]string
	require.NoError(t, json.Unmarshal([]byte(shown), &read))
	require.Equal(t, text, read["k"])
}

func FuzzEscaped(f *testing.F) {
	f.Add("\x1b[2J\u202e\xff漢")
	f.Fuzz(func(t *testing.T, text string) {
		shown := escaped(text)
		require.False(t, strings.ContainsFunc(shown, func(c rune) bool {
			return unicode.IsControl(c) || c == unicode.ReplacementChar && !strings.ContainsRune(text, c)
		}), "%q", shown)
		require.Equal(t, shown, escaped(shown))
		require.LessOrEqual(t, columns(shortened(shown, 10)), 10)
	})
}

func TestColumnsOfATerminal(t *testing.T) {
	for text, width := range map[string]int{
		"": 0, "abc": 3, "é": 1, "e\u0301": 1, "漢字": 4, "한글": 4, "ｱ": 1, "Ａ": 2, "👍": 2, "←": 1, "…": 1, "ไทย": 3, "\u200d": 0,
	} {
		require.Equal(t, width, columns(text), text)
	}
}

func TestShortenedFitsTheWidth(t *testing.T) {
	require.Equal(t, "abc", shortened("abc", 3))
	require.Equal(t, "ab…", shortened("abcd", 3))
	require.Equal(t, "漢…", shortened("漢字漢字", 4), "half a character is none")
	require.Equal(t, "漢字", shortened("漢字", 4))
	require.Equal(t, "…", shortened("漢字", 1))
}
