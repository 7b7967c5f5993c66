package mcp

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
)

// answerable are the policies of messages that end a wait for the inbox, unless its caller wants all.
var answerable = []openintentv1.ResponsePolicy{
	openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_RESPOND, openintentv1.ResponsePolicy_RESPONSE_POLICY_MAY_RESPOND,
}

// lookIntoInbox gives what waits in the caller's inbox and was not handed over yet, and waits for it. The contract remembers what was handed
// over, so it is the same on every server. What a task was given comes again when its client asks again, because its answer may be lost.
func (s *session) lookIntoInbox(ctx context.Context, a *awaited, patience time.Duration) (found, error) {
	request := &openintentv1.GetInboxRequest{
		AgentId: s.caller.Agent, Limit: new(int32(messagesShown)), Include: []string{"attention"}, Unhanded: true,
	}
	if !a.All {
		request.Policy = answerable
	}
	if !a.since.IsZero() {
		request.HandedSince = timestamppb.New(a.since)
	}
	for until := time.Now().Add(patience); ; {
		left := max(0, time.Until(until))
		request.WaitSeconds, request.Cursor = new(left.Seconds()), nil
		page, err := s.inboxPages(ctx, request)
		if err != nil {
			return found{}, err
		}
		var came gathered
		for _, item := range page.GetItems() {
			if !came.add(shown(item.GetMessage(), item.GetAttention(), payloadRoom)) {
				break
			}
		}
		given, err := s.handOver(ctx, came.messages)
		if err != nil {
			return found{}, err
		}
		if a.since.IsZero() {
			came.messages = given
		}
		if len(came.messages) > 0 || left == 0 {
			a.arrived = unanswering(came.messages)
			return a.found(came), nil
		}
	}
}

// handOver notes that the caller's model is given messages, and returns those that no other call has given it meanwhile. A key that only
// reads notes nothing.
func (s *session) handOver(ctx context.Context, messages []messageAnswer) ([]messageAnswer, error) {
	if len(messages) == 0 || s.caller.ReadOnly {
		return messages, nil
	}
	ids := make([]string, len(messages))
	for i, m := range messages {
		ids[i] = m.ID
	}
	noted, err := s.caller.Attention.HandOver(ctx, &openintentv1.HandOverRequest{AgentId: s.caller.Agent, MessageIds: ids})
	switch refusal := doors.RefusalOf(err); {
	case err == nil:
	case refusal.Reason == "MESSAGE_NOT_FOUND": // one of them has just been deleted, or is not for the caller any more
		return messages, nil
	case refusal.Code == codes.Unimplemented: // the server that `openintent mcp` has connected to is older
		return messages, nil
	default:
		return nil, err
	}
	mine := make(map[string]bool)
	for _, id := range noted.GetMessageIds() {
		mine[id] = true
	}
	var given []messageAnswer
	for _, m := range messages {
		if mine[m.ID] {
			given = append(given, m)
		}
	}
	return given, nil
}

// unanswering returns the ids of the messages that need no answer. They count as read once their reader shows the answer's cursor.
func unanswering(messages []messageAnswer) (ids []string) {
	for _, m := range messages {
		if m.Policy != doors.Word(answerable[0]) {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// idPrefix begins the id of each message; cursors leave it out.
const idPrefix = "msg_"

// arrivedCursor is the cursor that says that messages have arrived, and arrivedIn reads it.
func arrivedCursor(ids []string) string {
	short := make([]string, len(ids))
	for i, id := range ids {
		short[i] = strings.TrimPrefix(id, idPrefix)
	}
	return strings.Join(short, ".")
}

func arrivedIn(cursor string) (ids []string, ok bool) {
	for _, short := range strings.Split(cursor, ".") {
		if !plain(short) || len(short) < shortestID || len(ids) == messagesShown {
			return nil, false
		}
		ids = append(ids, idPrefix+short)
	}
	return ids, true
}

// shortestID tells an id from a number, such as the cursor of a wait for a channel.
const shortestID = 20

// took marks messages read that the caller has taken note of. Requests stay as they are: their answers say more. That one of them cannot be
// marked any more is no mistake of the caller's.
func (s *session) took(ctx context.Context, ids ...string) error {
	if len(ids) == 0 || s.caller.ReadOnly {
		return nil
	}
	_, err := s.together(s.markRead)(ctx, ids)
	if refusal := doors.RefusalOf(err); err != nil && !ofAll(refusal.Code) {
		return nil
	}
	return err
}

// tookShown does what tookMessage does for those of the messages that are addressed to the caller.
func (s *session) tookShown(ctx context.Context, messages []*openintentv1.Message) {
	var ids []string
	for _, m := range messages {
		if m.GetTo() == s.caller.Agent && m.GetMessageType() != openintentv1.MessageType_MESSAGE_TYPE_REQUEST && m.ReadAt == nil {
			ids = append(ids, m.GetId())
		}
	}
	if err := s.took(ctx, ids...); err != nil {
		s.failed(ctx, "tool", "read", err)
	}
}

// tookAnswered does what tookMessage does for a message that the caller has answered in its thread.
func (s *session) tookAnswered(ctx context.Context, id string) {
	if message, err := s.message(ctx, id); err == nil {
		s.tookMessage(ctx, message)
	}
}

// tookMessage does what took does for a message with which the caller has just done something, if it is somebody else's and no request. What
// the caller has done stands, so that this failed is for the log alone.
func (s *session) tookMessage(ctx context.Context, m *openintentv1.Message) {
	if m.GetSender() == s.caller.Agent || m.GetMessageType() == openintentv1.MessageType_MESSAGE_TYPE_REQUEST {
		return
	}
	if err := s.took(ctx, m.GetId()); err != nil {
		s.failed(ctx, "tool", "mark", err)
	}
}
