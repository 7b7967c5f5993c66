package openintent

import (
	"context"
	"errors"
	"iter"
	"time"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	openintentv1 "openintent/gen/openintent/v1"
)

// MemberPolicy decides who takes part in a channel.
type MemberPolicy string

// The policies are: only the listed members, or everyone who has access to the intent.
const (
	ExplicitMembers MemberPolicy = "explicit"
	IntentMembers   MemberPolicy = "intent"
)

var memberPolicies = wordsOf(map[openintentv1.MemberPolicy]MemberPolicy{
	openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT: ExplicitMembers,
	openintentv1.MemberPolicy_MEMBER_POLICY_INTENT:   IntentMembers,
})

// History decides what a member sees of the messages that were sent before a manager added it.
type History string

// The histories are: everything that is kept, or only what is sent after the member was added.
const (
	HistoryAll      History = "all"
	HistoryFromJoin History = "from_join"
)

var histories = wordsOf(map[openintentv1.ChannelHistory]History{
	openintentv1.ChannelHistory_CHANNEL_HISTORY_ALL:       HistoryAll,
	openintentv1.ChannelHistory_CHANNEL_HISTORY_FROM_JOIN: HistoryFromJoin,
})

// ChannelStatus is whether a channel accepts messages.
type ChannelStatus string

// These are the statuses of channels.
const (
	ChannelOpen   ChannelStatus = "open"
	ChannelClosed ChannelStatus = "closed"
)

var channelStatuses = wordsOf(map[openintentv1.ChannelStatus]ChannelStatus{
	openintentv1.ChannelStatus_CHANNEL_STATUS_OPEN:   ChannelOpen,
	openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED: ChannelClosed,
})

// ChannelOptions describe a new channel; zero values are the server's defaults.
type ChannelOptions struct {
	Members []string
	// MemberPolicy is IntentMembers when it is empty.
	MemberPolicy MemberPolicy
	// Audit copies every message to the intent's event log.
	Audit bool
	// TTL closes the channel when nothing has been sent for this long, in whole seconds; 0 means never.
	TTL time.Duration
	// MaxMessages is how many messages are retained; 0 means 1,000.
	MaxMessages int64
	// History is HistoryAll when it is empty.
	History History
	// TurnBudget is how many messages two agents alone may exchange within 10 minutes before the loop brake is put on, between 2 and 100;
	// 0 means 20, and a negative number means that there is no brake.
	TurnBudget int64
	// ConversationBudget is how often agents may set each other to work within 10 minutes, in a thread or outside threads, before they are
	// braked, between 2 and 1,000; 0 means 60 in a thread and 200 outside threads, and a negative number that there is no brake.
	ConversationBudget int64
	// TaskID binds the channel to a task.
	TaskID string
	// Dictatable gives the channel an address that people can dictate.
	Dictatable bool
}

// Channel is a channel as the server last described it, together with the client that asked for it.
type Channel struct {
	ID           string
	IntentID     string
	Address      string // such as VK47; "" unless the channel is dictatable
	TaskID       string
	Name         string
	CreatedBy    string
	Members      []string
	MemberPolicy MemberPolicy
	Audit        bool
	TTL          time.Duration
	MaxMessages  int64
	History      History
	TurnBudget   int64
	// ConversationBudget is nil where nobody has set it, and 0 where there is no brake.
	ConversationBudget *int64

	Status        ChannelStatus
	CreatedAt     time.Time
	ClosedAt      time.Time
	MessageCount  int64
	LastMessageAt time.Time

	client *Client
}

