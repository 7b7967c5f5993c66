package mcp

import (
	"net/url"
	"strings"

	"openintent/doors/agentchannel"
	"openintent/internal/fault"
)

// address names a channel: by its id, by its name in an intent, or by what people dictate of an agent channel's URL.
type address struct {
	id           string
	intent, name string
	dictated     string
}

// longestAddress bounds a URL that a model gives.
const longestAddress = 4096

// errAddress refuses what names no channel. It repeats nothing of the URL, which may hold a secret.
var errAddress = fault.BadField("url", "names no channel; give one such as openintent://channels/ID, https://HOST/v1/channels/ID "+
	"or https://HOST/agent-channel/VK47, or give intent and channel.")

// errNotDictated says that an agent channel's address leads nowhere for the caller. It says the same whether there is a channel or not.
var errNotDictated = fault.New(fault.NotFound, "CHANNEL_NOT_FOUND",
	"That URL leads to no agent channel that you can see. A key behind a # is not used here: whoever set up your connection can put it in "+
		"place of yours, as Authorization: Bearer KEY; or ask for access to the channel's intent under your own name.")

// addressOf returns the channel that a URL of this server's names: one of the REST face's, a resource's, or an
// agent channel's. Whose host it is does not
// matter, because nothing is fetched from there. Of the user, the query and the fragment, which may hold a secret, nothing is used.
func addressOf(given string) (address, error) {
	if len(given) > longestAddress {
		return address{}, errAddress
	}
	if dictated, ok := dictatedIn(given); ok {
		return dictated, nil
	}
	u, err := url.Parse(given)
	if err != nil {
		return address{}, errAddress
	}
	path := u.EscapedPath()
	if u.Scheme == "openintent" {
		path = u.Host + path
	} else {
		var versioned bool
		if _, path, versioned = strings.Cut(path, "/v1/"); !versioned {
			return address{}, errAddress
		}
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i, part := range parts {
		if parts[i], err = url.PathUnescape(part); err != nil {
			return address{}, errAddress
		}
	}
	return addressIn(parts, u.Scheme == "openintent")
}

// addressIn returns the channel that the parts of a path name. Below an intent the REST face has channels by their names, and resources
// have them by their ids.
func addressIn(parts []string, resource bool) (address, error) {
	if len(parts) > 1 && parts[0] == "subscribe" {
		parts = parts[1:]
	}
	var found address
	switch {
	case len(parts) >= 2 && parts[0] == "channels":
		found.id = parts[1]
	case len(parts) == 4 && parts[0] == "intents" && parts[2] == "channels" && resource:
		found.id = parts[3]
	case len(parts) >= 4 && parts[0] == "intents" && parts[2] == "channels":
		found.intent, found.name = parts[1], parts[3]
	}
	if found.id == "" && (found.intent == "" || found.name == "") {
		return address{}, errAddress
	}
	return found, nil
}

// dictatedIn returns the agent channel that a URL names. A channel may be called agent-channel, so a path of the REST face or of a resource
// is none of these.
func dictatedIn(given string) (address, bool) {
	dictated, ok := agentchannel.AddressIn(given)
	before, _, _ := strings.Cut(given, "/agent-channel/")
	if !ok || !plain(dictated) || strings.HasPrefix(given, "openintent:") || strings.Contains(before, "/v1/") {
		return address{}, false
	}
	return address{dictated: dictated}, true
}

// plain reports whether a text has letters and digits alone, as what people dictate has.
func plain(text string) bool {
	return text != "" && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}
