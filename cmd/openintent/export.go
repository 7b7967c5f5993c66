package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
	"openintent/sdk/go/story"
)

// exportCommand writes a conversation, to be played again.
type exportCommand struct {
	connection
	Intent string `arg:"" complete:"intents" help:"The intent whose conversation is written."`
	Story  bool   `required:"" help:"Write it as a story: one JSON object with the channels and the agents, and then one for each message, in the order of the log."`
}

// Help says what a story is for.
func (exportCommand) Help() string {
	return `Writes what was said in an intent as a story, which the test kits of the SDKs play against an agent: they say what the others said, in the same
order and after the same times, and name what the agent says otherwise than in the record. It takes the operator, who sees everything.

  openintent export INTENT --story > story.jsonl`
}

// Run writes the story.
func (c *exportCommand) Run(ctx context.Context, to terminal) error {
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	intent, err := client.GetIntent(ctx, c.Intent)
	if err != nil {
		return err
	}
	told, err := readStory(ctx, client, intent)
	if err != nil {
		return err
	}
	return told.Write(to.stdout)
}

// errStoryOfOperator says why an agent cannot write a story.
var errStoryOfOperator = exitError{exitRefused, errors.New(
	"a story says what every recipient did with a message, which only the operator may see; name no agent, and use an operator's key")}

// readStory reads all messages of an intent that are still there, but for those of the server itself.
func readStory(ctx context.Context, client *openintent.Client, intent *openintent.Intent) (*story.Story, error) {
	channels, err := client.ListChannels(ctx, intent.ID)
	if err != nil {
		return nil, err
	}
	told := &story.Story{Title: intent.Title, Channels: []story.Channel{}}
	var all []*openintent.Message
	names := make(map[string]string)
	for _, channel := range channels {
		messages, err := everyMessage(ctx, client, channel.ID)
		if err != nil {
			return nil, err
		}
		if len(messages) == 0 {
			continue
		}
		all, names[channel.ID] = append(all, messages...), channel.Name
		told.Channels = append(told.Channels, story.Channel{Name: channel.Name, MemberPolicy: string(channel.MemberPolicy), Members: channel.Members})
	}
	slices.SortFunc(all, func(a, b *openintent.Message) int { return a.CreatedAt.Compare(b.CreatedAt) })
	slices.SortFunc(told.Channels, func(a, b story.Channel) int { return cmp.Compare(a.Name, b.Name) })
	if len(all) > 0 {
		told.BeganAt = all[0].CreatedAt
	}
	took := make(map[string]struct{})
	told.Lines = make([]story.Line, len(all))
	for i, message := range all {
		if told.Lines[i], err = readLine(ctx, client, message, names[message.ChannelID], told.BeganAt); err != nil {
			return nil, err
		}
		took[message.Sender] = struct{}{}
		for _, agent := range told.Lines[i].Woken {
			took[agent] = struct{}{}
		}
		if message.To != "" && message.To != "*" && !strings.HasPrefix(message.To, "role:") {
			took[message.To] = struct{}{}
		}
	}
	told.Agents, err = storyAgents(ctx, client, slices.Sorted(maps.Keys(took)))
	return told, err
}

// everyMessage lists the messages of a channel that an agent sent and nobody deleted, oldest first.
func everyMessage(ctx context.Context, client *openintent.Client, channelID string) (all []*openintent.Message, err error) {
	const page = 1000
	after := "1970-01-01T00:00:00Z"
	for {
		messages, err := client.ListMessages(ctx, channelID, openintent.Selection{Since: after, Limit: page})
		if err != nil {
			return nil, err
		}
		for _, message := range messages {
			if message.Sender != "system" && message.DeletedAt.IsZero() {
				all = append(all, message)
			}
		}
		if len(messages) == 0 { // a page may end early, because its texts are long
			return all, nil
		}
		after = messages[len(messages)-1].ID
	}
}

// readLine makes a line of a message, with what its recipients did with it.
func readLine(
	ctx context.Context, client *openintent.Client, message *openintent.Message, channel string, began time.Time,
) (story.Line, error) {
	line := story.Line{
		ID: message.ID, AfterSeconds: message.CreatedAt.Sub(began).Seconds(), Channel: channel, Sender: message.Sender, To: message.To,
		MessageType: string(message.MessageType), Payload: message.Payload, Metadata: message.Metadata, Answers: message.CorrelationID,
		Parent: message.ParentID, Subject: message.Subject, Kind: message.Kind, Priority: string(message.Priority), Mentions: message.Mentions,
		Collect: collectForm(message.Collect), Dispositions: make(map[string]string),
	}
	if message.Obligation != nil {
		line.Blocks = string(message.Obligation.Blocks)
	}
	if !message.ExpiresAt.IsZero() {
		line.Seconds = message.ExpiresAt.Sub(message.CreatedAt).Seconds()
	}
	deliveries, err := openintent.EveryPage(ctx, func(ctx context.Context, cursor *string) ([]*openintentv1.MessageDelivery, *string, error) {
		listed, err := called(client.Raw().Messages.ListMessageDeliveries(ctx, &openintentv1.ListMessageDeliveriesRequest{
			ChannelId: message.ChannelID, MessageId: message.ID, Cursor: cursor,
		}))
		if err != nil {
			return nil, nil, err
		}
		return listed.GetDeliveries(), listed.NextCursor, nil
	})
	var refusal *openintent.Error
	if errors.As(err, &refusal) && refusal.Reason == "MESSAGE_NOT_FOUND" { // its deliveries are hidden from this caller, not the message itself
		return line, errStoryOfOperator
	}
	for _, delivery := range deliveries {
		if disposition := delivery.GetDisposition(); disposition != "" {
			line.Dispositions[delivery.GetAgentId()] = disposition
		}
		if woke(delivery) {
			line.Woken = append(line.Woken, delivery.GetAgentId())
		}
	}
	slices.Sort(line.Woken)
	return line, err
}

// collectForm returns how many answers a request wants as the contract has it; nil if the sender did not say.
func collectForm(collect openintent.Collect) any {
	if collect == "" {
		return nil
	}
	if count, isQuorum := strings.CutPrefix(string(collect), "quorum:"); isQuorum {
		return map[string]any{"quorum": json.Number(count)}
	}
	return string(collect)
}

// woke reports whether a recipient has done something with a message, and has not left it out.
func woke(delivery *openintentv1.MessageDelivery) bool {
	return delivery.GetAnsweredAt() != nil || delivery.GetSurfacedAt() != nil ||
		delivery.GetReadAt() != nil && delivery.GetDisposition() != string(openintent.DispositionIgnored)
}

// storyAgents are the agents with the roles that they have.
func storyAgents(ctx context.Context, client *openintent.Client, ids []string) ([]story.Agent, error) {
	roles := make(map[string]string)
	records, err := openintent.EveryPage(ctx, func(ctx context.Context, cursor *string) ([]*openintentv1.Agent, *string, error) {
		listed, err := called(client.Raw().Agents.ListAgents(ctx, &openintentv1.ListAgentsRequest{Cursor: cursor}))
		if err != nil {
			return nil, nil, err
		}
		return listed.GetAgents(), listed.NextCursor, nil
	})
	for _, record := range records {
		roles[record.GetAgentId()] = record.GetRoleId()
	}
	agents := make([]story.Agent, len(ids))
	for i, id := range ids {
		agents[i] = story.Agent{ID: id, Role: roles[id]}
	}
	return agents, err
}
