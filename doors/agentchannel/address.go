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
	address := addressIn(named)
	return d.Caller.Channels.GetChannel(ctx, &openintentv1.GetChannelRequest{ChannelId: "-", Address: &address})
}

// longestAddress is more than any address has.
const longestAddress = 32

// addressIn returns the address in what somebody gives for one. Of a URL it takes the part behind the door's path, and nothing else.
func addressIn(named string) string {
	if _, behind, isURL := strings.Cut(named, root+"/"); isURL {
		named = behind
		if end := strings.IndexAny(behind, "/?#"); end >= 0 {
			named = behind[:end]
		}
	}
	named = strings.ToUpper(strings.TrimSpace(named))
	return named[:min(len(named), longestAddress)]
}

// url returns the URL of a channel. Without a base it is a path.
func (d *Desk) url(channel *openintentv1.Channel) string {
	return d.Base + root + "/" + channel.GetAddress()
}
