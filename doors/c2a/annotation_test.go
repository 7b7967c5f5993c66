package c2a

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/doors"
	"openintent/doors/c2a/chat"
	openintentv1 "openintent/gen/openintent/v1"
)

// store is what the contract says of one message, and the note that it takes of the agent.
type store struct {
	openintentv1.MessageServiceClient
	openintentv1.AttentionServiceClient
	openintentv1.AgentServiceClient
	messages map[string]*openintentv1.Message
	inbox    []*openintentv1.Inbox
	judged   *openintentv1.GetAttentionResponse
	notes    []string
	// away are why the next look for a message fails.
	away map[string]error
}

func (s *store) GetMessage(_ context.Context, r *openintentv1.GetMessageRequest, _ ...grpc.CallOption) (*openintentv1.Message, error) {
	if err := s.away[r.GetMessageId()]; err != nil {
		delete(s.away, r.GetMessageId())
		return nil, err
	}
	return s.messages[r.GetMessageId()], nil
}

func (s *store) GetInbox(_ context.Context, r *openintentv1.GetInboxRequest, _ ...grpc.CallOption) (*openintentv1.Inbox, error) {
	for i, page := range s.inbox {
		if i == 0 && r.GetCursor() == "" || i > 0 && s.inbox[i-1].GetNextCursor() == r.GetCursor() {
			return page, nil
		}
	}
	return nil, fmt.Errorf("there is no page %q", r.GetCursor())
}

func (s *store) GetAttention(context.Context, *openintentv1.GetAttentionRequest, ...grpc.CallOption) (*openintentv1.GetAttentionResponse, error) {
	return s.judged, nil
}

func (s *store) Heartbeat(_ context.Context, r *openintentv1.HeartbeatRequest, _ ...grpc.CallOption) (*openintentv1.HeartbeatResponse, error) {
	s.notes = append(s.notes, r.GetStatusNote())
	return &openintentv1.HeartbeatResponse{}, nil
}

// harnessOf returns the connection of bob's harness, which takes everything, to a contract with these messages.
func harnessOf(messages ...*openintentv1.Message) (*connection, *store, *line) {
	s := &store{messages: make(map[string]*openintentv1.Message), judged: &openintentv1.GetAttentionResponse{
		Policy: openintentv1.ResponsePolicy_RESPONSE_POLICY_MAY_RESPOND.Enum(), Injection: openintentv1.Injection_INJECTION_BUFFERED.Enum(),
	}}
	for _, m := range messages {
		s.messages[m.GetId()] = m
	}
	l := &line{out: make(chan []byte, 100)}
	c := &connection{
		door: New(Config{}), wire: l, log: slog.New(slog.DiscardHandler), end: func(error) {},
		caller: &doors.Caller{Agent: "bob", Messages: s, Attention: s, Agents: s},
		terms:  &terms{draft: draftJune2, modes: modes{Immediate: true, Buffered: true, Notify: true, Digest: true, ToolMailbox: true}},
	}
	c.door.times, c.pending.c = long, c
	return c, s, l
}

// sent returns the frames that a harness got: the ids of the events that were delivered, and of the cancelled ones after a minus.
func (l *line) sent(t *testing.T) (events []string) {
	t.Helper()
	for {
		select {
		case text := <-l.out:
			var f struct {
				Method string
				Params struct{ EventID string }
			}
			require.NoError(t, json.Unmarshal(text, &f))
			if f.Method == noteCancelled {
				f.Params.EventID = "-" + f.Params.EventID
			}
			events = append(events, f.Params.EventID)
		default:
			return events
		}
	}
}

