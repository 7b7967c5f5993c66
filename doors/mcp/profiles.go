package mcp

import (
	"net/url"

	"openintent/fault"
)

// profile is a set of tools, with what a model reads about them first. An address chooses one with the parameter tools.
type profile struct {
	instructions string
	tools        []tool
}

// profiles are the sets of tools by name. Without a name one gets the tools of the house.
var profiles = map[string]profile{
	"":              {instructions, catalog},
	"agent-channel": {agentChannelInstructions, agentChannelTools},
}

// errProfileUnknown refuses an address that asks for tools that the door does not have.
var errProfileUnknown = fault.New(fault.Invalid, "PROFILE_UNKNOWN",
	"This door has no tools of the name that the address asks for; leave out the parameter tools.")

// profileOf returns the tools that an address asks for.
func profileOf(query url.Values) (profile, error) {
	name := ""
	switch asked := query["tools"]; len(asked) {
	case 0:
	case 1:
		name = asked[0]
	default:
		return profile{}, errProfileUnknown
	}
	chosen, known := profiles[name]
	if !known {
		return profile{}, errProfileUnknown
	}
	return chosen, nil
}
