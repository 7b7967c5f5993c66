package openintent

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// anyChannel stands for the channel that a message is in.
	anyChannel = "-"
	// answerMark is the metadata member that marks an answer to a message that is no request; its value is that message's id.
	answerMark = "openintent_answer"
	// answersPage is how many messages are looked at with one call.
	answersPage = 1000
)

// Answered says which answer stands.
type Answered struct {
	// Stored is whether the call stored it.
	Stored bool
	// Message is the answer that stands; nil if a no stands.
	Message *Message
	// Declined says that a no stands, and Note what was said beside it.
	Declined bool
	Note     string
}

// Answer answers a message: a request by a reply, any other by a message below it to its sender. An agent answers a message once: a second
// answer, whatever it says and however much later, is not stored, and the first one is returned.
func (m *Mailbox) Answer(ctx context.Context, id string, payload any) (*Answered, error) {
	message, free, err := m.oneAtATime(ctx, id)
	if err != nil {
		return nil, err
	}
	defer free()
	standing, err := m.standing(ctx, message)
	if err != nil || standing != nil {
		return answeredBefore(standing), err
	}
	// The key is made of the message alone. The server forgets keys after a day, so the answers that are there were looked at first.
	stored, err := m.store(ctx, message, payload, "mailbox-answer-"+id)
	if errors.Is(err, ErrAnswered) || errors.Is(err, ErrAlreadyExists) && !errors.Is(err, ErrClaimed) {
		if standing, looking := m.standing(ctx, message); looking != nil || standing != nil {
			return answeredBefore(standing), looking
		}
	}
	if err != nil {
		return nil, err
	}
	if claim := m.forgetClaim(id); claim != nil && needsClaim(message) {
		claim.letGo() // the answer has ended it
	} else if claim != nil {
		_ = claim.Release(ctx) // if the server cannot be told, it expires
	}
	return &Answered{Stored: true, Message: stored}, nil
}

func answeredBefore(standing *Message) *Answered {
	if standing == nil {
		return nil
	}
	return &Answered{Message: standing}
}

// store stores an answer under its key.
func (m *Mailbox) store(ctx context.Context, message *Message, payload any, key string) (*Message, error) {
	if message.MessageType != Request {
		return m.client.SendMessage(ctx, message.ChannelID, Draft{
			To: message.Sender, Payload: payload, IdempotencyKey: key, Metadata: map[string]any{answerMark: message.ID},
			Conversation: Conversation{ParentID: message.ID},
		})
	}
	reply := Reply{Payload: payload, IdempotencyKey: key}
	if !needsClaim(message) {
		return m.client.ReplyTo(ctx, message.ChannelID, message.ID, reply)
	}
	claim, err := m.claim(ctx, message, 0)
	if err != nil {
		return nil, err
	}
	reply.Fence = claim.Fence
	stored, err := m.client.ReplyTo(ctx, message.ChannelID, message.ID, reply)
	if err == nil {
		claim.answered.Store(true)
	}
	return stored, err
}

// standing returns the agent's first answer to a message; nil without one.
func (m *Mailbox) standing(ctx context.Context, message *Message) (*Message, error) {
	limit := int32(answersPage)
	request := &openintentv1.ListMessagesRequest{ChannelId: message.ChannelID, Since: &message.ID, Limit: &limit}
	asks := message.MessageType == Request
	switch {
	case asks:
		request.CorrelationId = &message.ID
	case message.ThreadID != "":
		request.ThreadId = &message.ThreadID
	default:
		request.ThreadId = &message.ID
	}
	for {
		page, err := repeated(ctx, m.client, func(ctx context.Context) (*openintentv1.ListMessagesResponse, error) {
			return m.client.raw.Messages.ListMessages(ctx, request)
		})
		if err != nil {
			return nil, err
		}
		listed := page.GetMessages()
		for _, wire := range listed {
			if found := m.client.message(wire); found.Sender == m.agent && (asks || found.Metadata[answerMark] == message.ID) {
				return found, nil
			}
		}
		if len(listed) == 0 && !page.GetBounded() { // a page may end early, because its texts are long
			return nil, nil
		}
		request.Since = page.NextSince
	}
}

// Decline says no to a message, with a note of at most 200 characters. The first no stands, and so does an answer.
func (m *Mailbox) Decline(ctx context.Context, id, note string) (*Answered, error) {
	message, free, err := m.oneAtATime(ctx, id)
	if err != nil {
		return nil, err
	}
	defer free()
	standing, err := m.standing(ctx, message)
	if err != nil || standing != nil {
		return answeredBefore(standing), err
	}
	reactions, err := m.client.ListReactions(ctx, message.ChannelID, id)
	if err != nil {
		return nil, err
	}
	for _, reaction := range reactions {
		if reaction.AgentID == m.agent && reaction.Signal == "declined" {
			return &Answered{Declined: true, Note: reaction.Note}, nil
		}
	}
	if _, err := m.client.React(ctx, message.ChannelID, id, "declined", ReactionOptions{Note: note}); err != nil {
		return nil, err
	}
	if claim := m.forgetClaim(id); claim != nil {
		err = claim.Release(ctx)
	}
	return &Answered{Stored: true, Declined: true, Note: note}, err
}