// What happens to a message makes an event, ends one, or is nothing for the harness.
func TestWhatBecomesOfAnnotations(t *testing.T) {
	const edited, reaction, deleted, discharged = "message_edited", "message_reaction", "message_deleted", "obligation_discharged"
	event := chat.EditID("msg_1", 2)
	for what, given := range map[string]struct {
		kind, by, sender, change string
		current, handed, attempt int32
		reason                   string
		expected                 []string
	}{
		"an edit": {
			kind: edited, by: "ann", sender: "ann", current: 2, handed: 1, attempt: 1, expected: []string{"-msg_1", event},
		},
		"the agent's own edit":               {kind: edited, by: "bob", sender: "bob", current: 2, handed: 1, attempt: 1},
		"an edit of the agent's by somebody": {kind: edited, by: "ann", sender: "bob", current: 2, handed: 1, attempt: 1},
		"an edit that came with its message": {kind: edited, by: "ann", sender: "ann", current: 2, handed: 2, attempt: 1},
		"the same, again": {
			kind: edited, by: "ann", sender: "ann", current: 2, handed: 2, attempt: 2, expected: []string{"-msg_1", event},
		},
		"an edit that another one has replaced": {kind: edited, by: "ann", sender: "ann", current: 3, handed: 1, attempt: 1},
		"the same, again after a while":         {kind: edited, by: "ann", sender: "ann", current: 3, handed: 1, attempt: 2},
		"an edit after the answer": {
			kind: edited, by: "ann", sender: "ann", current: 2, handed: 1, attempt: 1, reason: "edited_after_response", expected: []string{event},
		},
		"a reaction to the agent's message": {
			kind: reaction, by: "ann", sender: "bob", change: "added", expected: []string{chat.AnnotationID("msg_1", 9)},
		},
		"a reaction that is taken back":           {kind: reaction, by: "ann", sender: "bob", change: "removed"},
		"the agent's own reaction":                {kind: reaction, by: "bob", sender: "bob", change: "added"},
		"a reaction to another's message":         {kind: reaction, by: "ann", sender: "ann", change: "added"},
		"a deletion":                              {kind: deleted, by: "ann", sender: "ann", expected: []string{"-msg_1"}},
		"the agent's own deletion":                {kind: deleted, by: "bob", sender: "bob"},
		"a discharge of what the agent owed":      {kind: discharged, by: "ann", sender: "ann", expected: []string{"-msg_1"}},
		"a discharge of what the agent asked for": {kind: discharged, by: "ann", sender: "bob"},
	} {
		c, s, l := harnessOf(&openintentv1.Message{Id: "msg_1", ChannelId: "chan_1", Sender: given.sender, Revision: &given.current})
		s.judged.Reason = &given.reason
		if given.handed > 0 {
			c.handedOut.note(&openintentv1.Message{Id: "msg_1", Revision: &given.handed}, "msg_1")
		}
		require.NoError(t, c.hand(t.Context(), &openintentv1.SubscriptionDelivery{
			SubscriptionId: "sub", Number: 1, Attempt: given.attempt, Annotation: &openintentv1.Annotation{
				Type: given.kind, MessageId: "msg_1", ChannelId: "chan_1", AgentId: given.by, Position: 9, Change: &given.change, Revision: new(int32(2)),
			},
		}), what)
		require.Equal(t, given.expected, l.sent(t), what)
		delivers := len(given.expected) > 0 && given.expected[len(given.expected)-1][0] != '-'
		require.Equal(t, !delivers, len(c.pending.done) == 1, "%s: without an event there is nothing to wait for", what)
	}
}

// A message that comes again is the same event as before, unless it was edited meanwhile. One that was deleted ends its event.
func TestWhatBecomesOfMessagesThatComeAgain(t *testing.T) {
	for what, given := range map[string]struct {
		handed, current int32
		deleted         bool
		expected        []string
	}{
		"new":                  {current: 1, expected: []string{"msg_1"}},
		"new, edited before":   {current: 2, expected: []string{"msg_1"}},
		"again":                {handed: 1, current: 1, expected: []string{"msg_1"}},
		"again, edited before": {handed: 2, current: 2, expected: []string{"msg_1"}},
		"edited in between":    {handed: 1, current: 2, expected: []string{"-msg_1", chat.EditID("msg_1", 2)}},
		"deleted in between":   {handed: 1, current: 1, deleted: true, expected: []string{"-msg_1"}},
	} {
		c, _, l := harnessOf()
		if given.handed > 0 {
			c.handedOut.note(&openintentv1.Message{Id: "msg_1", Revision: &given.handed}, "msg_1")
		}
		made := toBob(1)
		made.Message.Revision = &given.current
		if given.deleted {
			made.Message.DeletedAt = timestamppb.Now()
		}
		require.NoError(t, c.hand(t.Context(), made), what)
		require.Equal(t, given.expected, l.sent(t), what)
	}
}

