package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
)

// These are the rows that are not calls.
const (
	rowDelivery  = "delivery to the stream of an agent in all intents"
	rowWork      = "that delivery, the server's processor time"
	rowFilling   = "filling 200 intents, a message"
	rowRetention = "send, alone and while retention removes a tenth"
	rowIdle      = "idleness, processor time of a second"
)

// A few calls of each kind are made before those that count.
const (
	warmCalls       = 3
	grownCalls      = 21
	grownSends      = 300
	grownDeliveries = 200
	fillingMessages = 40_000
)

// grownCall is a call that is measured.
type grownCall struct {
	name string
	call func(context.Context) error
	// times is how often it is measured.
	times int
}

// measure returns the call's median.
func (c grownCall) measure(ctx context.Context) (time.Duration, error) {
	var took []time.Duration
	for n := range warmCalls + c.times {
		began := time.Now()
		if err := c.call(ctx); err != nil {
			return 0, err
		}
		if n >= warmCalls {
			took = append(took, time.Since(began))
		}
	}
	return medianOf(took), nil
}

func medianOf(took []time.Duration) time.Duration {
	slices.Sort(took)
	return took[len(took)/2]
}

// calls returns the calls that are measured.
func (w *grownWorld) calls(ctx context.Context) ([]grownCall, error) {
	last, err := w.lastPage(ctx)
	if err != nil {
		return nil, err
	}
	nothing := func(set func(*openintentv1.ListMessagesRequest)) func(context.Context) error {
		request := &openintentv1.ListMessagesRequest{ChannelId: w.longest}
		set(request)
		return func(ctx context.Context) error {
			page, err := w.messages.ListMessages(as(ctx, asker), request)
			return counted(len(page.GetMessages()), 0, err)
		}
	}
	broadcast := w.longestThread
	return []grownCall{
		{"inbox with 1,000 unread, a page of 50", w.inbox(unreading), grownCalls},
		{"inbox of an agent in all intents", w.inbox(everywhere), grownCalls},
		{"thread of 51 messages in an ordinary intent", w.thread(w.ordinary, w.ordinaryThread), grownCalls},
		{"thread of the longest channel's first message", w.thread(w.longest, w.longestThread), grownCalls},
		{"messages with a thread_id, none", nothing(func(r *openintentv1.ListMessagesRequest) { r.ThreadId = proto.String("msg_none") }), grownCalls},
		{"messages with a kind, none", nothing(func(r *openintentv1.ListMessagesRequest) { r.Kind = proto.String("none") }), grownCalls},
		{"messages with a message_type, none", nothing(func(r *openintentv1.ListMessagesRequest) {
			r.MessageType = openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum()
		}), grownCalls},
		{"messages with a correlation_id, none", nothing(func(r *openintentv1.ListMessagesRequest) { r.CorrelationId = &broadcast }), grownCalls},
		{"100 intents, the first page", w.listIntents(nil), grownCalls},
		{"100 intents, the last page", w.listIntents(last), grownCalls},
		{"send", w.send, grownSends},
	}, nil
}

// send sends a message to the next of the readers, because the server bounds how many messages of a stranger wait for one.
func (w *grownWorld) send(ctx context.Context) error {
	w.sends++
	_, err := w.messages.SendMessage(as(ctx, asker), grownMessage(w.ordinary, grownReader(w.sends%fewestReaders), 0))
	return err
}

// counted returns an error if an answer failed or has another number of things than it should have.
func counted(has, wanted int, err error) error {
	if err == nil && has != wanted {
		err = fmt.Errorf("the answer has %d, not %d", has, wanted)
	}
	return err
}

func (w *grownWorld) inbox(agent string) func(context.Context) error {
	return func(ctx context.Context) error {
		page, err := w.messages.GetInbox(as(ctx, agent), &openintentv1.GetInboxRequest{AgentId: agent, Limit: proto.Int32(grownPage)})
		return counted(len(page.GetItems()), grownPage, err)
	}
}

func (w *grownWorld) thread(channel, first string) func(context.Context) error {
	return func(ctx context.Context) error {
		page, err := w.messages.GetThread(as(ctx, asker), &openintentv1.GetThreadRequest{ChannelId: channel, MessageId: first})
		return counted(len(page.GetMessages()), grownPage, err)
	}
}

func (w *grownWorld) listIntents(cursor *string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := w.intents.ListIntents(as(ctx, asker), &openintentv1.ListIntentsRequest{Limit: proto.Int32(listed), Cursor: cursor})
		return err
	}
}

// lastPage returns the cursor of the last page of intents, or nil if there is only one page.
func (w *grownWorld) lastPage(ctx context.Context) (cursor *string, err error) {
	for {
		page, err := w.intents.ListIntents(as(ctx, asker), &openintentv1.ListIntentsRequest{Limit: proto.Int32(listed), Cursor: cursor})
		if err != nil || page.NextCursor == nil {
			return cursor, err
		}
		cursor = page.NextCursor
	}
}

// measureDelivery measures from a send to the stream of the agent that is everywhere, and the server's processor time for both.
func (w *grownWorld) measureDelivery(ctx context.Context, filled bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := w.messages.Subscribe(as(ctx, everywhere), &openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: everywhere},
	})
	if err != nil {
		return err
	}
	for caughtUp := false; !caughtUp; {
		response, err := stream.Recv()
		if err != nil {
			return err
		}
		caughtUp = response.GetCaughtUp()
	}
	var ids []string
	deliver := grownCall{call: func(ctx context.Context) error {
		sent, err := w.messages.SendMessage(as(ctx, asker), grownMessage(w.ordinary, everywhere, 0))
		if err != nil {
			return err
		}
		ids = append(ids, sent.GetId())
		for {
			response, err := stream.Recv()
			if err != nil || response.GetMessage().GetId() == sent.GetId() {
				return err
			}
		}
	}, times: grownDeliveries}
	before, err := w.consumption()
	if err != nil {
		return err
	}
	took, err := deliver.measure(ctx)
	if err != nil {
		return err
	}
	after, err := w.consumption()
	if err != nil {
		return err
	}
	w.note(rowDelivery, filled, took)
	w.note(rowWork, filled, (after.Before-before.After)/(warmCalls+grownDeliveries))
	// The agent reads what it got, so that its inbox is the same the next time.
	_, err = w.messages.MarkInboxRead(as(ctx, everywhere), &openintentv1.MarkInboxReadRequest{AgentId: everywhere, MessageIds: ids})
	return err
}