// oneAtATime reads a message, and lets one call at a time answer or decline.
func (m *Mailbox) oneAtATime(ctx context.Context, id string) (message *Message, free func(), err error) {
	if message, err = m.message(ctx, id); err != nil {
		return nil, nil, err
	}
	select {
	case m.answers <- struct{}{}:
		return message, func() { <-m.answers }, nil
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

// Claim claims a message, so that others leave it to this agent. The claim is renewed until the agent answers or declines, or the mailbox closes;
// ttl is how long it outlives a program that cannot renew it, DefaultClaimTTL when it is 0. It returns ErrClaimed if somebody else holds the
// message.
func (m *Mailbox) Claim(ctx context.Context, id string, ttl time.Duration) (*Claim, error) {
	message, err := m.message(ctx, id)
	if err != nil {
		return nil, err
	}
	return m.claim(ctx, message, ttl)
}

// claim returns the claim that is held on a message, or takes one. Its key lets a process that begins again after a crash go on with the claim
// that it had.
func (m *Mailbox) claim(ctx context.Context, message *Message, ttl time.Duration) (*Claim, error) {
	m.mutex.Lock()
	held := m.claims[message.ID]
	m.mutex.Unlock()
	if held != nil && held.Context().Err() == nil {
		return held, nil
	}
	claim, err := m.client.Claim(ctx, message.ChannelID, message.ID, ClaimOptions{TTL: ttl, IdempotencyKey: "mailbox-claim-" + message.ID})
	if err != nil {
		return nil, err
	}
	m.mutex.Lock()
	m.claims[message.ID] = claim
	m.mutex.Unlock()
	return claim, nil
}

// forgetClaim forgets the claim on a message and returns it; nil without one.
func (m *Mailbox) forgetClaim(id string) *Claim {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	claim := m.claims[id]
	delete(m.claims, id)
	return claim
}

// Defer tells the sender of a message that the agent will do it later. It does not bring the message again.
func (m *Mailbox) Defer(ctx context.Context, id, reason string, until time.Time) error {
	message, err := m.message(ctx, id)
	if err != nil {
		return err
	}
	_, err = m.client.SetDisposition(ctx, message.ChannelID, id, DispositionDeferred, DispositionOptions{Reason: reason, Until: until})
	return err
}

// React sets a signal on a message, as Client.React does.
func (m *Mailbox) React(ctx context.Context, id, signal string, options ReactionOptions) ([]Reaction, error) {
	message, err := m.message(ctx, id)
	if err != nil {
		return nil, err
	}
	return m.client.React(ctx, message.ChannelID, id, signal, options)
}

// Send sends a message on a channel, which is named by its id, or by its name if messages came from it or it is in the client's intent. With an
// IdempotencyKey in the draft it is stored once for a day.
func (m *Mailbox) Send(ctx context.Context, channel string, draft Draft) (*Message, error) {
	id, err := m.channelID(ctx, channel)
	if err != nil {
		return nil, err
	}
	if draft.MessageType == "" && draft.To == "" {
		draft.MessageType = Broadcast
	}
	return m.client.SendMessage(ctx, id, draft)
}

// Ask asks an agent or a role, and returns the first response, as Client.Ask does. The response does not come into the mailbox, too.
func (m *Mailbox) Ask(ctx context.Context, channel string, question Question) (*Message, error) {
	id, err := m.channelID(ctx, channel)
	if err != nil {
		return nil, err
	}
	response, err := m.client.Ask(ctx, id, question)
	if err == nil {
		m.mutex.Lock()
		m.mail.finish(response.ID)
		m.mutex.Unlock()
	}
	return response, err
}

// Read returns a message as a model is shown it, from its beginning, or from the cursor of an earlier part on.
func (m *Mailbox) Read(ctx context.Context, id, cursor string) (string, error) {
	start, err := strconv.Atoi(cursor)
	if cursor != "" && (err != nil || start < 0) {
		return "", badField("cursor", "must be the number that an earlier part of this message named")
	}
	message, err := m.message(ctx, id)
	if err != nil {
		return "", err
	}
	return fittedPart(message, start, m.options.MaxChars), nil
}

// message returns a message that the mailbox holds or reads.
func (m *Mailbox) message(ctx context.Context, id string) (*Message, error) {
	m.mutex.Lock()
	if l := m.mail.letters[id]; l != nil && time.Since(l.read) <= fresh {
		defer m.mutex.Unlock()
		return l.message, nil
	}
	m.mutex.Unlock()
	message, err := m.client.GetMessage(ctx, anyChannel, id)
	if err == nil && !message.DeletedAt.IsZero() {
		return nil, &Error{Code: "FAILED_PRECONDITION", Reason: "MESSAGE_DELETED", Message: fmt.Sprintf("The message %s was deleted.", id)}
	}
	return message, err
}

// channelID returns the id of a channel that is named by its id or its name.
func (m *Mailbox) channelID(ctx context.Context, channel string) (string, error) {
	if strings.HasPrefix(channel, "chan_") {
		return channel, nil
	}
	m.mutex.Lock()
	id := m.channels[channel]
	m.mutex.Unlock()
	if id != "" {
		return id, nil
	}
	if m.client.IntentID() != "" {
		open, err := m.client.ListChannels(ctx, "")
		if err != nil {
			return "", err
		}
		for _, one := range open {
			if one.Name == channel && one.ClosedAt.IsZero() {
				return one.ID, nil
			}
		}
	}
	return "", badField("channel", fmt.Sprintf("%q names no channel that is known here; give a channel's id", channel))
}