func (c *Client) channel(ch *openintentv1.Channel) *Channel {
	return &Channel{
		ID: ch.GetId(), IntentID: ch.GetIntentId(), Address: ch.GetAddress(), TaskID: ch.GetTaskId(), Name: ch.GetName(),
		CreatedBy: ch.GetCreatedBy(), Members: ch.GetMembers(), MemberPolicy: memberPolicies.word(ch.GetMemberPolicy()),
		Audit: ch.GetOptions().GetAudit(), TTL: time.Duration(ch.GetOptions().GetTtlSeconds()) * time.Second, MaxMessages: ch.GetOptions().GetMaxMessages(),
		History: histories.word(ch.GetOptions().GetHistory()), TurnBudget: ch.GetOptions().GetTurnBudget(),
		ConversationBudget: conversationBudgetOf(ch),
		Status:             channelStatuses.word(ch.GetStatus()), CreatedAt: timeOf(ch.GetCreatedAt()), ClosedAt: timeOf(ch.GetClosedAt()),
		MessageCount: ch.GetMessageCount(), LastMessageAt: timeOf(ch.GetLastMessageAt()), client: c,
	}
}

func conversationBudgetOf(ch *openintentv1.Channel) *int64 {
	if ch.GetOptions() == nil {
		return nil
	}
	return ch.GetOptions().ConversationBudget
}

// Open returns the intent's open channel of this name, or creates it with the options. When several callers do so
// simultaneously, they all get the same channel. When intentID is empty, it is the client's own intent.
func (c *Client) Open(ctx context.Context, intentID, name string, options ChannelOptions) (*Channel, error) {
	intentID, err := c.options.intent("Open", intentID)
	if err = errors.Join(err, checkChannelName(name)); err != nil {
		return nil, err
	}
	for {
		channels, err := c.ListChannels(ctx, intentID)
		if err != nil {
			return nil, err
		}
		for _, channel := range channels {
			if channel.Name == name && channel.Status == ChannelOpen {
				return channel, nil
			}
		}
		channel, err := c.CreateChannel(ctx, intentID, name, options)
		if !errors.Is(err, ErrChannelNameTaken) {
			return channel, err
		}
	}
}

// CreateChannel creates a channel. It returns ErrChannelNameTaken when an open channel has the name.
// When intentID is empty, it is the client's own intent.
func (c *Client) CreateChannel(ctx context.Context, intentID, name string, options ChannelOptions) (*Channel, error) {
	intentID, err := c.options.intent("CreateChannel", intentID)
	if err = errors.Join(err, checkChannelName(name)); err != nil {
		return nil, err
	}
	request := &openintentv1.CreateChannelRequest{
		IntentId: intentID, Name: name, Members: options.Members, MemberPolicy: memberPolicies.number(options.MemberPolicy),
		TaskId: optional(options.TaskID), Dictatable: options.Dictatable,
		Options: &openintentv1.ChannelOptions{Audit: &options.Audit},
	}
	if options.TTL != 0 {
		seconds := int64(options.TTL / time.Second)
		request.Options.TtlSeconds = &seconds
	}
	if options.MaxMessages != 0 {
		request.Options.MaxMessages = &options.MaxMessages
	}
	if options.TurnBudget != 0 {
		budget := max(options.TurnBudget, 0)
		request.Options.TurnBudget = &budget
	}
	if options.ConversationBudget != 0 {
		budget := max(options.ConversationBudget, 0)
		request.Options.ConversationBudget = &budget
	}
	request.Options.History = histories.number(options.History)
	repeating := false
	created, err := repeated(ctx, c, func(ctx context.Context) (*openintentv1.Channel, error) {
		created, err := c.raw.Channels.CreateChannel(ctx, request)
		if repeating && errors.Is(FromError(err), ErrChannelNameTaken) {
			return c.ownChannel(ctx, intentID, name, err)
		}
		repeating = true
		return created, err
	})
	if err != nil {
		return nil, err
	}
	return c.channel(created), nil
}

// ownChannel checks whether an attempt whose answer was lost created the channel: this caller is then the channel's
// creator.
func (c *Client) ownChannel(ctx context.Context, intentID, name string, taken error) (*openintentv1.Channel, error) {
	open, err := c.everyChannel(ctx, intentID, openintentv1.ChannelStatus_CHANNEL_STATUS_OPEN.Enum())
	if err != nil {
		return nil, err
	}
	for _, channel := range open {
		if channel.GetName() == name && channel.GetCreatedBy() == firstOf(c.AgentID(), "operator") {
			return channel, nil
		}
	}
	return nil, taken
}

