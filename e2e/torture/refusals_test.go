package torture

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// startRefusing lets rude send to bert, who refuses it now and then.
func (w *world) startRefusing(ctx context.Context) {
	if w.plain {
		return
	}
	now := w.now()
	w.change(func(h *History) {
		h.Rights = append(h.Rights, Right{Agent: rude, Kind: Welcome, Of: bert, Granted: Span{now, now}})
	})
	w.startSender(ctx, w.client(rude, "sending of "+rude), (*client).sendToBert, 100*time.Millisecond)
	w.senders.Go(func() { w.client(bert, "refusing of "+bert).refuse(ctx) })
}

// sendToBert sends a message to bert, and repeats that until its outcome is known. Now and then it sends it only once.
func (c *client) sendToBert(ctx context.Context, number int) {
	at := c.place()
	for at.name == "explicit" {
		at = c.place()
	}
	send := &Send{
		Sender: c.agent, Intent: at.intent, Channel: at.id, To: bert, Kind: Notify, Content: fmt.Sprintf("%s's message %d", c.agent, number),
	}
	c.begin(send)
	message, attempts, err := insist(ctx, c, attemptTime, func(ctx context.Context, as *harness.Caller) (*openintentv1.Message, error) {
		return as.Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{
			ChannelId: at.id, To: &send.To, MessageType: wireKinds[send.Kind].Enum(), Payload: payloadOf(send.Content), IdempotencyKey: &send.Content,
		})
	})
	c.came(send, message, attempts, err)
}

// refuse repeatedly refuses rude and allows it again. At the end it is allowed.
func (c *client) refuse(ctx context.Context) {
	welcome := Right{Agent: rude, Kind: Welcome, Of: c.agent}
	for refused := false; refused || !c.stopped(); refused = !refused {
		c.rest(ctx, time.Second, 3*time.Second) // longer than a call may run unnoticed
		c.changeRight(ctx, welcome, func(ctx context.Context, as *harness.Caller) (proto.Message, error) {
			if refused {
				return as.Agents.AllowSender(ctx, &openintentv1.AllowSenderRequest{AgentId: c.agent, Sender: rude})
			}
			return as.Agents.RefuseSender(ctx, &openintentv1.RefuseSenderRequest{AgentId: c.agent, Sender: rude})
		})
	}
}
