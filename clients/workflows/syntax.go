package workflows

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// document parses the text as one YAML document and returns its root, or nil for an empty file.
func (r *reader) document(text []byte) *yaml.Node {
	if at := invalidUTF8(text); at >= 0 {
		r.problem(positionOf(text, at), "the file is not UTF-8 here; save it as UTF-8.")
		return nil
	}
	documents, err := decode(text)
	switch {
	case err != nil:
		fault := withoutLine(err)
		r.problem(locate(text, fault), "this is not YAML (%s); look at indentation, quotes and brackets around here.", fault)
		return nil
	case len(documents) > 1:
		r.problem(position(documents[1]), "a second document begins here; a workflow file holds one.")
		return nil
	case len(documents) == 0 || len(documents[0].Content) == 0:
		return nil
	}
	return documents[0].Content[0]
}

// decode returns at most the first two documents of a text.
func decode(text []byte) (documents []*yaml.Node, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for range 2 {
		var document yaml.Node
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			return documents, nil
		} else if err != nil {
			return nil, err
		}
		documents = append(documents, &document)
	}
	return documents, nil
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(text []byte) int {
	for at := 0; at < len(text); {
		letter, size := utf8.DecodeRune(text[at:])
		if letter == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

var linePrefix = regexp.MustCompile(`^(yaml: )?(line \d+: )?`)

// withoutLine removes the line number from the parser's message, because it is the line of the surrounding block and often
// missing.
func withoutLine(err error) string {
	return linePrefix.ReplaceAllString(err.Error(), "")
}

// locate finds where the parser fails with the given message: at the end of the shortest prefix of the text that fails in this
// way. The parser reads from the front, so the text after the mistake does not matter. locate tries whole lines first, because
// a prefix that ends within brackets may fail for that reason alone.
func locate(text []byte, fault string) Position {
	fails := func(length int) bool {
		_, err := decode(text[:length])
		return err != nil && withoutLine(err) == fault
	}
	ends := lineEnds(text)
	line := sort.Search(len(ends)-1, func(i int) bool { return fails(ends[i]) })
	begin := 0
	if line > 0 {
		begin = ends[line-1]
	}
	length := begin + 1 + sort.Search(ends[line]-begin-1, func(i int) bool { return fails(begin + 1 + i) })
	last := max(length-1, 0)
	for last > 0 && last < len(text) && !utf8.RuneStart(text[last]) {
		last--
	}
	return positionOf(text, last)
}

// lineBreaks are the characters that the parser counts as the end of a line.
const lineBreaks = "\r\n\u0085\u2028\u2029"

// lineEnds returns the offset after each line.
func lineEnds(text []byte) (ends []int) {
	for at, letter := range string(text) {
		if strings.ContainsRune(lineBreaks, letter) && (letter != '\r' || !bytes.HasPrefix(text[at:], []byte("\r\n"))) {
			ends = append(ends, at+utf8.RuneLen(letter))
		}
	}
	if len(ends) == 0 || ends[len(ends)-1] < len(text) {
		ends = append(ends, len(text))
	}
	return ends
}

// positionOf returns the line and column of an offset.
func positionOf(text []byte, offset int) Position {
	ends := lineEnds(text)
	line := sort.Search(len(ends)-1, func(i int) bool { return ends[i] > offset })
	begin := 0
	if line > 0 {
		begin = ends[line-1]
	}
	return Position{Line: line + 1, Column: utf8.RuneCount(text[begin:offset]) + 1}
}
