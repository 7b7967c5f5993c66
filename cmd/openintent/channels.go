package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// channelsCommand holds the verbs that work on channels.
type channelsCommand struct {
	List   channelListCommand   `cmd:"" default:"withargs" help:"List an intent's channels, open ones first."`
	Create channelCreateCommand `cmd:"" help:"Create a channel and print its id."`
	Show   channelShowCommand   `cmd:"" help:"Show a channel."`
	Close  channelCloseCommand  `cmd:"" help:"Close a channel; its unanswered requests expire."`
	Add    channelAddCommand    `cmd:"" help:"Add members to a channel."`
	Remove channelRemoveCommand `cmd:"" help:"Remove members from a channel."`
	Lift   channelLiftCommand   `cmd:"" help:"Let agents go on that are braked in a channel."`
}

// usualTurnBudget is the turn budget of a channel whose options do not say; it is not worth a line.
const usualTurnBudget = 20

// channelListCommand lists an intent's channels.
type channelListCommand struct {
	connection
	listing
	intentFlag
	Status string `enum:",open,closed" default:"" placeholder:"STATUS" help:"Only channels with this status: open or closed."`
}

// Run prints a table.
func (c *channelListCommand) Run(ctx context.Context, to terminal) error {
	intent, err := c.needed()
	if err != nil {
		return err
	}
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	request := &openintentv1.ListChannelsRequest{IntentId: intent}
	if c.Status != "" {
		request.Status = openintentv1.ChannelStatus(
			number(openintentv1.ChannelStatus_value, "CHANNEL_STATUS_", c.Status)).Enum()
	}
	listed, err := everyChannel(ctx, client, request)
	if err != nil {
		return err
	}
	printed := newTable("CHANNEL", "STATUS", "POLICY", "MESSAGES", "LAST", "NAME")
	return listOf(c.listing, to, printed, listed, func(ch *openintentv1.Channel) []string {
		return []string{
			ch.GetId(), word(ch.GetStatus()), word(ch.GetMemberPolicy()), strconv.FormatInt(ch.GetMessageCount(), 10),
			clock(ch.GetLastMessageAt()), ch.GetName(),
		}
	})
}

// everyChannel collects the pages of a list of channels.
func everyChannel(
	ctx context.Context, client *openintent.Client, request *openintentv1.ListChannelsRequest,
) ([]*openintentv1.Channel, error) {
	return openintent.EveryPage(ctx, func(ctx context.Context, cursor *string) ([]*openintentv1.Channel, *string, error) {
		request.Cursor = cursor
		page, err := client.Raw().Channels.ListChannels(ctx, request)
		if err != nil {
			return nil, nil, err
		}
		return page.GetChannels(), page.NextCursor, nil
	})
}

// channelCreateCommand creates a channel.
type channelCreateCommand struct {
	connection
	output
	Name string `arg:"" help:"The channel's name, unique among the intent's open channels."`
	intentFlag
	Member       []string      `complete:"agents" short:"m" placeholder:"AGENT" help:"Member to list; may be repeated. Means --policy=explicit unless --policy is given."`
	Policy       string        `enum:",intent,explicit" default:"" placeholder:"POLICY" help:"Who may take part: intent (everyone who has access to the intent) or explicit (the members) (intent)."`
	Audit        bool          `help:"Copy every message to the intent's event log."`
	TTL          time.Duration `name:"ttl" placeholder:"DURATION" help:"Close the channel when nothing has been sent for this long."`
	MaxMessages  int64         `placeholder:"N" help:"How many messages the channel keeps (1000)."`
	History      string        `enum:",all,from_join" default:"" placeholder:"HISTORY" help:"What members see who are added later: all, or from_join (only messages that are sent after they were added) (all)."`
	TurnBudget   *int64        `placeholder:"N" help:"How many messages two agents alone may exchange within 10 minutes before the loop brake is put on; 0: no brake (20)."`
	Conversation *int64        `name:"conversation-budget" placeholder:"N" help:"How often agents may set each other to work within 10 minutes, in a thread or outside threads, before they are braked; 0: no brake (60 in a thread, 200 outside)."`
	Task         string        `placeholder:"ID" help:"Task of the intent; the channel closes when it ends."`
	Dictatable   bool          `help:"Give the channel an address that people can dictate, such as VK47; channels show prints it."`
}

// Run prints the new channel's id.
func (c *channelCreateCommand) Run(ctx context.Context, to terminal) error {
	intent, err := c.needed()
	if err != nil {
		return err
	}
	if c.Policy == "" && len(c.Member) > 0 {
		c.Policy = string(openintent.ExplicitMembers)
	}
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	created, err := client.CreateChannel(ctx, intent, c.Name, openintent.ChannelOptions{
		Members: c.Member, MemberPolicy: openintent.MemberPolicy(c.Policy), Audit: c.Audit, TTL: c.TTL,
		MaxMessages: c.MaxMessages, History: openintent.History(c.History), TurnBudget: budgetOf(c.TurnBudget), TaskID: c.Task,
		ConversationBudget: budgetOf(c.Conversation), Dictatable: c.Dictatable,
	})
	if err != nil {
		return err
	}
	if !c.JSON {
		return printLine(to, created.ID)
	}
	channel, err := channelArgument{Channel: created.ID}.find(ctx, client)
	if err != nil {
		return err
	}
	return lines(to, channel)
}

// budgetOf returns a budget as the SDK takes it: 0 is the server's default, and a negative number is no brake.
func budgetOf(given *int64) int64 {
	switch {
	case given == nil:
		return 0
	case *given == 0:
		return -1
	}
	return *given
}

