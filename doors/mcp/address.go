package mcp

import (
	"net/url"
	"strings"

	"openintent/fault"
)

// address names a channel: by its id, or by its name in an intent.
type address struct {
	id           string
	intent, name string
}

// longestAddress bounds a URL that a model gives.
const longestAddress = 4096

// errAddress refuses what names no channel. It repeats nothing of the URL, which may hold a secret.
var errAddress = fault.BadField("url", "names no channel; give one such as openintent://channels/ID or https://HOST/v1/channels/ID, "+
	"or give intent and channel.")

// addressOf returns the channel that a URL of this server's names: one of the REST face's, or a resource's. Whose host it is does not
// matter, because nothing is fetched from there. Of the user, the query and the fragment, which may hold a secret, nothing is used.
func addressOf(given string) (address, error) {
	if len(given) > longestAddress {
		return address{}, errAddress
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
