package main

import (
	"io"
	"slices"
	"strings"
)

// table prints rows in aligned columns and cuts the last column to the width of the terminal. A table that grows
// while somebody watches it keeps its column widths and widens a column when a later row needs it.
type table struct {
	headings []string
	widths   []int
	rows     [][]string
	headed   bool
}

// shortest is the minimal width of the last column, even on a narrow terminal.
const shortest = 20

func newTable(headings ...string) *table {
	t := &table{headings: headings, widths: make([]int, len(headings))}
	t.widen(headings)
	return t
}

// add adds a row. It escapes the cells itself.
func (t *table) add(cells ...string) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = escaped(cell)
	}
	t.widen(row)
	t.rows = append(t.rows, row)
}

func (t *table) widen(row []string) {
	for i, cell := range row {
		t.widths[i] = max(t.widths[i], columns(cell))
	}
}

// print prints the rows that were added since the last call; the first call also prints the headings.
func (t *table) print(to terminal) error {
	var out strings.Builder
	if !t.headed {
		t.headed = true
		line := t.line(t.headings, to.width())
		if to.colours() {
			line = bold(line)
		}
		out.WriteString(line + "\n")
	}
	for _, row := range t.rows {
		out.WriteString(t.line(row, to.width()) + "\n")
	}
	t.rows = nil
	_, err := io.WriteString(to.stdout, out.String())
	return err
}

func (t *table) line(row []string, width int) string {
	var line strings.Builder
	used, last := 0, len(row)-1
	for i, cell := range row[:last] {
		line.WriteString(cell + strings.Repeat(" ", t.widths[i]-columns(cell)+2))
		used += t.widths[i] + 2
	}
	cell := row[last]
	if width > 0 {
		cell = shortened(cell, max(width-used, shortest))
	}
	return strings.TrimRight(line.String()+cell, " ")
}

// fields prints names with their values below each other, and omits those without a value.
type fields [][2]string

func (f *fields) add(name, value string) {
	if value != "" {
		*f = append(*f, [2]string{name, value})
	}
}

func (f fields) print(to terminal) error {
	if len(f) == 0 {
		return nil
	}
	width := columns(slices.MaxFunc(f, func(a, b [2]string) int { return columns(a[0]) - columns(b[0]) })[0])
	var out strings.Builder
	for _, field := range f {
		name := field[0] + strings.Repeat(" ", width-columns(field[0]))
		if to.colours() {
			name = bold(name)
		}
		out.WriteString(name + "  " + escaped(field[1]) + "\n")
	}
	_, err := io.WriteString(to.stdout, out.String())
	return err
}

func bold(text string) string { return "\x1b[1m" + text + "\x1b[0m" }
