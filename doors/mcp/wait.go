package mcp

import (
	"cmp"
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// wait waits until something is there.
var wait = newTool(reads, "wait", "Wait for messages of others in your inbox that want an answer, on a channel or after a message, or for answers to your question. A wait is short: "+
	"call it again when nothing came, and whenever you have nothing else to do. "+othersWords,
	`"for":{"type":"string","description":"inbox, or id of a channel or message"},`+cursorProperty+`,"timeout_s":{"type":"number","minimum":0},"all":{"type":"boolean","description":"of the inbox, also what needs no answer"}`,
	[]string{"for"},
	func(ctx context.Context, s *session, given waitArguments) (any, error) {
		began, timeout := time.Now(), float64(longestTimeout)
		if given.Timeout != nil {
			timeout = *given.Timeout
		}
		if timeout < 0 || timeout > longestTimeout {
			return nil, fault.BadField("timeout_s", "must be from 0 to %d.", longestTimeout)
		}
		ctx, end, err := s.beginWait(ctx, seconds(timeout))
		if err != nil {
			return nil, err
		}
		defer end()
		a, err := s.subject(ctx, given.For)
		if err != nil {
			return nil, err
		}
		if a.All = given.All; a.All && a.Subject != anInbox {
			return nil, fault.BadField("all", "goes with for=inbox alone; leave it out.")
		}
		if given.Cursor != "" {
			if err := a.goOn(given.Cursor); err != nil {
				return nil, err
			}
			if err := s.took(ctx, a.arrived...); err != nil {
				return nil, err
			}
			a.arrived = nil
		}
		return s.await(ctx, a, began, seconds(timeout))
	})

type waitArguments struct {
	For    string `json:"for"`
	Cursor string `json:"cursor"`
	// Timeout is in seconds.
	Timeout *float64 `json:"timeout_s"`
	// All says that of the inbox also what needs no answer ends the wait.
	All bool `json:"all"`
}

// theInbox is the word for the caller's inbox.
const theInbox = "inbox"

// errNothingToWaitFor refuses what names nothing that the caller could wait for.
var errNothingToWaitFor = fault.New(fault.NotFound, "NOTHING_TO_WAIT_FOR",
	"for names no channel and no message that you can see; give inbox, or the id of a channel or message.")

// subject finds out for what the caller waits, and from where on if it gives no cursor: for what waits in its inbox, for what comes
// from now on to a channel, and for what followed a message.
func (s *session) subject(ctx context.Context, named string) (*awaited, error) {
	if named == theInbox {
		return &awaited{Subject: anInbox}, nil
	}
	channel, err := s.caller.Channels.GetChannel(ctx, &openintentv1.GetChannelRequest{ChannelId: named})
	if err == nil {
		return &awaited{Subject: aChannel, Channel: channel.GetId()}, nil
	}
	if status.Code(err) != codes.NotFound {
		return nil, err
	}
	message, err := s.message(ctx, named)
	switch {
	case status.Code(err) == codes.NotFound:
		return nil, errNothingToWaitFor
	case err != nil:
		return nil, err
	case message.GetSender() == s.caller.Agent && message.GetMessageType() == openintentv1.MessageType_MESSAGE_TYPE_REQUEST:
		return &awaited{Subject: moreAnswers, Channel: message.GetChannelId(), Message: message.GetId(), Enough: 1}, nil
	}
	thread := cmp.Or(message.GetThreadId(), message.GetId())
	return &awaited{Subject: aThread, Channel: message.GetChannelId(), Message: thread, backlog: new(message.GetId())}, nil
}
