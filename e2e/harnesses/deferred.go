package harnesses

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// Qwen Code tells its model only the names of other servers' tools. The model looks a tool up, and then calls it through another one.
const (
	lookUp      = "tool_search"
	callThrough = "tool_call"
)

var deferredName = regexp.MustCompile(`mcp__openintent__\w+`)

// deferred adds the tools that the harness only names.
func (c *conversation) deferred() {
	if !slices.Contains(c.offered, callThrough) {
		return
	}
	for _, i := range c.items {
		c.hidden = append(c.hidden, deferredName.FindAllString(i.user, -1)...)
	}
}

// through says how to call a tool that is hidden.
func (c conversation) through(name string, arguments object) move {
	for _, i := range c.items {
		if i.tool == lookUp && strings.Contains(i.arguments, name) {
			return move{tool: callThrough, arguments: object{"name": name, "arguments": arguments}}
		}
	}
	return move{tool: lookUp, arguments: object{"query": "select:" + name}}
}

// calledThrough returns the tool that a call is for.
func calledThrough(tool, arguments string) string {
	var through struct{ Name string }
	if tool == callThrough && json.Unmarshal([]byte(arguments), &through) == nil {
		return through.Name
	}
	return tool
}
