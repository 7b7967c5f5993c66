package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// variablePrefix begins the names of all environment variables of the program.
const variablePrefix = "OPENINTENT_"

// ofKubernetes are variables that Kubernetes gives to every container beside a service named openintent.
var ofKubernetes = regexp.MustCompile(`^OPENINTENT_(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_\d+_.*)?)$`)

// ofClients are variables of clients, and those that commands get from the command line, without the prefix. Their names are like settings'.
var ofClients = []string{
	"SERVER", "URL", "API_KEY", "AGENT_ID", "INTENT_ID", "TLS", "CA_FILE", "CONTEXT", "CONFIG", "INTENT", "CHANNEL", "MESSAGE", "POLICY", "REASON",
	"WAITING", "FENCE", "CLAIM_FENCE",
}

// uselessVariables returns a sentence for each variable of the server's environment that looks like a setting and has no effect: its name
// is close to that of a setting, or it is the key of clients while the server has no keys of its own.
func uselessVariables(environment []string, parsed *kong.Context, hasKeys bool) (sentences []string) {
	known := variablesOf(parsed.Model.Node)
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		short, ours := strings.CutPrefix(name, variablePrefix)
		switch {
		case !ours || value == "" || ofKubernetes.MatchString(name):
		case name == "OPENINTENT_API_KEY" && !hasKeys:
			sentences = append(sentences, "OPENINTENT_API_KEY is the key of clients and gives the server none; the server's keys are those of OPENINTENT_API_KEYS")
		case slices.Contains(ofClients, short) || slices.Contains(known, name):
		default:
			var all []string
			for _, setting := range known {
				all = append(all, strings.TrimPrefix(setting, variablePrefix))
			}
			if meant := suggested(short, all); meant != "" {
				sentences = append(sentences, name+" is no setting and has no effect; did you mean "+variablePrefix+meant+"?")
			}
		}
	}
	slices.Sort(sentences)
	return sentences
}

// variablesOf returns the names of all variables that a command and the commands below it read, each once.
func variablesOf(node *kong.Node) (names []string) {
	for _, flag := range node.Flags {
		names = append(names, flag.Envs...)
	}
	for _, child := range node.Children {
		names = append(names, variablesOf(child)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
