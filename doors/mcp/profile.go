package mcp

import (
	"openintent/doors/repomesh"
	"openintent/internal/fault"
)

// profile is a set of tools, with what a model reads about them first. An address chooses one with the parameter tools.
type profile struct {
	instructions string
	tools        func(s *session) []tool
}

// profiles are the sets of tools by name. Without a name, a client gets the door's own twelve.
var profiles = map[string]profile{
	"":              {instructions, func(*session) []tool { return catalog }},
	"agent-channel": {agentChannelInstructions, func(*session) []tool { return agentChannelTools }},
	"c2a":           {c2aInstructions, func(*session) []tool { return c2aTools }},
	repomeshProfile: {repomesh.Instructions, repomeshTools},
}

// errProfileUnknown refuses an address that asks for tools that the door does not have.
var errProfileUnknown = fault.New(fault.Invalid, "PROFILE_UNKNOWN",
	"This door has no tools of the name that the address asks for; leave out the parameter tools.")

// profileOf returns the profile that the values of the parameter ask for.
func (d *Door) profileOf(asked []string) (chosen profile, known bool) {
	name := ""
	switch len(asked) {
	case 0:
	case 1:
		name = asked[0]
	default:
		return profile{}, false
	}
	if name == repomeshProfile && d.config.Repomesh == nil {
		return profile{}, false
	}
	chosen, known = profiles[name]
	return chosen, known
}

// HasTools reports whether the door has tools for the values of the parameter tools in its address.
func (d *Door) HasTools(asked []string) bool {
	_, known := d.profileOf(asked)
	return known
}
