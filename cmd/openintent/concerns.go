package main

import (
	"context"
	"fmt"
	"strings"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// concernsCommand shows what needs somebody.
type concernsCommand struct {
	connection
	output
	Kind   string `enum:"question,obligation,unanswered,unreachable,dead_letters,webhook,brake,holder_lost," default:"" placeholder:"KIND" help:"Only these: question, obligation, unanswered, unreachable, dead_letters, webhook, brake or holder_lost."`
	Intent string `complete:"intents" placeholder:"ID" help:"Only those of this intent."`
	About  string `complete:"agents" placeholder:"AGENT" help:"Only those that name this agent."`
	Limit  int    `default:"100" placeholder:"N" help:"At most this many, the oldest; 0 for all (100)."`
}

// concernsAtOnce is how many concerns the server gives in one call.
const concernsAtOnce = 100

// Help returns the text that describes the command.
func (concernsCommand) Help() string {
	return `Shows what needs this agent, the oldest first: questions that wait for it, its requests that nobody takes up, agents that cannot hear of
them, its subscriptions that fail. An administrator of an intent also sees what the intent needs, and the operator sees everything. Below each stands what it is about, as other
commands take it, and what this agent may do.

  openintent concerns --kind question
  openintent concerns --intent ID --about data-agent`
}

// Run prints them.
func (c *concernsCommand) Run(ctx context.Context, to terminal) error {
	if c.Limit < 0 {
		return usagef("--limit must be zero or above")
	}
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	found, more, err := c.find(ctx, client)
	if err != nil {
		return err
	}
	if c.JSON {
		err = lines(to, found...)
	} else {
		err = printConcerns(to, found)
	}
	switch {
	case err != nil:
	case more:
		to.note("there may be more; --limit 0 shows all")
	case len(found) == 0 && !c.JSON:
		to.note("nothing needs %s", client.AgentID())
	}
	return err
}

// printConcerns prints two lines of each: what it is, and below that what it is about and what this agent may do. A table would have to cut the
// sentence, which is what a person reads first.
func printConcerns(to terminal, found []*openintentv1.Concern) error {
	width := 0
	for _, one := range found {
		width = max(width, len(word(one.GetKind())))
	}
	for _, one := range found {
		kind := word(one.GetKind())
		below := strings.Repeat(" ", width+2) + subjectOf(one)
		if may := wordsOfActions(one); len(may) > 0 {
			below += "  " + strings.Join(may, ", ")
		}
		if to.colours() {
			kind = bold(kind)
		}
		kind += strings.Repeat(" ", width-len(word(one.GetKind()))+2)
		_, err := fmt.Fprintf(to.stdout, "%s%s  %s\n%s\n", kind, clock(one.GetSince()), escaped(one.GetSummary()), escaped(below))
		if err != nil {
			return err
		}
	}
	return nil
}

// find reads page by page, as many concerns as are wanted. more tells whether there may be others.
func (c *concernsCommand) find(ctx context.Context, client *openintent.Client) (found []*openintentv1.Concern, more bool, err error) {
	request := &openintentv1.ListConcernsRequest{IntentId: present(c.Intent), AgentId: present(c.About)}
	if c.Kind != "" {
		request.Kind = openintentv1.ConcernKind(openintentv1.ConcernKind_value["CONCERN_KIND_"+strings.ToUpper(c.Kind)])
	}
	for {
		size := int32(concernsAtOnce)
		if c.Limit > 0 {
			size = int32(min(c.Limit-len(found), concernsAtOnce))
		}
		request.Limit = &size
		page, err := called(client.Raw().Concerns.ListConcerns(ctx, request))
		if err != nil {
			return nil, false, err
		}
		found = append(found, page.GetConcerns()...)
		if request.Cursor = page.NextCursor; request.Cursor == nil || c.Limit > 0 && len(found) >= c.Limit {
			return found, request.Cursor != nil, nil
		}
	}
}

// subjectOf returns by which reference other commands find what a concern is about. A task has no commands; its id is for the API.
func subjectOf(one *openintentv1.Concern) string {
	switch {
	case one.MessageId != nil:
		return reference(one.GetChannelId(), one.GetMessageId())
	case one.SubscriptionId != nil:
		return one.GetSubscriptionId()
	case one.TaskId != nil:
		return one.GetTaskId()
	case one.ChannelId != nil:
		return one.GetChannelId()
	}
	return one.GetIntentId()
}

func wordsOfActions(one *openintentv1.Concern) (words []string) {
	for _, action := range one.GetActions() {
		words = append(words, word(action))
	}
	return words
}
