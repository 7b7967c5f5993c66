package mcp

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

const (
	// joinMessages is how many messages join shows, and joinPayload how many bytes of each.
	joinMessages = 3
	joinPayload  = 200
	// charterRoom is how many bytes of an intent's description join shows.
	charterRoom = 600
	// namePage and namePages bound how many channels of an intent join looks through for a name.
	namePage, namePages = 200, 10
)

// join lets the caller take part in a channel, and shows what it needs to begin.
var join = newTool(repeats, "join", "Take part in a channel: by its name, by its intent and name, or by its URL. A title that no intent has makes an intent. Shows what the channel is for and its last messages.",
	`"url":{"type":"string"},"intent":{"type":"string","description":"id or title"},"channel":{"type":"string","description":"name or id"},`+
		`"create":{"type":"boolean","description":"if there is none"}`,
	nil,
	func(ctx context.Context, s *session, given joinArguments) (any, error) {
		to, err := given.address()
		if err != nil {
			return nil, err
		}
		create, made := given.Create, false
		if to.intent != "" && given.URL == "" {
			if to.intent, made, err = s.meant(ctx, to.intent); err != nil {
				return nil, err
			}
			create = create || made
		}
		channel, err := s.find(ctx, to, create)
		if err != nil {
			return nil, err
		}
		answer, err := s.join(ctx, channel)
		if err == nil {
			answer.Made = made
		}
		return answer, err
	})

type joinArguments struct {
	URL     string `json:"url"`
	Intent  string `json:"intent"`
	Channel string `json:"channel"`
	Create  bool   `json:"create"`
}

// address returns the channel that the arguments name.
func (given joinArguments) address() (address, error) {
	switch {
	case given.URL != "" && (given.Intent != "" || given.Channel != ""):
		return address{}, fault.BadField("url", "cannot stand beside intent and channel; give url alone, or the two.")
	case given.URL != "":
		return addressOf(given.URL)
	case given.Channel == "":
		return address{}, fault.BadField("channel", "is missing; give the channel's name, or url.")
	case strings.HasPrefix(given.Channel, channelIDPrefix):
		return address{id: given.Channel}, nil
	}
	return address{intent: given.Intent, name: given.Channel}, nil
}

// meant returns the id of an intent that is named by its id or its title. made reports whether it is new.
func (s *session) meant(ctx context.Context, intent string) (id string, made bool, err error) {
	if uuid.Validate(intent) == nil {
		return intent, false, nil
	}
	opened, err := s.caller.Intents.OpenIntent(ctx, &openintentv1.OpenIntentRequest{Title: intent})
	return opened.GetIntent().GetId(), opened.GetCreated(), err
}

// joinedAnswer is a channel that the caller takes part in. What others wrote comes last.
type joinedAnswer struct {
	Channel string `json:"channel"`
	Intent  string `json:"intent"`
	Closed  bool   `json:"closed,omitempty"`
	// Made says that no intent had the title, and that it is new.
	Made bool `json:"made_intent,omitempty"`
	// The channel's rules.
	Members string `json:"members"`
	History string `json:"history,omitempty"`
	TTL     int64  `json:"ttl_s,omitempty"`
	Sent    int64  `json:"messages_sent"`
	// Cursor is for a wait on the channel: for what comes after the messages below.
	Cursor string `json:"cursor,omitempty"`
	Note   string `json:"note,omitempty"`

	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Messages    []messageAnswer `json:"messages"`
}

// noteSilent warns an agent that does not take part in the channel's intent yet.
const noteSilent = "Until you have sent something here, what is said to everyone does not reach your inbox; wait for the channel."

// errNoSuchName says that an intent has no open channel of a name.
var errNoSuchName = fault.New(fault.NotFound, "CHANNEL_NOT_FOUND",
	"The intent has no open channel of that name; channels lists the names, create makes one, and an id goes into url as openintent://channels/ID.")

// errTooManyNames says that the door did not find a name among as many channels as it looks through.
var errTooManyNames = fault.New(fault.NotFound, "CHANNEL_NOT_FOUND",
	"The intent has too many channels to look for a name; give url as openintent://channels/ID.")

// find returns the channel at an address. With create it makes the channel if the intent has no open one of the name.
func (s *session) find(ctx context.Context, at address, create bool) (*openintentv1.Channel, error) {
	if at.dictated != "" {
		return s.dictated(ctx, at)
	}
	if at.id == "" && at.intent == "" {
		return s.onlyNamed(ctx, at.name)
	}
	if at.id != "" {
		return s.caller.Channels.GetChannel(ctx, &openintentv1.GetChannelRequest{ChannelId: at.id})
	}
	if !create {
		return s.named(ctx, at)
	}
	made, err := s.caller.Channels.CreateChannel(ctx, &openintentv1.CreateChannelRequest{
		IntentId: at.intent, Name: at.name, Members: []string{s.caller.Agent},
	})
	if refusal := doors.RefusalOf(err); err != nil && refusal.Reason == "CHANNEL_NAME_TAKEN" {
		return s.caller.Channels.GetChannel(ctx, &openintentv1.GetChannelRequest{ChannelId: refusal.Facts["channel_id"]})
	}
	return made, err
}

