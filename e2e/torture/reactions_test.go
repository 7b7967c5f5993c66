package torture

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// reactionEvent is the type of an annotation that tells of a reaction.
	reactionEvent = "message_reaction"
	// recentSends bounds the sends among which an agent looks for one to react to.
	recentSends = 200
	// reactionRemoved is what an annotation says if a signal was taken away.
	reactionRemoved = "removed"
)

// startReacting lets some senders react to messages, each by a program of its own.
func (w *world) startReacting(ctx context.Context) {
	if w.plain {
		return
	}
	for _, name := range senderNames()[:3] {
		w.startSender(ctx, w.client(name, "reacting of "+name), (*client).react, 150*time.Millisecond)
	}
}

// react adds a signal to a recent message, and sometimes takes it away again. Sometimes the agent may not see the message.
func (c *client) react(ctx context.Context, number int) {
	to := c.recentSend()
	if to == nil {
		return
	}
	added := &Reaction{To: to, Note: Note{
		MessageID: to.ID, Channel: to.Channel, Agent: c.agent, Signal: fmt.Sprintf("x-%s-%d", c.agent, number),
	}}
	attempts := c.tell(ctx, added, func(ctx context.Context, as *harness.Caller) (*openintentv1.ListReactionsResponse, error) {
		return as.Reactions.AddReaction(ctx, &openintentv1.AddReactionRequest{
			ChannelId: to.Channel, MessageId: to.ID, Signal: added.Signal, Note: proto.String("torture"),
		})
	})
	if !added.Acknowledged || attempts > 1 || !c.once(2) {
		return // after several attempts, an earlier one might add the signal once more
	}
	taken := &Reaction{To: to, Note: added.Note}
	taken.Removed = true
	c.tell(ctx, taken, func(ctx context.Context, as *harness.Caller) (*openintentv1.ListReactionsResponse, error) {
		return as.Reactions.RemoveReaction(ctx, &openintentv1.RemoveReactionRequest{
			ChannelId: to.Channel, MessageId: to.ID, Signal: added.Signal,
		})
	})
}

// recentSend returns one of the last sends if it was acknowledged, or nil.
func (c *client) recentSend() (found *Send) {
	c.change(func(h *History) {
		recent := h.Sends[max(0, len(h.Sends)-recentSends):]
		if len(recent) == 0 {
			return
		}
		if send := recent[c.random.IntN(len(recent))]; send.Acknowledged && send.Kind != LoggedEvent {
			found = send
		}
	})
	return found
}

// tell makes a call that changes a reaction, and records its outcome. Some calls are made only once, so that their outcomes may
// stay unknown.
func (c *client) tell(
	ctx context.Context, reaction *Reaction,
	call func(ctx context.Context, as *harness.Caller) (*openintentv1.ListReactionsResponse, error),
) (attempts int) {
	c.change(func(h *History) {
		reaction.Span.Begun = c.next()
		h.Reactions = append(h.Reactions, reaction)
	})
	var err error
	if c.once(4) {
		attempt, cancel := context.WithTimeout(ctx, attemptTime)
		defer cancel()
		attempts = 1
		_, err = call(attempt, c.caller())
	} else {
		_, attempts, err = insist(ctx, c, attemptTime, call)
	}
	refused := err != nil && !transient(err)
	visible := false // the rights of those who react never change
	c.change(func(h *History) {
		reaction.Acknowledged, reaction.Refused = err == nil, refused && attempts == 1
		reaction.Span.Ended = c.next()
		visible = throughout(newRights(h).periods(c.agent, reaction.To, false, true), 0, forever)
	})
	switch {
	case refused && visible:
		c.problem("%s's reaction was refused: %v", c.agent, err)
	case err == nil && !visible:
		c.problem("%s reacted to %q, which it may not see", c.agent, reaction.To.Content)
	}
	return attempts
}

// takeAnnotation records an annotation. The stream's cursor is the annotation's position.
func (f *following) takeAnnotation(connection *Connection, cursor int64, a *openintentv1.Annotation) {
	if a.GetType() != reactionEvent || a.GetPosition() != cursor {
		f.problem("%s received the annotation %v at %d", f.receiver.Name, a, cursor)
	}
	f.annotate(f.receiver, connection, Annotation{
		Note: Note{
			MessageID: a.GetMessageId(), Channel: a.GetChannelId(), Agent: a.GetAgentId(), Signal: a.GetSignal(),
			Removed: a.GetChange() == reactionRemoved,
		},
		Position: a.GetPosition(), Stored: a.GetCreatedAt().AsTime().UnixMicro(),
	})
}

// annotation reads the annotation of an event.
func (e sentEvent) annotation() (*openintentv1.Annotation, error) {
	var data struct {
		Position       int64
		MessageID      string `json:"message_id"`
		ChannelID      string `json:"channel_id"`
		AgentID        string `json:"agent_id"`
		Change, Signal string
		CreatedAt      time.Time `json:"created_at"`
	}
	if err := json.Unmarshal([]byte(e.data), &data); err != nil {
		return nil, fmt.Errorf("the annotation %q is not what was expected: %w", e.data, err)
	}
	return &openintentv1.Annotation{
		Type: e.name, Position: data.Position, MessageId: data.MessageID, ChannelId: data.ChannelID, AgentId: data.AgentID,
		Change: &data.Change, Signal: &data.Signal, CreatedAt: timestamp(data.CreatedAt),
	}, nil
}
