package search

import (
	"iter"
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
		var lower []byte
		start := 0
		for at := 0; at <= len(text); {
			r, width := utf8.DecodeRuneInString(text[at:])
			single := standsAlone(r)
			if width == 0 || single || !partOfWord(r) || r == utf8.RuneError {
				if len(lower) > 0 && !yield(word{string(lower), start, at}) {
					return
				}
				lower = lower[:0]
				if single && !yield(word{string(r), at, at + width}) {
					return
				}
				if width == 0 {
					return
				}
				at += width
				continue
			}
			if len(lower) == 0 {
				start = at
			}
			lower = utf8.AppendRune(lower, unicode.ToLower(r))
			at += width
		}
	}
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