// channelShowCommand shows a channel.
type channelShowCommand struct {
	connection
	output
	channelArgument
}

// Run prints its fields.
func (c *channelShowCommand) Run(ctx context.Context, to terminal) error {
	return withChannel(ctx, to, c.connection, c.output, c.channelArgument,
		func(_ *openintent.Client, channel *openintentv1.Channel) (*openintentv1.Channel, error) {
			return channel, nil
		})
}

// channelCloseCommand closes a channel.
type channelCloseCommand struct {
	connection
	output
	channelArgument
}

// Run prints the closed channel. Closing a channel that is already closed does nothing.
func (c *channelCloseCommand) Run(ctx context.Context, to terminal) error {
	return withChannel(ctx, to, c.connection, c.output, c.channelArgument,
		func(client *openintent.Client, channel *openintentv1.Channel) (*openintentv1.Channel, error) {
			if _, err := client.CloseChannel(ctx, channel.GetId()); err != nil {
				return nil, err
			}
			return called(client.Raw().Channels.GetChannel(ctx, &openintentv1.GetChannelRequest{ChannelId: channel.GetId()}))
		})
}

// channelAddCommand adds members.
type channelAddCommand struct {
	connection
	output
	channelArgument
	Members []string `complete:"agents" arg:"" help:"Agents."`
}

// Run prints the channel with the new members.
func (c *channelAddCommand) Run(ctx context.Context, to terminal) error {
	return withChannel(ctx, to, c.connection, c.output, c.channelArgument,
		func(client *openintent.Client, channel *openintentv1.Channel) (*openintentv1.Channel, error) {
			return called(client.Raw().Channels.AddChannelMembers(ctx, &openintentv1.AddChannelMembersRequest{
				ChannelId: channel.GetId(), Members: c.Members,
			}))
		})
}

// channelRemoveCommand removes members.
type channelRemoveCommand struct {
	connection
	output
	channelArgument
	Members []string `complete:"agents" arg:"" help:"Agents."`
}

// Run prints the channel without the removed members.
func (c *channelRemoveCommand) Run(ctx context.Context, to terminal) error {
	return withChannel(ctx, to, c.connection, c.output, c.channelArgument,
		func(client *openintent.Client, channel *openintentv1.Channel) (*openintentv1.Channel, error) {
			var err error
			for _, member := range c.Members {
				channel, err = called(client.Raw().Channels.RemoveChannelMember(ctx, &openintentv1.RemoveChannelMemberRequest{
					ChannelId: channel.GetId(), AgentId: member,
				}))
				if err != nil {
					return nil, err
				}
			}
			return channel, nil
		})
}

// channelLiftCommand lifts the brake on a conversation of agents.
type channelLiftCommand struct {
	connection
	output
	channelArgument
	Thread string `placeholder:"MESSAGE" help:"The thread in which they are braked, by one of its messages; without it, the place outside threads."`
}

// Run prints the channel.
func (c *channelLiftCommand) Run(ctx context.Context, to terminal) error {
	return withChannel(ctx, to, c.connection, c.output, c.channelArgument,
		func(client *openintent.Client, channel *openintentv1.Channel) (*openintentv1.Channel, error) {
			_, err := called(client.Raw().Messages.LiftBrake(ctx, &openintentv1.LiftBrakeRequest{
				ChannelId: channel.GetId(), ThreadId: present(c.Thread),
			}))
			return channel, err
		})
}

// withChannel runs an action on a channel and prints the channel as it is afterwards.
func withChannel(
	ctx context.Context, to terminal, connection connection, form output, argument channelArgument,
	do func(*openintent.Client, *openintentv1.Channel) (*openintentv1.Channel, error),
) error {
	client, err := connection.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	channel, err := argument.find(ctx, client)
	if err != nil {
		return err
	}
	if channel, err = do(client, channel); err != nil {
		return err
	}
	return show(form, to, channel, channelFields)
}

func channelFields(ch *openintentv1.Channel) (shown fields) {
	shown.add("channel", ch.GetId())
	shown.add("name", ch.GetName())
	shown.add("intent", ch.GetIntentId())
	shown.add("address", ch.GetAddress())
	shown.add("task", ch.GetTaskId())
	shown.add("status", word(ch.GetStatus()))
	shown.add("policy", word(ch.GetMemberPolicy()))
	shown.add("members", strings.Join(ch.GetMembers(), ", "))
	if ch.GetOptions().GetAudit() {
		shown.add("audit", "every message")
	}
	if ttl := ch.GetOptions().GetTtlSeconds(); ttl > 0 {
		shown.add("ttl", (time.Duration(ttl) * time.Second).String())
	}
	shown.add("keeps", strconv.FormatInt(ch.GetOptions().GetMaxMessages(), 10)+" messages")
	if ch.GetOptions().GetHistory() == openintentv1.ChannelHistory_CHANNEL_HISTORY_FROM_JOIN {
		shown.add("history", word(ch.GetOptions().GetHistory()))
	}
	if budget := ch.GetOptions().GetTurnBudget(); budget != usualTurnBudget {
		shown.add("turn budget", strconv.FormatInt(budget, 10))
	}
	if options := ch.GetOptions(); options != nil && options.ConversationBudget != nil {
		shown.add("conversation budget", strconv.FormatInt(options.GetConversationBudget(), 10))
	}
	shown.add("sent", strconv.FormatInt(ch.GetMessageCount(), 10)+" messages")
	shown.add("last message", clock(ch.GetLastMessageAt()))
	shown.add("created", clock(ch.GetCreatedAt())+" by "+ch.GetCreatedBy())
	shown.add("closed", clock(ch.GetClosedAt()))
	return shown
}
