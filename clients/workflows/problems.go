package workflows

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Position is a place in a file. Lines and columns count from 1, columns in characters.
type Position struct {
	Line, Column int
}

// Problem is one mistake in a file.
type Problem struct {
	// File is the file's name as it was given.
	File string
	Position
	// Text says what is wrong and what would be right.
	Text string
}

func (p Problem) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Text)
}

// Problems are all mistakes of a file, in the order of their places.
type Problems []Problem

// Error returns a line for each mistake.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.Error()
	}
	return strings.Join(lines, "\n")
}

// maxProblems bounds how many mistakes of one file are listed.
const maxProblems = 100

// tidied sorts problems by place and leaves out repetitions, which occur because the content of an anchor is read wherever the
// file refers to it.
func (p Problems) tidied() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	p = slices.Compact(p)
	if len(p) <= maxProblems {
		return p
	}
	rest := p[maxProblems]
	rest.Text = fmt.Sprintf("there are %d more problems from here on.", len(p)-maxProblems)
	return append(p[:maxProblems:maxProblems], rest)
}

// orNil returns an error only if there are problems.
func (p Problems) orNil() error {
	if len(p) == 0 {
		return nil
	}
	return p
}
