package search

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWordBytes is how many bytes of a word the index keeps. Longer words that begin alike are told apart by the message.
const maxWordBytes = 64

// word is a word of a text: itself in lower case, and where it stands in the text.
type word struct {
	text       string
	start, end int
}

// wordsOf goes through the words of a text. A word consists of letters, digits and the marks that belong to them. In scripts that do not
// separate words, each sign is a word.
func wordsOf(text string) iter.Seq[word] {
	return func(yield func(word) bool) {
		begun, lower := -1, true // where the word under way begins, and whether it is its own lower case
		for at := 0; ; {
			r, width := utf8.DecodeRuneInString(text[at:])
			single := standsAlone(r)
			if !single && partOfWord(r) {
				if begun < 0 {
					begun, lower = at, true
				}
				lower = lower && unicode.ToLower(r) == r
				at += width
				continue
			}
			if begun >= 0 && !yield(wordAt(text, begun, at, lower)) {
				return
			}
			begun = -1
			if width == 0 || single && !yield(word{text[at : at+width], at, at + width}) {
				return
			}
			at += width
		}
	}
}

func wordAt(text string, start, end int, lower bool) word {
	said := text[start:end]
	if !lower {
		said = strings.Map(unicode.ToLower, said)
	}
	return word{said, start, end}
}

func partOfWord(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

func standsAlone(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// indexed returns a word as the index keeps it.
func indexed(word string) string {
	if len(word) <= maxWordBytes {
		return word
	}
	end := maxWordBytes
	for !utf8.RuneStart(word[end]) {
		end--
	}
	return word[:end]
}
