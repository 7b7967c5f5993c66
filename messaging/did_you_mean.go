package messaging

import (
	"strings"

	"openintent/agents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
)

// mostMeant bounds among how many names the server looks for one that somebody may have meant.
const mostMeant = 1_000

// meant returns the address of an agent that is there, or of a role that somebody holds, for an address that nobody has but that is written
// much like it; "" if there is none.
func meant(tx *database.Tx, address string) (string, error) {
	role := message.RoleOf(address)
	names, read := agents.PrepareNames(role != "", mostMeant)
	if err := tx.Pipeline(read); err != nil {
		return "", err
	}
	if role == "" {
		return nearest(address, *names), nil
	}
	if name := nearest(role, *names); name != "" {
		return caller.RolePrefix + name, nil
	}
	return "", nil
}

// nearest returns the name that differs least from a word, if only a few letters differ, or one continues the other.
func nearest(word string, names []string) (found string) {
	least := len(word)/4 + 1
	for _, name := range names {
		difference := distance(strings.ToLower(word), strings.ToLower(name))
		if short := min(len(word), len(name)); short >= 3 && difference > least && strings.EqualFold(word[:short], name[:short]) {
			difference = least
		}
		if difference < least || difference == least && found == "" {
			found, least = name, difference
		}
	}
	return found
}

// distance returns how many bytes have to be added, removed or replaced to make one text the other (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
