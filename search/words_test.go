package search

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"openintent/internal/fault"
	"openintent/internal/jsonvalue"
	"openintent/messaging/message"
)

func words(text string) (said []string) {
	for w := range wordsOf(text) {
		said = append(said, w.text)
	}
	return said
}

func TestWords(t *testing.T) {
	for text, said := range map[string][]string{
		"":                 nil,
		" ,.-_ ":           nil,
		"one":              {"one"},
		"One, TWO_three-4": {"one", "two", "three", "4"},
		"ÉTÉ Straße ΑΒ":    {"été", "straße", "αβ"},
		"e\u0301te":        {"e\u0301te"},
		"会议 now":           {"会", "议", "now"},
		"a\ufffdb":         {"a", "b"},
		"\u212a":           {"k"},
		"x😀y":              {"x", "y"},
		"don't":            {"don", "t"},
	} {
		require.Equal(t, said, words(text), text)
	}
}

func TestTextsAreTheSubjectAndAllStringsOfThePayload(t *testing.T) {
	m := &message.Message{
		Conversation: &message.Conversation{Subject: "subject"},
		Payload:      jsonvalue.Object(`{"name":"a","list":["b",{"deep":"c","n":1,"o":{}},["d"],[]],"null":null,"last":"e"}`),
	}
	var texts []string
	for text := range textsOf(m) {
		texts = append(texts, text)
	}
	require.Equal(t, []string{"subject", "a", "b", "c", "d", "e"}, texts)
	for text := range textsOf(m) {
		require.Equal(t, "subject", text)
		break
	}
}

func TestAQueryHasWordsAndPhrases(t *testing.T) {
	for q, phrases := range map[string][][]string{
		"one Two":         {{"one"}, {"two"}},
		`"one two" three`: {{"one", "two"}, {"three"}},
		`src/parser.go`:   {{"src", "parser", "go"}},
		`"open end`:       {{"open", "end"}},
		`a"b c"d`:         {{"a"}, {"b", "c"}, {"d"}},
		`"" x ""`:         {{"x"}},
	} {
		parsed, err := parseQuery(q)
		require.NoError(t, err)
		require.Equal(t, phrases, parsed.phrases, q)
	}
	_, err := parseQuery(strings.Repeat("a ", maxQueryWords+1))
	require.Equal(t, "INVALID_FIELD", fault.From(err).Reason)
}

func TestASnippetShowsTheTextAroundWhatWasFound(t *testing.T) {
	q, err := parseQuery("needle")
	require.NoError(t, err)
	long := strings.Repeat("héy ", 200) + "the Needle\nis here" + strings.Repeat(" stäck", 200)
	place, found := q.match(func(yield func(string) bool) { _ = yield("nothing") && yield(long) })
	require.True(t, found)
	shown := place.snippet()
	require.Equal(t, snippetRunes, utf8.RuneCountInString(shown))
	require.Contains(t, shown, "the Needle is here")
	require.True(t, strings.HasPrefix(shown, "…") && strings.HasSuffix(shown, "…"))

	for text, want := range map[string]string{
		"the needle":                             "the needle",
		"needle" + strings.Repeat("s", 300):      "",
		"needle " + strings.Repeat("x", 300):     "needle " + strings.Repeat("x", snippetRunes-2-len("needle ")) + "…",
		strings.Repeat("x", 300) + " the needle": "…" + strings.Repeat("x", (snippetRunes-2-len("needle"))/3-len(" the ")) + " the needle",
	} {
		place, found := q.match(func(yield func(string) bool) { yield(text) })
		require.Equal(t, want != "", found, text)
		if found {
			require.Equal(t, want, place.snippet(), "what is shown whole ends without a sign")
		}
	}
}

func TestALongWordIsKeptInPart(t *testing.T) {
	long := strings.Repeat("ä", 100)
	require.Equal(t, strings.Repeat("ä", 32), indexed(long))
	require.True(t, utf8.ValidString(indexed("a"+long)))
}

func TestTheIndexHasABoundedNumberOfWordsOfAMessage(t *testing.T) {
	var text strings.Builder
	for i := range maxIndexedWords + 100 {
		text.WriteString(agentNo(i) + " ")
	}
	d := documentOf(&message.Message{ID: "m", Sender: "ada", Payload: jsonvalue.Object(`{"text":"` + text.String() + `"}`)})
	require.Len(t, d.words, maxIndexedWords+len(marksOf(&message.Message{ID: "m", Sender: "ada"})))
}

// Whatever a stranger writes, the index gets words of letters and digits, and a text is found by its own words.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"one", `"a b" c`, "a.b/c", "会议", "' OR 1=1 --", `\' & !b:*`, "É\u0301", "\xff\xfe"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := parseQuery(text)
		if err != nil {
			return
		}
		for _, w := range parsed.words() {
			require.NotEmpty(t, w)
			require.LessOrEqual(t, len(w), maxWordBytes)
			require.True(t, utf8.ValidString(w))
			require.NotContains(t, strings.Map(func(r rune) rune {
				if r >= utf8.RuneSelf || 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
					return 'x'
				}
				return '!'
			}, w), "!", w)
		}
		place, found := parsed.match(func(yield func(string) bool) { yield(text) })
		require.True(t, found)
		require.LessOrEqual(t, utf8.RuneCountInString(place.snippet()), snippetRunes)
	})
}