// A cancellation names the event that the harness got last, however often the message was edited before.
func TestTheLatestEventOfAMessageIsCancelled(t *testing.T) {
	const edited, deleted = "message_edited", "message_deleted"
	sent := toBob(1).GetMessage()
	sent.Status = openintentv1.MessageStatus_MESSAGE_STATUS_EXPIRED
	c, s, l := harnessOf(sent)
	said := func(kind string, revision int32) {
		s.messages["msg_1"].Revision = &revision
		require.NoError(t, c.hand(t.Context(), &openintentv1.SubscriptionDelivery{
			SubscriptionId: "sub", Number: int64(revision), Attempt: 1, Annotation: &openintentv1.Annotation{
				Type: kind, MessageId: "msg_1", ChannelId: "chan_1", AgentId: "ann", Revision: &revision,
			},
		}))
	}
	require.NoError(t, c.hand(t.Context(), toBob(1)))
	require.Equal(t, []string{"msg_1"}, l.sent(t))
	said(edited, 2)
	require.Equal(t, []string{"-msg_1", "msg_1.2"}, l.sent(t))
	said(edited, 3)
	require.Equal(t, []string{"-msg_1.2", "msg_1.3"}, l.sent(t))

	c.expected.due = make(chan *openintentv1.Message)
	ctx, cancel := context.WithCancel(t.Context())
	c.working.Go(func() { c.cancelExpired(ctx) })
	c.expected.due <- sent
	c.expected.due <- &openintentv1.Message{Id: "msg_2"} // the one before it has been cancelled
	cancel()
	c.working.Wait()
	require.Equal(t, []string{"-msg_1.3"}, l.sent(t))

	said(edited, 4)
	reason := "edited_after_response"
	s.judged.Reason = &reason
	said(edited, 5)
	require.Equal(t, []string{"msg_1.4", "msg_1.5"}, l.sent(t), "what was answered is over as it is")
	said(deleted, 5)
	require.Equal(t, []string{"-msg_1.5"}, l.sent(t))
}

// Only a request whose time is over is cancelled, also if the contract cannot be reached for a moment. The time of one that was answered does
// not matter any more.
func TestOnlyWhatExpiredIsCancelled(t *testing.T) {
	answered := &openintentv1.Message{Id: "msg_1", Status: openintentv1.MessageStatus_MESSAGE_STATUS_READ}
	expired := &openintentv1.Message{Id: "msg_2", Status: openintentv1.MessageStatus_MESSAGE_STATUS_EXPIRED}
	c, s, l := harnessOf(answered, expired)
	s.away = map[string]error{"msg_2": status.Error(codes.Unavailable, "The database cannot be reached.")}
	c.expected.due = make(chan *openintentv1.Message)
	ctx, cancel := context.WithCancel(t.Context())
	c.working.Go(func() { c.cancelExpired(ctx) })
	c.expected.due <- answered
	c.expected.due <- expired
	c.expected.due <- answered // the one before it has been cancelled
	cancel()
	c.working.Wait()
	require.Equal(t, []string{"-msg_2"}, l.sent(t))
}

// A connection remembers the revisions of the latest messages, and of each once.
func TestRevisionsOfTheLatestMessages(t *testing.T) {
	var h handedOut
	message := func(i int) *openintentv1.Message { return &openintentv1.Message{Id: fmt.Sprint(i)} }
	for range mostHandedOut {
		h.note(message(1), "1")
	}
	for i := 2; i <= mostHandedOut; i++ {
		h.note(message(i), fmt.Sprint(i))
	}
	require.EqualValues(t, 1, h.revision("1"), "as many as are remembered")
	h.note(message(mostHandedOut+1), "x")
	require.Zero(t, h.revision("1"))
	require.EqualValues(t, 1, h.revision("2"))
	require.Len(t, h.messages, mostHandedOut)
}

// A harness that takes nothing louder than a knock gets one without the sender's words: nobody has found out whether the sender is a stranger.
func TestAKnockInPlaceOfSomethingLouderHasNoWords(t *testing.T) {
	c, _, l := harnessOf()
	c.terms.modes = modes{Notify: true}
	made := toBob(1)
	made.Message.MessageType = openintentv1.MessageType_MESSAGE_TYPE_NOTIFY
	made.ChannelName, made.Message.ChannelId, made.Message.Subject, made.Message.Kind = "secret room", "chan_1", new("secret"), new("secret.kind")
	require.NoError(t, c.hand(t.Context(), made))
	text := string(<-l.out)
	require.Contains(t, text, `"mode":"notify"`)
	require.Contains(t, text, `"topic":"notify in chan_1"`)
	require.NotContains(t, text, "secret")
}

// Progress is shown from the moment on in which the terms stand.
func TestProgressIsShownAsANote(t *testing.T) {
	c, s, _ := harnessOf()
	agreed := c.terms
	note := frame{Method: noteProgress, Params: json.RawMessage(`{"progress":1,"total":3,"message":"reading"}`)}
	c.terms = nil
	c.notified(t.Context(), note)
	require.Empty(t, s.notes)
	c.terms = agreed
	c.notified(t.Context(), frame{Method: "notifications/other", Params: note.Params})
	c.notified(t.Context(), note)
	require.Equal(t, []string{"reading (1/3)"}, s.notes)
}
