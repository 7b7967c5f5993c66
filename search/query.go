package search

import (
	"strings"
	"unicode"

	"openintent/internal/fault"
)

// maxQueryWords is how many words a query has at most.
const maxQueryWords = 16

// query is what a search looks for: phrases, all of which must occur. A phrase consists of words that follow each other in one text; most
// have one word.
type query struct{ phrases [][]string }

// parseQuery reads a query. No part of it has a meaning of its own but double quotes, so no query is malformed, except that it must have a
// word. Words that are joined by other signs, as in parser.go, are a phrase too.
func parseQuery(q string) (query, error) {
	var parsed query
	count := 0
	add := func(part string) {
		var phrase []string
		for w := range wordsOf(part) {
			phrase = append(phrase, w.text)
		}
		if len(phrase) > 0 {
			parsed.phrases = append(parsed.phrases, phrase)
			count += len(phrase)
		}
	}
	for i, part := range strings.Split(q, `"`) {
		if i%2 == 1 {
			add(part)
			continue
		}
		for _, joined := range strings.FieldsFunc(part, unicode.IsSpace) {
			add(joined)
		}
	}
	switch {
	case count == 0:
		return query{}, fault.BadField("q", "it must have at least one word, of letters or digits.")
	case count > maxQueryWords:
		return query{}, fault.BadField("q", "it has %d words; at most %d are allowed.", count, maxQueryWords)
	}
	return parsed, nil
}

// words returns the words of the query as the index keeps them.
func (q query) words() []string {
	var words []string
	for _, phrase := range q.phrases {
		for _, word := range phrase {
			words = append(words, indexed(word))
		}
	}
	return words
}

// match goes through texts until each phrase has occurred in one of them. It returns where the first phrase was found that occurs; ok is
// false if some phrase does not occur.
func (q query) match(texts func(yield func(string) bool)) (first place, ok bool) {
	missing := make([]bool, len(q.phrases))
	left := len(q.phrases)
	for i := range missing {
		missing[i] = true
	}
	for text := range texts {
		var said []word
		for w := range wordsOf(text) {
			said = append(said, w)
		}
		for i, phrase := range q.phrases {
			at := -1
			if missing[i] {
				at = occurrence(said, phrase)
			}
			if at < 0 {
				continue
			}
			missing[i] = false
			found := place{text, said[at].start, said[at+len(phrase)-1].end}
			if first.text == "" || first.text == text && found.start < first.start {
				first = found
			}
			if left--; left == 0 {
				return first, true
			}
		}
	}
	return place{}, false
}

// occurrence returns where a phrase first begins among words, or -1.
func occurrence(said []word, phrase []string) int {
	for at := 0; at+len(phrase) <= len(said); at++ {
		same := 0
		for same < len(phrase) && said[at+same].text == phrase[same] {
			same++
		}
		if same == len(phrase) {
			return at
		}
	}
	return -1
}
