package openintent

import (
	"context"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
)

// Edit is the new content of a message. What is nil stays as it is.
type Edit struct {
	// Payload is a map, or any value that encoding/json writes as an object.
	Payload any
	// Metadata replaces all facts about the message.
	Metadata map[string]any
	// Subject is one line of at most 200 characters; the empty one takes the subject away.
	Subject *string
	// Mentions are agents and "role:" names, at most 50; an empty list mentions nobody. When it is nil, the server looks for names in a
	// new payload, unless the sender gave mentions before.
	Mentions []string
	// Supersede edits a request that has an answer already; the answer stands.
	Supersede bool
}

// Revision is what the content of a message was from one edit to the next.
type Revision struct {
	// Number counts from 1.
	Number    int
	Payload   map[string]any
	Metadata  map[string]any
	Subject   string
	Mentions  []string
	CreatedAt time.Time
}

// EditMessage gives a message that the client's agent has sent new content. Its revision rises, and everybody who reads from then on
// gets the new content. An edit that changes nothing makes no revision. The edit of a request that has an answer returns ErrAnswered,
// unless it supersedes.
func (c *Client) EditMessage(ctx context.Context, channelID, messageID string, edit Edit) (*Message, error) {
	payload, metadata, err := encodeBoth(edit.Payload, edit.Metadata)
	if err != nil {
		return nil, err
	}
	request := &openintentv1.UpdateMessageRequest{
		ChannelId: channelID, MessageId: messageID, Subject: edit.Subject, Mentions: mentionsOf(edit.Mentions), Supersede: edit.Supersede,
	}
	if edit.Payload != nil {
		request.Payload = payload
	}
	if edit.Metadata != nil {
		request.Metadata = metadata
	}
	edited, err := repeated(ctx, c, func(ctx context.Context) (*openintentv1.Message, error) {
		return c.raw.Messages.UpdateMessage(ctx, request)
	})
	if err != nil {
		return nil, err
	}
	return c.message(edited), nil
}

// DeleteMessage deletes the content of a message, its subject, its mentions and all revisions. Its place stays, with DeletedAt. Its
// sender may do so, and a manager of the channel who can see it. A request expires with it. Deleting it again changes nothing.
func (c *Client) DeleteMessage(ctx context.Context, channelID, messageID string) (*Message, error) {
	deleted, err := repeated(ctx, c, func(ctx context.Context) (*openintentv1.Message, error) {
		return c.raw.Messages.DeleteMessage(ctx, &openintentv1.DeleteMessageRequest{ChannelId: channelID, MessageId: messageID})
	})
	if err != nil {
		return nil, err
	}
	return c.message(deleted), nil
}

// ListRevisions returns what the content of a message was and is, oldest first: one revision of a message that was never edited, and
// none of a deleted one.
func (c *Client) ListRevisions(ctx context.Context, channelID, messageID string) ([]Revision, error) {
	listed, err := repeated(ctx, c, func(ctx context.Context) ([]*openintentv1.MessageRevision, error) {
		return EveryPage(ctx, func(ctx context.Context, cursor *string) ([]*openintentv1.MessageRevision, *string, error) {
			page, err := c.raw.Messages.ListRevisions(ctx, &openintentv1.ListRevisionsRequest{
				ChannelId: channelID, MessageId: messageID, Cursor: cursor,
			})
			if err != nil {
				return nil, nil, err
			}
			return page.GetRevisions(), page.NextCursor, nil
		})
	})
	if err != nil {
		return nil, err
	}
	revisions := make([]Revision, len(listed))
	for i, r := range listed {
		revisions[i] = Revision{
			Number: int(r.GetRevision()), Payload: r.GetPayload().AsMap(), Metadata: r.GetMetadata().AsMap(),
			Subject: r.GetSubject(), Mentions: r.GetMentions(), CreatedAt: timeOf(r.GetCreatedAt()),
		}
	}
	return revisions, nil
}

// Edit gives the message new content, as Client.EditMessage does.
func (m *Message) Edit(ctx context.Context, edit Edit) (*Message, error) {
	return m.client.EditMessage(ctx, m.ChannelID, m.ID, edit)
}

// Delete deletes the content of the message, as Client.DeleteMessage does.
func (m *Message) Delete(ctx context.Context) (*Message, error) {
	return m.client.DeleteMessage(ctx, m.ChannelID, m.ID)
}

// Revisions returns what the content of the message was and is.
func (m *Message) Revisions(ctx context.Context) ([]Revision, error) {
	return m.client.ListRevisions(ctx, m.ChannelID, m.ID)
}
