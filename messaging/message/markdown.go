package message

import (
	"iter"
	"strings"
)

// This file leaves out code from a text, by the rules of Markdown that matter for that. It reads a text once, however the text is
// made.

// paragraphs walks through the text between blank lines and fences, and leaves out what stands between fences.
func paragraphs(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		begin, at, fence := 0, 0, ""
		for line := range strings.Lines(text) {
			next := at + len(line)
			mark := fenceOf(line)
			switch {
			case fence != "":
				if closes(mark, line, fence) {
					fence = ""
				}
				begin = next
			case mark != "" || strings.TrimSpace(line) == "":
				if !yield(text[begin:at]) {
					return
				}
				fence, begin = mark, next
			}
			at = next
		}
		yield(text[begin:])
	}
}

// fenceOf returns the fence with which a line begins: three or more backticks or tildes, after at most three spaces.
func fenceOf(line string) string {
	text := strings.TrimLeft(line, " ")
	if len(line)-len(text) > 3 || text == "" || text[0] != '`' && text[0] != '~' {
		return ""
	}
	mark := text[:len(text)-len(strings.TrimLeft(text, text[:1]))]
	if len(mark) < 3 || mark[0] == '`' && strings.Contains(text[len(mark):], "`") {
		return ""
	}
	return mark
}

// closes reports whether a line ends the code that a fence began: it has nothing but a fence of the same kind, at least as long.
func closes(mark, line, fence string) bool {
	return mark != "" && strings.HasPrefix(mark, fence) && strings.TrimSpace(line) == mark
}

// backticks is a run of them in a paragraph.
type backticks struct{ begin, end int }

// outsideSpans returns the pieces of a paragraph that stand between code spans. A span begins with a run of backticks and ends with
// the next run of the same length; a run without such an end is text.
func outsideSpans(paragraph string) (pieces []string) {
	runs := runsOf(paragraph)
	if len(runs) == 0 {
		return []string{paragraph}
	}
	closing := closingOf(runs)
	begin := 0
	for i := 0; i < len(runs); i++ {
		if closing[i] < 0 {
			continue
		}
		pieces = append(pieces, paragraph[begin:runs[i].begin])
		i = closing[i]
		begin = runs[i].end
	}
	return append(pieces, paragraph[begin:])
}

func runsOf(paragraph string) (runs []backticks) {
	for at := 0; ; {
		next := strings.IndexByte(paragraph[at:], '`')
		if next < 0 {
			return runs
		}
		begin := at + next
		at = begin + len(paragraph[begin:]) - len(strings.TrimLeft(paragraph[begin:], "`"))
		runs = append(runs, backticks{begin, at})
	}
}

// closingOf returns for each run the next one of the same length, or -1.
func closingOf(runs []backticks) []int {
	closing, next := make([]int, len(runs)), make(map[int]int)
	for i := len(runs) - 1; i >= 0; i-- {
		length := runs[i].end - runs[i].begin
		later, found := next[length]
		if !found {
			later = -1
		}
		closing[i], next[length] = later, i
	}
	return closing
}
