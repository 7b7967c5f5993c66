package agentchannel

import (
	"context"
	"strings"

	openintentv1 "openintent/gen/openintent/v1"
)

// root is the door's path, and where its channels' addresses begin.
const root = "/agent-channel"

// find returns the channel that somebody names by its address, or by an address in a URL of this door.
func (d *Desk) find(ctx context.Context, named string) (*openintentv1.Channel, error) {
	address, isURL := AddressIn(named)
	if !isURL {
		address = spelled(named)
	}
	return d.Caller.Channels.GetChannel(ctx, &openintentv1.GetChannelRequest{ChannelId: "-", Address: &address})
}

// longestAddress is more than any address has.
const longestAddress = 32

// AddressIn returns the address of the channel that a URL of this door names, and false for any other text. It looks at the path alone: what
// stands behind a #, which may be a key, and behind a ? is no part of an address, nor a place to look for one. A URL may lack its scheme, as
// one that was dictated.
func AddressIn(url string) (address string, ok bool) {
	_, behind, ok := strings.Cut(path(url), root+"/")
	if !ok {
		return "", false
	}
	address, _, _ = strings.Cut(behind, "/")
	return spelled(address), true
}

// path returns what stands before the query and the fragment of a URL.
func path(url string) string {
	if end := strings.IndexAny(url, "?#"); end >= 0 {
		return url[:end]
	}
	return url
}

// spelled returns an address as the contract has it.
func spelled(named string) string {
	named = strings.ToUpper(strings.TrimSpace(path(named)))
	return named[:min(len(named), longestAddress)]
}

// url returns the URL of a channel. Without a base it is a path.
func (d *Desk) url(channel *openintentv1.Channel) string {
	return d.Base + root + "/" + channel.GetAddress()
}
