package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
)

// lookedAt is how many bytes of a body are looked at before the protocol's library reads it.
const lookedAt = 4 << 10

// needed are the tools that a request needs. The library reads the schema of each tool anew for each request, which takes longer than most
// calls, so a call gets the one tool that it names. An empty name stands for all tools.
type needed string

// neededBy finds out what a request needs. What it cannot tell from the beginning of the body gets all tools.
func neededBy(body *bufio.Reader) needed {
	beginning, _ := body.Peek(lookedAt)
	return needed(calledIn(beginning))
}

func (n needed) includes(t tool) bool { return n == "" || string(n) == t.definition.Name }

// calledIn returns the name of the tool that a body calls, and "" if its beginning does not say that it calls one. The beginning may end
// anywhere.
func calledIn(beginning []byte) string {
	var method, tool string
	body := json.NewDecoder(bytes.NewReader(beginning))
	skip := func() error { return body.Decode(new(json.RawMessage)) }
	_ = eachMember(body, func(name string) error {
		switch name {
		case "method":
			return body.Decode(&method)
		case "params":
			return eachMember(body, func(name string) error {
				if name == "name" {
					return body.Decode(&tool)
				}
				return skip()
			})
		}
		return skip()
	})
	if method != "tools/call" {
		return ""
	}
	return tool
}

var errNoObject = errors.New("the value is no object")

// eachMember reads an object, and has each member's value read by the function.
func eachMember(from *json.Decoder, read func(name string) error) error {
	if opening, err := from.Token(); err != nil || opening != json.Delim('{') {
		return errNoObject
	}
	for from.More() {
		token, err := from.Token()
		if err != nil {
			return err
		}
		name, isText := token.(string)
		if !isText {
			return errNoObject
		}
		if err := read(name); err != nil {
			return err
		}
	}
	_, err := from.Token()
	return err
}
