package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// intentFlag names the intent that a command works on.
type intentFlag struct {
	Intent string `complete:"intents" env:"OPENINTENT_INTENT_ID" placeholder:"ID" help:"The intent."`
}

func (i intentFlag) needed() (string, error) {
	if i.Intent == "" {
		return "", usagef("name the intent with --intent or OPENINTENT_INTENT_ID")
	}
	return i.Intent, nil
}

// channelArgument names a channel.
type channelArgument struct {
	Channel string `complete:"channels" arg:"" help:"Channel: its id (chan_...), or its name on the intent that --intent names."`
	intentFlag
}

var channelID = regexp.MustCompile(`^chan_[0-9A-HJKMNP-TV-Z]{26}$`)

// check refuses a name without the intent that has a channel of this name.
func (c channelArgument) check() error {
	if c.Intent == "" && !channelID.MatchString(c.Channel) {
		return usagef("%q is not a channel's id; use --intent to name the intent that has a channel of this name", c.Channel)
	}
	return nil
}

// find returns the channel. When several channels have the name, it returns the open one, or else the one that was
// created last.
func (c channelArgument) find(ctx context.Context, client *openintent.Client) (*openintentv1.Channel, error) {
	if channelID.MatchString(c.Channel) {
		return called(client.Raw().Channels.GetChannel(ctx, &openintentv1.GetChannelRequest{ChannelId: c.Channel}))
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	listed, err := everyChannel(ctx, client, &openintentv1.ListChannelsRequest{IntentId: c.Intent})
	if err != nil {
		return nil, err
	}
	var found *openintentv1.Channel
	for _, channel := range listed {
		if channel.GetName() != c.Channel {
			continue
		}
		if found = channel; channel.GetStatus() == openintentv1.ChannelStatus_CHANNEL_STATUS_OPEN {
			return found, nil
		}
	}
	if found == nil {
		return nil, exitError{exitNotFound, fmt.Errorf("the intent has no channel %q [CHANNEL_NOT_FOUND]", c.Channel)}
	}
	return found, nil
}

// createFlag lets a sending command create the channel.
type createFlag struct {
	Create bool `help:"Create the channel if the intent has no open one of that name."`
}

// findOrCreate returns the channel to send to.
func (c channelArgument) findOrCreate(
	ctx context.Context, client *openintent.Client, create bool,
) (*openintentv1.Channel, error) {
	if !create || channelID.MatchString(c.Channel) {
		return c.find(ctx, client)
	}
	intent, err := c.needed()
	if err != nil {
		return nil, err
	}
	opened, err := client.Open(ctx, intent, c.Channel, openintent.ChannelOptions{})
	if err != nil {
		return nil, err
	}
	return called(client.Raw().Channels.GetChannel(ctx, &openintentv1.GetChannelRequest{ChannelId: opened.ID}))
}

// reference names a message together with its channel, in one word.
func reference(channel, message string) string { return channel + "/" + message }

// parseReference reads such a word. The channel may be given by its name; it is empty when the word names only the message.
func parseReference(text string) (channel, message string, err error) {
	channel, message, both := strings.Cut(text, "/")
	switch {
	case !both && strings.HasPrefix(text, "msg_"):
		return "", text, nil
	case both && channel != "" && strings.HasPrefix(message, "msg_"):
		return channel, message, nil
	}
	return "", "", usagef("%q names no message; give msg_..., CHANNEL/msg_... with the channel's name, or chan_.../msg_...", text)
}
