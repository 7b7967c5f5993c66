package main

import (
	"context"
	"errors"
	"strconv"
	"strings"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// intentsCommand holds the verbs that work on intents.
type intentsCommand struct {
	List   intentListCommand   `cmd:"" default:"withargs" help:"List the intents that the caller may read."`
	Open   intentOpenCommand   `cmd:"" help:"Find the intent of a title, or make it, and print its id."`
	Create intentCreateCommand `cmd:"" help:"Create an intent and print its id."`
	Show   intentShowCommand   `cmd:"" help:"Show an intent."`
	Status intentStatusCommand `cmd:"" help:"Change an intent's status."`
	Grant  intentGrantCommand  `cmd:"" help:"Let agents into an intent that is closed to them."`
}

// intentListCommand lists intents.
type intentListCommand struct {
	connection
	listing
	Status string `enum:",draft,active,blocked,completed,abandoned,suspended_awaiting_input" default:"" placeholder:"STATUS" help:"Only intents with this status: draft, active, blocked, completed, abandoned or suspended_awaiting_input."`
	Limit  int    `default:"50" placeholder:"N" help:"At most this many (50)."`
	Newest bool   `help:"The newest first."`
}

// Run prints a table.
func (c *intentListCommand) Run(ctx context.Context, to terminal) error {
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	limit := int32(min(c.Limit, largestPage))
	request := &openintentv1.ListIntentsRequest{Limit: &limit}
	if c.Status != "" {
		request.Status = intentStatus(c.Status).Enum()
	}
	if c.Newest {
		request.Order = new("desc")
	}
	listed, err := called(client.Raw().Intents.ListIntents(ctx, request))
	if err != nil {
		return err
	}
	printed := newTable("INTENT", "STATUS", "CREATED BY", "CREATED", "TITLE")
	return listOf(c.listing, to, printed, listed.GetIntents(), func(i *openintentv1.Intent) []string {
		return []string{i.GetId(), word(i.GetStatus()), i.GetCreatedBy(), clock(i.GetCreatedAt()), i.GetTitle()}
	})
}

func intentStatus(word string) openintentv1.IntentStatus {
	return openintentv1.IntentStatus(number(openintentv1.IntentStatus_value, "INTENT_STATUS_", word))
}

// intentOpenCommand finds an intent by its title, or makes it.
type intentOpenCommand struct {
	connection
	output
	Title       string `arg:"" help:"What the agents work on, in exactly these characters."`
	Description string `placeholder:"TEXT" help:"More about it, if the intent is made."`
}

// Run prints the intent's id.
func (c *intentOpenCommand) Run(ctx context.Context, to terminal) error {
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	opened, err := called(client.Raw().Intents.OpenIntent(ctx, &openintentv1.OpenIntentRequest{
		Title: c.Title, Description: present(c.Description),
	}))
	if err != nil {
		return err
	}
	if c.JSON {
		return lines(to, opened.GetIntent())
	}
	return printLine(to, opened.GetIntent().GetId())
}

// intentCreateCommand creates an intent.
type intentCreateCommand struct {
	connection
	output
	Title       string `arg:"" help:"What the agents work on."`
	Description string `placeholder:"TEXT" help:"More about it."`
	Parent      string `complete:"intents" placeholder:"ID" help:"The intent that this one is a part of."`
	Status      string `enum:",draft,active,blocked,suspended_awaiting_input" default:"" placeholder:"STATUS" help:"Its first status: draft, active, blocked or suspended_awaiting_input (draft)."`

	DefaultPolicy string `enum:",open,closed" default:"" placeholder:"POLICY" help:"Give the intent an access list: open (everybody may read) or closed (only the creator, until others are let in)."`
}

// Run prints the new intent's id.
func (c *intentCreateCommand) Run(ctx context.Context, to terminal) error {
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	request := &openintentv1.CreateIntentRequest{
		Title: c.Title, Description: present(c.Description), ParentIntentId: present(c.Parent),
	}
	if c.Status != "" {
		request.Status = intentStatus(c.Status).Enum()
	}
	if c.DefaultPolicy != "" {
		policy := number(openintentv1.AccessPolicy_value, "ACCESS_POLICY_", c.DefaultPolicy)
		request.DefaultPolicy = openintentv1.AccessPolicy(policy).Enum()
	}
	created, err := called(client.Raw().Intents.CreateIntent(ctx, request))
	if err != nil {
		return err
	}
	if c.JSON {
		return lines(to, created)
	}
	return printLine(to, created.GetId())
}

// intentShowCommand shows an intent.
type intentShowCommand struct {
	connection
	output
	ID string `complete:"intents" arg:"" name:"intent" help:"The intent's id."`
}

// Run prints its fields.
func (c *intentShowCommand) Run(ctx context.Context, to terminal) error {
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	intent, err := called(client.Raw().Intents.GetIntent(ctx, &openintentv1.GetIntentRequest{IntentId: c.ID}))
	if err != nil {
		return err
	}
	return show(c.output, to, intent, intentFields)
}

// intentStatusCommand changes an intent's status.
type intentStatusCommand struct {
	connection
	output
	ID     string `complete:"intents" arg:"" name:"intent" help:"The intent's id."`
	Status string `arg:"" enum:"active,blocked,completed,abandoned,suspended_awaiting_input" help:"The new status: active, blocked, completed, abandoned or suspended_awaiting_input."`
	Reason string `placeholder:"TEXT" help:"Why, for the event log."`
}

// Run changes the status, whatever version the intent has now.
func (c *intentStatusCommand) Run(ctx context.Context, to terminal) error {
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	changed, err := c.change(ctx, client)
	if err != nil {
		return err
	}
	return show(c.output, to, changed, intentFields)
}

// attempts is how often a change is tried when other changes come in between.
const attempts = 5

func (c *intentStatusCommand) change(
	ctx context.Context, client *openintent.Client,
) (changed *openintentv1.Intent, err error) {
	var intent *openintentv1.Intent
	for range attempts {
		intent, err = called(client.Raw().Intents.GetIntent(ctx, &openintentv1.GetIntentRequest{IntentId: c.ID}))
		if err != nil {
			return nil, err
		}
		changed, err = called(client.Raw().Intents.SetIntentStatus(ctx, &openintentv1.SetIntentStatusRequest{
			IntentId: c.ID, ExpectedVersion: &intent.Version, Status: intentStatus(c.Status), Reason: present(c.Reason),
		}))
		if !errors.Is(err, openintent.ErrAborted) {
			return changed, err
		}
	}
	return nil, err
}

func intentFields(i *openintentv1.Intent) (shown fields) {
	shown.add("intent", i.GetId())
	shown.add("title", i.GetTitle())
	shown.add("description", i.GetDescription())
	shown.add("status", word(i.GetStatus()))
	shown.add("version", strconv.FormatInt(i.GetVersion(), 10))
	shown.add("part of", i.GetParentIntentId())
	shown.add("depends on", strings.Join(i.GetDependsOn(), ", "))
	shown.add("state", inline(i.GetState()))
	shown.add("constraints", inline(i.GetConstraints()))
	shown.add("created", clock(i.GetCreatedAt())+" by "+i.GetCreatedBy())
	shown.add("changed", clock(i.GetUpdatedAt()))
	return shown
}