// dictated returns the agent channel at an address.
func (s *session) dictated(ctx context.Context, at address) (*openintentv1.Channel, error) {
	channel, err := s.caller.Channels.GetChannel(ctx, &openintentv1.GetChannelRequest{ChannelId: "-", Address: &at.dictated})
	if doors.RefusalOf(err).Reason == "CHANNEL_NOT_FOUND" {
		return nil, errNotDictated
	}
	return channel, err
}

// named looks through an intent's open channels for a name.
func (s *session) named(ctx context.Context, at address) (*openintentv1.Channel, error) {
	request := &openintentv1.ListChannelsRequest{
		IntentId: at.intent, Status: openintentv1.ChannelStatus_CHANNEL_STATUS_OPEN.Enum(), Limit: new(int32(namePage)),
	}
	for range namePages {
		page, err := s.caller.Channels.ListChannels(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, channel := range page.GetChannels() {
			if channel.GetName() == at.name {
				return channel, nil
			}
		}
		if page.NextCursor == nil {
			return nil, errNoSuchName
		}
		request.Cursor = page.NextCursor
	}
	return nil, errTooManyNames
}

// join makes sure that the caller can take part, and describes the channel.
func (s *session) join(ctx context.Context, channel *openintentv1.Channel) (*joinedAnswer, error) {
	page, listed, err := s.admitted(ctx, channel)
	if err != nil {
		return nil, err
	}
	answer := &joinedAnswer{
		Channel: channel.GetId(), Intent: channel.GetIntentId(), Closed: !isOpen(channel), Members: doors.Word(channel.GetMemberPolicy()),
		TTL: channel.GetOptions().GetTtlSeconds(), Sent: channel.GetMessageCount(), Name: channel.GetName(), Messages: []messageAnswer{},
	}
	if channel.GetOptions().GetHistory() == openintentv1.ChannelHistory_CHANNEL_HISTORY_FROM_JOIN {
		answer.History = doors.Word(channel.GetOptions().GetHistory())
	}
	if !answer.Closed {
		answer.Cursor = channel.GetCreatedAt().AsTime().Format(time.RFC3339Nano)
	}
	for _, m := range page.GetMessages() {
		row := shown(m, nil, joinPayload)
		row.Channel = ""
		answer.Messages = append(answer.Messages, row)
		if !answer.Closed {
			answer.Cursor = m.GetId()
		}
	}
	intent, err := s.caller.Intents.GetIntent(ctx, &openintentv1.GetIntentRequest{IntentId: channel.GetIntentId()})
	if err != nil && !gone(err) { // a guest does not see it
		return nil, err
	}
	answer.Title, answer.Description = doors.Beginning(intent.GetTitle(), charterRoom/2), doors.Beginning(intent.GetDescription(), charterRoom)
	if !listed && !answer.Closed && intent.GetCreatedBy() != s.caller.Agent {
		answer.Note = noteSilent
	}
	return answer, nil
}

// admitted returns the last messages of a channel, which whoever takes part may read, and whether the caller is a listed member. A caller
// that is left out becomes one if it manages the channel. So does the channel's creator anyway: what is said to everyone comes to the
// inbox of members.
func (s *session) admitted(ctx context.Context, channel *openintentv1.Channel) (
	page *openintentv1.ListMessagesResponse, listed bool, err error,
) {
	listed = slices.Contains(channel.GetMembers(), s.caller.Agent)
	request := &openintentv1.ListMessagesRequest{ChannelId: channel.GetId(), Limit: new(int32(joinMessages))}
	page, err = s.caller.Messages.ListMessages(ctx, request)
	outside := doors.RefusalOf(err).Code == codes.PermissionDenied
	if err != nil && !outside {
		return nil, false, err
	}
	if !isOpen(channel) || !outside && (listed || channel.GetCreatedBy() != s.caller.Agent) {
		return page, listed, err
	}
	_, refused := s.caller.Channels.AddChannelMembers(ctx, &openintentv1.AddChannelMembersRequest{
		ChannelId: channel.GetId(), Members: []string{s.caller.Agent},
	})
	if refused == nil && outside {
		page, err = s.caller.Messages.ListMessages(ctx, request)
	}
	return page, refused == nil, err
}
