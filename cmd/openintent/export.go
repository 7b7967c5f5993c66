package main

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// storyVersion is the form of stories. Another form has another number.
const storyVersion = 1

// exportCommand writes a conversation, to be played again.
type exportCommand struct {
	connection
	Intent string `arg:"" complete:"intents" help:"The intent whose conversation is written."`
	Story  bool   `required:"" help:"Write it as a story: one JSON object with the channels and the agents, and then one for each message, in the order of the log."`
}

// Help says what a story is for.
func (exportCommand) Help() string {
	return `Writes what was said in an intent as a story, which the test kits of the SDKs play against an agent: they say what the others said, in the same
order and after the same times, and name what the agent says otherwise than in the record. Only the operator sees everything.

  openintent export INTENT --story > story.jsonl`
}

// story is the first line: where the messages were sent, and who took part.
type story struct {
	Story    int            `json:"story"`
	Title    string         `json:"title"`
	BeganAt  time.Time      `json:"began_at"`
	Channels []storyChannel `json:"channels"`
	Agents   []storyAgent   `json:"agents"`
}

type storyChannel struct {
	Name         string   `json:"name"`
	MemberPolicy string   `json:"member_policy"`
	Members      []string `json:"members,omitempty"`
}

type storyAgent struct {
	ID   string `json:"id"`
	Role string `json:"role,omitempty"`
}

// storyLine is a message. Its id, and those of the messages that it answers or belongs under, are those of the record.
type storyLine struct {
	ID           string            `json:"id"`
	AfterSeconds float64           `json:"after_seconds"`
	Channel      string            `json:"channel"`
	Sender       string            `json:"sender"`
	To           string            `json:"to,omitempty"`
	MessageType  string            `json:"message_type"`
	Payload      map[string]any    `json:"payload"`
	Metadata     map[string]any    `json:"metadata,omitempty"`
	Answers      string            `json:"answers,omitempty"`
	Parent       string            `json:"parent,omitempty"`
	Subject      string            `json:"subject,omitempty"`
	Kind         string            `json:"kind,omitempty"`
	Priority     string            `json:"priority,omitempty"`
	Mentions     []string          `json:"mentions,omitempty"`
	Collect      any               `json:"collect,omitempty"`
	Blocks       string            `json:"blocks,omitempty"`
	Seconds      float64           `json:"seconds,omitempty"`
	Woken        []string          `json:"woken,omitempty"`
	Dispositions map[string]string `json:"dispositions,omitempty"`
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
	told, lines, err := readStory(ctx, client, intent)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(to.stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(told); err != nil {
		return err
	}
	for _, line := range lines {
		if err := encoder.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

// readStory reads all messages of an intent that are still there, but for those of the server itself.
func readStory(ctx context.Context, client *openintent.Client, intent *openintent.Intent) (*story, []storyLine, error) {
	channels, err := client.ListChannels(ctx, intent.ID)
	if err != nil {
		return nil, nil, err
	}
	told := &story{Story: storyVersion, Title: intent.Title, Channels: []storyChannel{}, Agents: []storyAgent{}}
	var all []*openintent.Message
	names := make(map[string]string)
	for _, channel := range channels {
		messages, err := everyMessage(ctx, client, channel.ID)
		if err != nil {
			return nil, nil, err
		}
		if len(messages) == 0 {
			continue
		}
		all, names[channel.ID] = append(all, messages...), channel.Name
		told.Channels = append(told.Channels, storyChannel{channel.Name, string(channel.MemberPolicy), channel.Members})
	}
	slices.SortFunc(all, func(a, b *openintent.Message) int { return a.CreatedAt.Compare(b.CreatedAt) })
	slices.SortFunc(told.Channels, func(a, b storyChannel) int { return cmp.Compare(a.Name, b.Name) })
	if len(all) > 0 {
		told.BeganAt = all[0].CreatedAt
	}
	took := make(map[string]struct{})
	lines := make([]storyLine, len(all))
	for i, message := range all {
		if lines[i], err = readLine(ctx, client, message, names[message.ChannelID], told.BeganAt); err != nil {
			return nil, nil, err
		}
		took[message.Sender] = struct{}{}
		for _, agent := range lines[i].Woken {
			took[agent] = struct{}{}
		}
		if message.To != "" && message.To != "*" && !strings.HasPrefix(message.To, "role:") {
			took[message.To] = struct{}{}
		}
	}
	told.Agents, err = storyAgents(ctx, client, slices.Sorted(maps.Keys(took)))
	return told, lines, err
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
		if len(messages) < page {
			return all, nil
		}
		after = messages[len(messages)-1].ID
	}
}

// readLine makes a line of a message, with what its recipients did with it.
func readLine(
	ctx context.Context, client *openintent.Client, message *openintent.Message, channel string, began time.Time,
) (storyLine, error) {
	line := storyLine{
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
func storyAgents(ctx context.Context, client *openintent.Client, ids []string) ([]storyAgent, error) {
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
	agents := make([]storyAgent, len(ids))
	for i, id := range ids {
		agents[i] = storyAgent{id, roles[id]}
	}
	return agents, err
}
