package mcp

import (
	"context"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// descriptionRoom is how many bytes of an intent's description its resource shows.
	descriptionRoom = 600
	// channelsShown is how many channels of an intent its resource names.
	channelsShown = 10
	// membersShown is how many members of a channel its resource names.
	membersShown = 20
)

// readResource answers with what is at an address, as one line of JSON.
func (s *session) readResource(ctx context.Context, given *sdk.ReadResourceParams) (*sdk.ReadResourceResult, error) {
	found, err := s.resourceOf(given.URI)
	if err != nil {
		return nil, err
	}
	var shown any
	switch found.kind {
	case intentResource:
		shown, err = s.readIntent(ctx, found.id)
	case channelResource:
		shown, err = s.readChannel(ctx, found.id)
	case inboxResource:
		shown, err = s.inbox(ctx, inboxArguments{})
	}
	if err != nil {
		s.failed(ctx, "resource", given.URI, err)
		return nil, refusedResource(given.URI, err)
	}
	return &sdk.ReadResourceResult{
		Cacheable: private,
		Contents:  []*sdk.ResourceContents{{URI: given.URI, MIMEType: mimeType, Text: inJSON(shown)}},
	}, nil
}

// intentRead is what the resource of an intent shows. What agents wrote stands last.
type intentRead struct {
	Intent      string        `json:"intent"`
	Status      string        `json:"status"`
	CreatedBy   string        `json:"created_by"`
	Channels    []channelRead `json:"channels"`
	More        bool          `json:"more_channels,omitempty"`
	Title       string        `json:"title"`
	Description string        `json:"description,omitempty"`
}

// readIntent returns what an intent is about, and its channels.
func (s *session) readIntent(ctx context.Context, id string) (*intentRead, error) {
	intent, err := s.caller.Intents.GetIntent(ctx, &openintentv1.GetIntentRequest{IntentId: id})
	if err != nil {
		return nil, err
	}
	channels, err := s.caller.Channels.ListChannels(ctx, &openintentv1.ListChannelsRequest{
		IntentId: id, Limit: new(int32(channelsShown)),
	})
	if err != nil {
		return nil, err
	}
	read := &intentRead{
		Intent: intent.GetId(), Status: doors.Word(intent.GetStatus()), CreatedBy: intent.GetCreatedBy(),
		Channels: []channelRead{}, More: channels.NextCursor != nil,
		Title: intent.GetTitle(), Description: doors.Beginning(intent.GetDescription(), descriptionRoom),
	}
	for _, channel := range channels.GetChannels() {
		read.Channels = append(read.Channels, factsOf(channel))
	}
	return read, nil
}

// channelRead is what resources show of a channel.
type channelRead struct {
	Channel  string `json:"channel"`
	Intent   string `json:"intent,omitempty"`
	Status   string `json:"status"`
	Messages int64  `json:"messages"`
	Last     string `json:"last,omitempty"`
	// Members are those of a channel that has some of its own.
	Members []string `json:"members,omitempty"`
	More    bool     `json:"more_members,omitempty"`
	Name    string   `json:"name"`
	// Newest are the last messages, in the order in which they were sent.
	Newest []messageAnswer `json:"newest,omitempty"`
}

// factsOf returns what a list shows of a channel.
func factsOf(channel *openintentv1.Channel) channelRead {
	return channelRead{
		Channel: channel.GetId(), Status: doors.Word(channel.GetStatus()), Messages: channel.GetMessageCount(),
		Last: moment(channel.GetLastMessageAt()), Name: channel.GetName(),
	}
}

// readChannel returns a channel with its newest messages.
func (s *session) readChannel(ctx context.Context, id string) (*channelRead, error) {
	channel, err := s.caller.Channels.GetChannel(ctx, &openintentv1.GetChannelRequest{ChannelId: id})
	if err != nil {
		return nil, err
	}
	messages, err := s.caller.Messages.ListMessages(ctx, &openintentv1.ListMessagesRequest{
		ChannelId: id, Limit: new(int32(messagesShown)),
	})
	if err != nil {
		return nil, err
	}
	read := factsOf(channel)
	read.Intent = channel.GetIntentId()
	if channel.GetMemberPolicy() == openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT {
		read.Members = channel.GetMembers()
		if read.More = len(read.Members) > membersShown; read.More {
			read.Members = read.Members[:membersShown]
		}
	}
	read.Newest = newest(messages.GetMessages())
	return &read, nil
}

// newest returns the last of some messages of one channel, as many as an answer has room for, and one at least.
func newest(messages []*openintentv1.Message) []messageAnswer {
	var chosen []messageAnswer
	used := 0
	for _, message := range slices.Backward(messages) {
		next := shown(message, nil, payloadRoom)
		next.Channel = "" // it is the same for all
		if used += len(inJSON(next)); used > answerRoom && len(chosen) > 0 {
			break
		}
		chosen = append(chosen, next)
	}
	slices.Reverse(chosen)
	return chosen
}
