package mcp

import (
	"context"
	"strings"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

const (
	// nameCalls bounds how many calls of the contract look for a channel's name in all intents.
	nameCalls = 100
	// intentPage is how many intents one of them lists, and namesShown how many channels of one name a refusal names.
	intentPage = 100
	namesShown = 5
	// channelIDPrefix begins the id of each channel.
	channelIDPrefix = "chan_"
)

var (
	errNoChannelNamed = fault.New(fault.NotFound, "CHANNEL_NOT_FOUND",
		"You can see no open channel of that name; channels lists those that you can see, and with intent and create this makes one.")
	errIntentNeeded = fault.New(fault.NotFound, "CHANNEL_NOT_FOUND",
		"You can see too many intents to look for a channel by its name alone; give intent as well, or url as openintent://channels/ID.")
)

// nameSearch looks for the open channels of a name among all that the caller can see.
type nameSearch struct {
	s     *session
	name  string
	calls int
	found []*openintentv1.Channel
}

// onlyNamed returns the one open channel of a name that the caller can see.
func (s *session) onlyNamed(ctx context.Context, name string) (*openintentv1.Channel, error) {
	n := &nameSearch{s: s, name: name}
	if err := n.kept(ctx); err != nil {
		return nil, err
	}
	if err := n.intents(ctx); err != nil {
		return nil, err
	}
	switch len(n.found) {
	case 0:
		return nil, errNoChannelNamed
	case 1:
		return n.found[0], nil
	}
	return nil, n.several()
}

// several refuses a name that several channels have, and names them.
func (n *nameSearch) several() error {
	var named []string
	for _, channel := range n.found[:min(namesShown, len(n.found))] {
		named = append(named, scheme+"channels/"+channel.GetId()+" of the intent "+channel.GetIntentId())
	}
	return fault.New(fault.Conflict, "SEVERAL_CHANNELS",
		"You can see several channels of that name; give intent as well, or one of these as url: "+strings.Join(named, ", ")+".")
}

// kept looks among the channels to which the caller's key is kept.
func (n *nameSearch) kept(ctx context.Context) error {
	for _, id := range n.s.caller.OnlyChannels {
		if err := n.count(); err != nil {
			return err
		}
		channel, err := n.s.caller.Channels.GetChannel(ctx, &openintentv1.GetChannelRequest{ChannelId: id})
		switch {
		case gone(err):
		case err != nil:
			return err
		case isOpen(channel) && channel.GetName() == n.name:
			n.found = append(n.found, channel)
		}
	}
	return nil
}

// intents looks in all intents that the caller can see.
func (n *nameSearch) intents(ctx context.Context) error {
	request := &openintentv1.ListIntentsRequest{Limit: new(int32(intentPage))}
	for {
		if err := n.count(); err != nil {
			return err
		}
		page, err := n.s.caller.Intents.ListIntents(ctx, request)
		if err != nil {
			return err
		}
		for _, intent := range page.GetIntents() {
			if over(intent) {
				continue
			}
			if err := n.in(ctx, intent.GetId()); err != nil {
				return err
			}
		}
		if request.Cursor = page.NextCursor; request.Cursor == nil {
			return nil
		}
	}
}

// in looks among the open channels of one intent, where a name is once at most.
func (n *nameSearch) in(ctx context.Context, intent string) error {
	request := &openintentv1.ListChannelsRequest{
		IntentId: intent, Status: openintentv1.ChannelStatus_CHANNEL_STATUS_OPEN.Enum(), Limit: new(int32(namePage)),
	}
	for {
		if err := n.count(); err != nil {
			return err
		}
		page, err := n.s.caller.Channels.ListChannels(ctx, request)
		if gone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, channel := range page.GetChannels() {
			if channel.GetName() == n.name {
				n.add(channel)
				return nil
			}
		}
		if request.Cursor = page.NextCursor; request.Cursor == nil {
			return nil
		}
	}
}

// add adds a channel, unless it is one to which the caller's key is kept.
func (n *nameSearch) add(channel *openintentv1.Channel) {
	for _, known := range n.found {
		if known.GetId() == channel.GetId() {
			return
		}
	}
	n.found = append(n.found, channel)
}

// count counts a call, and refuses one too many.
func (n *nameSearch) count() error {
	if n.calls++; n.calls > nameCalls {
		return errIntentNeeded
	}
	return nil
}
