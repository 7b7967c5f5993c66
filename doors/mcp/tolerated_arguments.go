package mcp

import (
	"encoding/json"
	"slices"
	"strconv"

	"openintent/internal/jsonvalue"
)

// harnessMembers are members that a harness adds to the arguments of every tool for itself, and passes on. Gemini CLI's says whether a call
// waits for the one before. A member of any other name that a tool does not have is refused: a model has misspelt it.
var harnessMembers = []string{"wait_for_previous"}

// withoutHarness returns the arguments without what the harness has added for itself.
func withoutHarness(given json.RawMessage) json.RawMessage {
	return without(given, func(name string, _ []byte) bool { return slices.Contains(harnessMembers, name) })
}

// zeroMeans are the numbers among a tool's arguments for which 0 is a value of its own. Their schemas say so by a minimum of 0.
type zeroMeans map[string]bool

// zeroMeansIn reads the properties of a schema.
func zeroMeansIn(properties string) zeroMeans {
	var schema map[string]struct {
		Minimum *float64 `json:"minimum"`
	}
	if err := json.Unmarshal([]byte("{"+properties+"}"), &schema); err != nil {
		panic("the schema of a tool is no JSON: " + err.Error())
	}
	means := make(zeroMeans)
	for name, property := range schema {
		if property.Minimum != nil && *property.Minimum == 0 {
			means[name] = true
		}
	}
	return means
}

// filledIn returns the arguments without those that stand for nothing: null, an empty text, and 0 where it is no value of its own. Under
// strict schemas, models fill in every argument that a tool has.
func (z zeroMeans) filledIn(given json.RawMessage) json.RawMessage {
	return without(given, func(name string, value []byte) bool {
		switch string(value) {
		case "null", `""`:
			return true
		}
		number, err := strconv.ParseFloat(string(value), 64)
		return err == nil && number == 0 && !z[name]
	})
}

// without returns an object without some of its members. What is no object stays as it is, for a refusal.
func without(given json.RawMessage, leftOut func(name string, value []byte) bool) json.RawMessage {
	object, err := jsonvalue.ParseObject(given, "")
	if err != nil {
		return given
	}
	var kept jsonvalue.Builder
	for name, value := range jsonvalue.Members(object) {
		if !leftOut(string(name), value) {
			kept.Raw(string(name), value)
		}
	}
	return json.RawMessage(kept.Object())
}