// ListChannels lists an intent's channels, open ones first.
func (c *Client) ListChannels(ctx context.Context, intentID string) ([]*Channel, error) {
	intentID, err := c.options.intent("ListChannels", intentID)
	if err != nil {
		return nil, err
	}
	listed, err := repeated(ctx, c, func(ctx context.Context) ([]*openintentv1.Channel, error) {
		return c.everyChannel(ctx, intentID, nil)
	})
	if err != nil {
		return nil, err
	}
	channels := make([]*Channel, len(listed))
	for i, channel := range listed {
		channels[i] = c.channel(channel)
	}
	return channels, nil
}

// everyChannel collects the pages of an intent's channels.
func (c *Client) everyChannel(
	ctx context.Context, intentID string, status *openintentv1.ChannelStatus,
) ([]*openintentv1.Channel, error) {
	return EveryPage(ctx, func(ctx context.Context, cursor *string) ([]*openintentv1.Channel, *string, error) {
		page, err := c.raw.Channels.ListChannels(ctx, &openintentv1.ListChannelsRequest{
			IntentId: intentID, Status: status, Cursor: cursor,
		})
		if err != nil {
			return nil, nil, err
		}
		return page.GetChannels(), page.NextCursor, nil
	})
}

// GetChannel returns a channel.
func (c *Client) GetChannel(ctx context.Context, channelID string) (*Channel, error) {
	channel, err := repeated(ctx, c, func(ctx context.Context) (*openintentv1.Channel, error) {
		return c.raw.Channels.GetChannel(ctx, &openintentv1.GetChannelRequest{ChannelId: channelID})
	})
	if err != nil {
		return nil, err
	}
	return c.channel(channel), nil
}

// CloseChannel closes a channel; closing a closed channel changes nothing.
func (c *Client) CloseChannel(ctx context.Context, channelID string) (*Channel, error) {
	request := &openintentv1.UpdateChannelRequest{Channel: &openintentv1.Channel{
		Id: channelID, Status: openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED,
	}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"status"}}}
	channel, err := repeated(ctx, c, func(ctx context.Context) (*openintentv1.Channel, error) {
		return c.raw.Channels.UpdateChannel(ctx, request)
	})
	if err != nil {
		return nil, err
	}
	return c.channel(channel), nil
}

// Ask asks an agent, or a role written as "role:" and its name, and returns the first response.
func (c *Channel) Ask(ctx context.Context, to string, payload any) (*Message, error) {
	return c.client.Ask(ctx, c.ID, Question{To: to, Payload: payload})
}

// AskWith does what Ask does, with all settings of a question.
func (c *Channel) AskWith(ctx context.Context, question Question) (*Message, error) {
	return c.client.Ask(ctx, c.ID, question)
}

// AskAll returns the responses that arrive within the question's time, or as soon as enough have arrived.
func (c *Channel) AskAll(ctx context.Context, question Question) ([]*Message, error) {
	return c.client.AskAll(ctx, c.ID, question)
}

// AskAllIter yields the responses as they arrive.
func (c *Channel) AskAllIter(ctx context.Context, question Question) iter.Seq2[*Message, error] {
	return c.client.AskAllIter(ctx, c.ID, question)
}

// Notify sends a message that needs no answer to an agent or a role; "" means everyone.
func (c *Channel) Notify(ctx context.Context, to string, payload any) (*Message, error) {
	return c.Send(ctx, Draft{To: to, Payload: payload})
}

// Broadcast sends a message to everyone.
func (c *Channel) Broadcast(ctx context.Context, payload any) (*Message, error) {
	return c.Send(ctx, Draft{MessageType: Broadcast, Payload: payload})
}

// Send sends a message.
func (c *Channel) Send(ctx context.Context, draft Draft) (*Message, error) {
	return c.client.SendMessage(ctx, c.ID, draft)
}

// Close closes the channel.
func (c *Channel) Close(ctx context.Context) error {
	_, err := c.client.CloseChannel(ctx, c.ID)
	return err
}
