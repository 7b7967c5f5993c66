package main

import (
	"fmt"
	"strings"
)

// suggestion returns ", did you mean ...?" for a misspelt word, or "" when none of the known words is like it.
func suggestion(word string, known []string) string {
	if meant := suggested(word, known); meant != "" {
		return fmt.Sprintf(", did you mean %q?", meant)
	}
	return ""
}

// suggested returns the known word that is most like a misspelt one, else the shortest one that goes on where the word ends; "" when none does.
func suggested(word string, known []string) (nearest string) {
	least := 3
	for _, candidate := range known {
		switch difference := edits(word, candidate); {
		case difference < least:
			nearest, least = candidate, difference
		case least == 3 && strings.HasPrefix(candidate, word) && (nearest == "" || len(candidate) < len(nearest)):
			nearest = candidate
		}
	}
	return nearest
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
