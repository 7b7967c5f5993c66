package message

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"openintent/internal/caller"
	"openintent/internal/jsonvalue"
)

// texts are the payload's members in which agents write to each other.
var texts = []string{"text", "content", "question"}

// WordsWithAt returns the names that a payload's texts write as @name or @role:name, each once and at most MaxMentions, as they
// come. Whether a name is somebody's is not decided here. A payload without an @ costs no more than the look for one.
//
// A name is a whole word: a run of letters, digits and _ - . : that begins with a letter, a digit or an underscore. The points,
// colons and dashes at its end belong to the sentence. An @ within a word, as in an address of mail, begins no name. Code, between
// backticks or fences as in Markdown, holds no names.
func WordsWithAt(payload jsonvalue.Object) []string {
	if bytes.IndexByte(payload, '@') < 0 {
		return nil
	}
	var found []string
	for _, member := range texts {
		text, _ := payload.String(member)
		if strings.IndexByte(text, '@') < 0 {
			continue
		}
		for paragraph := range paragraphs(text) {
			if found = addNames(found, outsideSpans(paragraph)); len(found) == MaxMentions {
				return found
			}
		}
	}
	return found
}

// addNames adds the names that stand in the pieces of a paragraph, until there are enough.
func addNames(found, pieces []string) []string {
	for _, piece := range pieces {
		for begin := 0; ; {
			at := strings.IndexByte(piece[begin:], '@')
			if at < 0 {
				break
			}
			before, _ := utf8.DecodeLastRuneInString(piece[:begin+at])
			begin += at + 1
			name := nameAt(piece[begin:])
			if name == "" || inWord(before) || before == '@' || slices.Contains(found, name) {
				continue
			}
			if found = append(found, name); len(found) == MaxMentions {
				return found
			}
		}
	}
	return found
}

// nameAt returns the name with which the text begins; empty if it begins with none.
func nameAt(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool { return !inWord(r) })
	if end < 0 {
		end = len(text)
	}
	name := strings.TrimRight(text[:end], ".:-")
	if strings.IndexAny(name, ".:-") == 0 || name == strings.TrimSuffix(caller.RolePrefix, ":") ||
		utf8.RuneCountInString(name) > len(caller.RolePrefix)+caller.MaxNameLength {
		return ""
	}
	return name
}

// inWord reports whether a character can be part of a name.
func inWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || strings.ContainsRune("_-.:", r))
}
