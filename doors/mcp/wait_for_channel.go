package mcp

import (
	"context"
	"slices"
	"strconv"
	"time"

	"google.golang.org/grpc"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// positionHeader says where a stream begins.
	positionHeader = "openintent-position"
	// messagesOnly is the type by which a stream brings messages and no events.
	messagesOnly = "channel_message"
)

// follow gives what others sent: first what is there, and if that is nothing, what comes. The stream begins before it lists what was
// there before, so nothing falls between the two.
func (s *session) follow(ctx context.Context, a *awaited, patience time.Duration) (found, error) {
	following, cancel := context.WithCancel(ctx)
	defer cancel()
	if patience > 0 {
		defer time.AfterFunc(patience, cancel).Stop()
	}
	stream, err := s.subscribe(following, a)
	if err != nil {
		return s.stopped(ctx, following, a, gathered{}, err)
	}
	if a.backlog != nil {
		before, err := s.listBacklog(ctx, a)
		if err != nil || len(before.messages) > 0 {
			return s.gave(ctx, a, before), err
		}
	}
	var came gathered
	for live, stays := false, patience > 0; !live || len(came.messages) == 0 && stays; {
		delivery, err := stream.Recv()
		if err != nil {
			return s.stopped(ctx, following, a, came, err)
		}
		if m := delivery.GetMessage(); s.concerns(a, m) && !came.add(a.shown(m, delivery.GetAttention())) {
			break
		}
		a.After = new(delivery.GetPosition())
		if live = live || delivery.GetCaughtUp(); live && !stays {
			if stays, err = s.closed(ctx, a); err != nil {
				return found{}, err
			}
		}
	}
	return s.gave(ctx, a, came), nil
}

// closed reports whether the channel is closed. Then its stream ends by itself, and says so.
func (s *session) closed(ctx context.Context, a *awaited) (bool, error) {
	channel, err := s.caller.Channels.GetChannel(ctx, &openintentv1.GetChannelRequest{ChannelId: a.Channel})
	return channel.GetStatus() == openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED, err
}

// subscribe begins the stream of what is awaited, and notes where it begins.
func (s *session) subscribe(
	ctx context.Context, a *awaited,
) (grpc.ServerStreamingClient[openintentv1.SubscribeResponse], error) {
	request := &openintentv1.SubscribeRequest{
		Scope:         &openintentv1.SubscribeRequest_ChannelId{ChannelId: a.Channel},
		AfterPosition: a.After, EventTypes: []string{messagesOnly}, Include: []string{"attention"},
	}
	stream, err := s.caller.Messages.Subscribe(ctx, request)
	if err != nil {
		return nil, err
	}
	header, err := stream.Header()
	if err != nil {
		return nil, err
	}
	if position := header.Get(positionHeader); len(position) > 0 && a.After == nil {
		begins, err := strconv.ParseInt(position[0], 10, 64)
		if err != nil {
			return nil, err
		}
		a.After = &begins
	}
	return stream, nil
}

// concerns reports whether a message is one that the caller waits for: one of somebody else, and of the thread if it waits for one.
func (s *session) concerns(a *awaited, m *openintentv1.Message) bool {
	return m != nil && m.GetSender() != s.caller.Agent && (a.Subject != aThread || m.GetThreadId() == a.Message)
}

// stopped says what a stream brought that ended with an error: what came before, if only that the time is over.
func (s *session) stopped(ctx, following context.Context, a *awaited, came gathered, err error) (found, error) {
	timeIsOver := following.Err() != nil && ctx.Err() == nil
	if len(came.messages) > 0 || timeIsOver && a.After != nil {
		return s.gave(ctx, a, came), nil
	}
	return found{}, err
}

// gave says what came, and notes those of the messages as handed over that are for the caller, so that no wait for the inbox gives them again.
// What came stands, so that this failed is for the log alone.
func (s *session) gave(ctx context.Context, a *awaited, came gathered) found {
	if _, err := s.handOver(ctx, slices.DeleteFunc(slices.Clone(came.messages), func(m messageAnswer) bool { return m.To != s.caller.Agent })); err != nil {
		s.failed(ctx, "tool", "wait", err)
	}
	return a.found(came)
}

// found says what came, and from where on more may come.
func (a *awaited) found(came gathered) found {
	answer := messagesAnswer{Messages: came.messages, Cursor: a.cursor()}
	if answer.Messages == nil {
		answer.Messages = []messageAnswer{}
	}
	return found{answer: answer, ready: len(came.messages) > 0}
}

// shown returns a message without what the caller said itself, which is for what it waits.
func (a *awaited) shown(m *openintentv1.Message, attention *openintentv1.Attention) messageAnswer {
	answer := shown(m, attention, payloadRoom)
	answer.Channel = ""
	if a.Subject == aThread {
		answer.Thread = ""
	}
	return answer
}

// listBacklog gives what was there before the stream. If that is nothing, the stream alone goes on.
func (s *session) listBacklog(ctx context.Context, a *awaited) (before gathered, err error) {
	before, err = s.listMessages(ctx, a)
	if len(before.messages) == 0 {
		a.backlog = nil
	}
	return before, err
}

// listMessages gives what others sent to the channel or the thread after a message or a time.
func (s *session) listMessages(ctx context.Context, a *awaited) (before gathered, err error) {
	request := &openintentv1.ListMessagesRequest{ChannelId: a.Channel, Limit: new(int32(messagesShown))}
	if a.Subject == aThread {
		request.ThreadId = &a.Message
	}
	for {
		request.Since = a.backlog
		page, err := s.caller.Messages.ListMessages(ctx, request)
		if err != nil {
			return gathered{}, err
		}
		for _, m := range page.GetMessages() {
			if s.concerns(a, m) && !before.add(a.shown(m, nil)) {
				return before, nil
			}
			a.backlog = new(m.GetId())
		}
		if page.GetBounded() && a.backlog != nil {
			a.backlog = page.NextSince
		} else if len(before.messages) > 0 || len(page.GetMessages()) < messagesShown {
			return before, nil
		}
	}
}
