package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// threadCommand shows a thread.
type threadCommand struct {
	connection
	output
	messageArgument
}

const (
	// mostReacted is how many messages of a thread are shown with their reactions. Each of them costs a call.
	mostReacted = 200
	// deepest is how many levels of a thread are indented.
	deepest = 20
)

// Run prints the thread.
func (c *threadCommand) Run(ctx context.Context, to terminal) error {
	if err := c.check(); err != nil {
		return err
	}
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	channel, message, err := c.find(ctx, client)
	if err != nil {
		return err
	}
	shown := &thread{under: make(map[string][]*openintentv1.Message)}
	request := &openintentv1.GetThreadRequest{ChannelId: channel, MessageId: message}
	for {
		page, err := called(client.Raw().Messages.GetThread(ctx, request))
		if err != nil {
			return err
		}
		if c.JSON {
			err = lines(to, page)
		} else {
			shown.add(page)
		}
		if request.Cursor = page.NextCursor; err != nil || request.Cursor == nil {
			break
		}
	}
	if c.JSON {
		return err
	}
	return shown.print(ctx, client, to)
}

// thread is a tree of messages.
type thread struct {
	root  *openintentv1.Message
	known []*openintentv1.Message
	// under are the messages below each message, by its id; those whose parent is not known stand below "".
	under map[string][]*openintentv1.Message
}

func (t *thread) add(page *openintentv1.Thread) {
	if t.root == nil {
		t.root = page.GetRoot()
	}
	t.known = append(t.known, page.GetMessages()...)
}

// print prints the tree from its first message on. Messages whose parent is not visible stand beside that one.
func (t *thread) print(ctx context.Context, client *openintent.Client, to terminal) error {
	ids := make(map[string]bool)
	for _, m := range t.known {
		ids[m.GetId()] = true
	}
	roots := t.known[:0:0]
	if t.root != nil {
		ids[t.root.GetId()] = true
		roots = append(roots, t.root)
	}
	for _, m := range t.known {
		parent := m.GetParentId()
		if parent == "" {
			parent = m.GetCorrelationId() // a response belongs under its request
		}
		if ids[parent] {
			t.under[parent] = append(t.under[parent], m)
		} else {
			roots = append(roots, m)
		}
	}
	printed := 0
	for _, m := range roots {
		if err := t.printBelow(ctx, client, to, m, 0, &printed); err != nil {
			return err
		}
	}
	if printed > mostReacted {
		to.note("the reactions to the last %d messages are left out", printed-mostReacted)
	}
	return nil
}

func (t *thread) printBelow(
	ctx context.Context, client *openintent.Client, to terminal, m *openintentv1.Message, depth int, printed *int,
) error {
	indent := strings.Repeat("  ", min(depth, deepest))
	text := []string{indent + escaped(headline(m))}
	if said := textOf(m); said != "" {
		text = append(text, indent+"  "+oneLine(said))
	}
	if *printed++; *printed <= mostReacted {
		reactions, err := client.ListReactions(ctx, m.GetChannelId(), m.GetId())
		if err != nil {
			return err
		}
		for _, r := range reactions {
			text = append(text, indent+"  "+oneLine(reacted(r)))
		}
	}
	if claim := claimOn(ctx, client, m, depth); claim != "" {
		text = append(text, indent+"  "+oneLine(claim))
	}
	if _, err := io.WriteString(to.stdout, strings.Join(text, "\n")+"\n"); err != nil {
		return err
	}
	for _, below := range t.under[m.GetId()] {
		if err := t.printBelow(ctx, client, to, below, depth+1, printed); err != nil {
			return err
		}
	}
	return nil
}

// headline gives the time, the sender, the recipient and the subject.
func headline(m *openintentv1.Message) string {
	line := fmt.Sprintf("%s  %s to %s, %s", clock(m.GetCreatedAt()), sender(m), recipient(m), word(m.GetMessageType()))
	if m.GetKind() != "" {
		line += " (" + m.GetKind() + ")"
	}
	if m.GetSubject() != "" {
		line += ": " + m.GetSubject()
	}
	if m.GetEditedAt() != nil {
		line += " [edited]"
	}
	return line
}

// textOf returns what people read of a message.
func textOf(m *openintentv1.Message) string {
	if m.GetDeletedAt() != nil {
		return "[deleted]"
	}
	for _, name := range []string{"text", "content", "question"} {
		if text := m.GetPayload().GetFields()[name].GetStringValue(); text != "" {
			return text
		}
	}
	return inline(m.GetPayload())
}

func reacted(r openintent.Reaction) string {
	line := fmt.Sprintf("* %s: %s", r.AgentID, r.Signal)
	if r.Note != "" {
		line += ", " + r.Note
	}
	if r.ETA != "" {
		line += " (" + r.ETA + ")"
	}
	return line
}

// claimOn says who works on a request or on the thread, as far as the caller is told.
func claimOn(ctx context.Context, client *openintent.Client, m *openintentv1.Message, depth int) string {
	if depth > 0 && m.GetMessageType() != openintentv1.MessageType_MESSAGE_TYPE_REQUEST {
		return ""
	}
	explained, err := client.GetAttention(ctx, m.GetChannelId(), m.GetId(), "")
	if err != nil || explained.Attention == nil || explained.Attention.Claim == nil {
		return ""
	}
	return "* claimed by " + explained.Attention.Claim.Holder
}
