package main

import (
	"fmt"
	"strings"
)

// suggestion returns ", did you mean ...?" for a misspelt word, or "" when none of the known words is like it.
func suggestion(word string, known []string) string {
	nearest, distance := "", 3
	for _, candidate := range known {
		if d := edits(word, candidate); d < distance || strings.HasPrefix(candidate, word) && nearest == "" {
			nearest, distance = candidate, min(d, distance)
		}
	}
	if nearest == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", nearest)
}

// edits returns how many characters have to be put in, left out or changed to make one word of the other.
func edits(from, to string) int {
	target := []rune(to)
	row := make([]int, len(target)+1)
	for i := range row {
		row[i] = i
	}
	for i, c := range []rune(from) {
		diagonal := row[0]
		row[0] = i + 1
		for j, d := range target {
			cost := diagonal
			if c != d {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(target)]
}
