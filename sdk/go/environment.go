package openintent

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
)

// prefix begins the names of all environment variables of OpenIntent.
const prefix = "OPENINTENT_"

// variables are the environment variables that clients read, in the SDKs of all languages.
var variables = []string{"SERVER", "URL", "API_KEY", "AGENT_ID", "INTENT_ID", "TLS", "CA_FILE"}

// foreign are variables of others whose names are close to those of clients: a setting of the server, and what a command
// learns that the command line wakes.
var foreign = []string{"API_KEYS", "INTENT"}

// MisspeltVariables returns a sentence for each variable of an environment, as of os.Environ, whose name is close to that of
// a client's setting and is none.
func MisspeltVariables(environment []string) (sentences []string) {
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		short, ours := strings.CutPrefix(name, prefix)
		if !ours || value == "" || slices.Contains(variables, short) || slices.Contains(foreign, short) {
			continue
		}
		if meant := nearestVariable(short); meant != "" {
			sentences = append(sentences, fmt.Sprintf("%s is no setting and has no effect; did you mean %s%s?", name, prefix, meant))
		}
	}
	slices.Sort(sentences)
	return sentences
}

// nearestVariable returns the variable that somebody may have meant; "" when none is near. It has at most two other
// characters, one if it is short, or the given name is the beginning or the end of its name.
func nearestVariable(short string) (nearest string) {
	wanted, least := strings.ReplaceAll(short, "_", ""), 3
	for _, candidate := range variables {
		known := strings.ReplaceAll(candidate, "_", "")
		far := distance(wanted, known)
		if len(wanted) >= 3 && (strings.HasPrefix(known, wanted) || strings.HasSuffix(known, wanted)) {
			far = min(far, 2)
		}
		if far < least && (far < 2 || len(known) > 3) {
			nearest, least = candidate, far
		}
	}
	return nearest
}

// distance returns how many characters to insert, remove or replace to make one text of the other.
func distance(from, to string) int {
	row := make([]int, len(to)+1)
	for i := range row {
		row[i] = i
	}
	for i := range len(from) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(to) {
			cost := diagonal
			if from[i] != to[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}

// warned has the sentences that this program has said.
var warned sync.Map

// warnOfVariables says once which variables of the program's environment are misspelt.
func warnOfVariables(log *slog.Logger) {
	for _, sentence := range MisspeltVariables(os.Environ()) {
		if _, before := warned.LoadOrStore(sentence, true); !before {
			log.Warn(sentence)
		}
	}
}
