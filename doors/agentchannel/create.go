package agentchannel

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// Creation is what somebody wants of a new channel. CreatedBy is taken and not used: the creator is the caller.
type Creation struct {
	Title     string  `json:"title"`
	CreatedBy string  `json:"created_by"`
	Intent    *string `json:"intent_id"`
	// Open lets everyone in who has a key of this server.
	Open bool `json:"open"`
}

// Created tells of a new channel.
type Created struct {
	ID        string `json:"id"`
	URL       string `json:"url"`
	Title     string `json:"title"`
	CreatedBy string `json:"created_by"`
	CreatedAt string `json:"created_at"`
	IntentID  string `json:"intent_id"`
	ChannelID string `json:"channel_id"`
	// Open is true if everyone with a key may take part, because the creation said so.
	Open bool `json:"open"`
}

// errOpenInIntent refuses a channel that would be open in an intent that decides that itself.
var errOpenInIntent = fault.BadField("open",
	"is for a channel that gets an intent of its own; leave out intent_id, or give access to that intent.")

const (
	// longestTitle is how many characters a title has at most, because it is the channel's name.
	longestTitle = 128
	// listedEvents is how many events a channel of this door lists.
	listedEvents = 10_000
)

// Create makes a channel. Without an intent it gets one of its own. That is closed to everyone but the creator, unless the channel is to be
// open: the others come by invite, or because the creator gives them access.
func (d *Desk) Create(ctx context.Context, wanted Creation) (*Created, error) {
	name, err := nameOf(wanted.Title)
	if err != nil {
		return nil, err
	}
	intentID := ""
	switch {
	case wanted.Intent != nil && wanted.Open:
		return nil, errOpenInIntent
	case wanted.Intent != nil:
		intentID = *wanted.Intent
	default:
		if intentID, err = d.ownIntent(ctx, wanted); err != nil {
			return nil, err
		}
	}
	channel, err := d.Caller.Channels.CreateChannel(ctx, &openintentv1.CreateChannelRequest{
		IntentId: intentID, Name: name, Dictatable: true, Options: &openintentv1.ChannelOptions{MaxMessages: new(int64(listedEvents))},
	})
	if err != nil {
		return nil, err
	}
	return &Created{
		ID: channel.GetAddress(), URL: d.url(channel), Title: titleOf(channel), CreatedBy: channel.GetCreatedBy(),
		CreatedAt: moment(channel.GetCreatedAt().AsTime()), IntentID: channel.GetIntentId(), ChannelID: channel.GetId(),
		Open: wanted.Open,
	}, nil
}

// ownIntent makes the intent of a channel that names none.
func (d *Desk) ownIntent(ctx context.Context, wanted Creation) (string, error) {
	policy := openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED
	if wanted.Open {
		policy = openintentv1.AccessPolicy_ACCESS_POLICY_OPEN
	}
	intent, err := d.Caller.Intents.CreateIntent(ctx, &openintentv1.CreateIntentRequest{
		Title: wanted.Title, Status: openintentv1.IntentStatus_INTENT_STATUS_ACTIVE.Enum(), DefaultPolicy: &policy,
	})
	return intent.GetId(), err
}

// A channel's name has no slash, so the title's slashes become a sign that looks like one.
const slash, slashInNames = "/", "\u2215"

// nameOf returns the name of a channel with a title.
func nameOf(title string) (string, error) {
	switch {
	case strings.TrimSpace(title) == "":
		return "", fault.BadField("title", "is missing; say in a few words what the channel is for.")
	case utf8.RuneCountInString(title) > longestTitle:
		return "", fault.BadField("title", "has more than %d characters; the charter (an event of kind spec) has room for more.", longestTitle)
	case strings.ContainsFunc(title, unicode.IsControl):
		return "", fault.BadField("title", "must be one line of text, without control characters.")
	}
	return strings.ReplaceAll(title, slash, slashInNames), nil
}

// titleOf returns the title of a channel.
func titleOf(channel *openintentv1.Channel) string {
	return strings.ReplaceAll(channel.GetName(), slashInNames, slash)
}
