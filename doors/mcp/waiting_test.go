package mcp

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// asked is a contract with one question of ann's, whose answers and channel a test sets.
type asked struct {
	openintentv1.MessageServiceClient
	openintentv1.ChannelServiceClient
	openintentv1.AttentionServiceClient
	question *openintentv1.Message
	answers  []*openintentv1.Message
	closed   bool
	least    int32
	deleted  int
	// log is what the channel has, a page of which looks at so many messages.
	log     []*openintentv1.Message
	looks   int
	refused map[string]string
	read    [][]string
	names   []string
	handed  [][]string
	// notes is what comes of noting what was handed over.
	notes error
}

func (a *asked) HandOver(_ context.Context, r *openintentv1.HandOverRequest, _ ...grpc.CallOption) (*openintentv1.HandOverResponse, error) {
	if a.notes != nil {
		return nil, a.notes
	}
	a.handed = append(a.handed, r.GetMessageIds())
	return &openintentv1.HandOverResponse{MessageIds: r.GetMessageIds()}, nil
}

func (a *asked) AwaitResponses(
	_ context.Context, r *openintentv1.AwaitResponsesRequest, _ ...grpc.CallOption,
) (*openintentv1.AwaitResponsesResponse, error) {
	a.least = r.GetMinResponses()
	return &openintentv1.AwaitResponsesResponse{Responses: slices.Clone(a.answers)}, nil
}

func (a *asked) GetMessage(context.Context, *openintentv1.GetMessageRequest, ...grpc.CallOption) (*openintentv1.Message, error) {
	if a.question == nil {
		return nil, status.Error(codes.NotFound, "It is gone.")
	}
	return a.question, nil
}

func (a *asked) GetChannel(context.Context, *openintentv1.GetChannelRequest, ...grpc.CallOption) (*openintentv1.Channel, error) {
	channel := &openintentv1.Channel{Status: openintentv1.ChannelStatus_CHANNEL_STATUS_OPEN}
	if a.closed {
		channel.Status = openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED
	}
	return channel, nil
}

func (a *asked) DeleteMessage(context.Context, *openintentv1.DeleteMessageRequest, ...grpc.CallOption) (*openintentv1.Message, error) {
	a.deleted++
	return &openintentv1.Message{}, nil
}

func (a *asked) ListMessages(
	_ context.Context, r *openintentv1.ListMessagesRequest, _ ...grpc.CallOption,
) (*openintentv1.ListMessagesResponse, error) {
	begin := slices.IndexFunc(a.log, func(m *openintentv1.Message) bool { return m.GetId() == r.GetSince() }) + 1
	page := &openintentv1.ListMessagesResponse{}
	for i, m := range a.log[begin:] {
		if a.looks > 0 && i == a.looks {
			page.Bounded, page.NextSince = true, new(a.log[begin+i-1].GetId())
			break
		}
		if r.ThreadId == nil || m.GetThreadId() == r.GetThreadId() {
			page.Messages = append(page.Messages, m)
		}
		if len(page.Messages) == int(r.GetLimit()) {
			break
		}
	}
	return page, nil
}

func (a *asked) MarkInboxRead(
	_ context.Context, r *openintentv1.MarkInboxReadRequest, _ ...grpc.CallOption,
) (*openintentv1.MarkInboxReadResponse, error) {
	a.read = append(a.read, slices.Clone(r.GetMessageIds()))
	for _, id := range r.GetMessageIds() {
		if reason := a.refused[id]; reason != "" {
			return nil, fault.New(fault.NotFound, reason, "No.").With("message_id", id)
		}
	}
	return &openintentv1.MarkInboxReadResponse{}, nil
}

func (a *asked) ListChannels(_ context.Context, r *openintentv1.ListChannelsRequest, _ ...grpc.CallOption) (*openintentv1.ListChannelsResponse, error) {
	at, _ := strconv.Atoi(r.GetCursor())
	page := &openintentv1.ListChannelsResponse{Channels: []*openintentv1.Channel{{Name: a.names[at]}}}
	if at+1 < len(a.names) {
		page.NextCursor = new(strconv.Itoa(at + 1))
	}
	return page, nil
}

func sessionOf(a *asked) *session {
	return &session{door: New(Config{}), caller: &doors.Caller{Agent: "ann", Messages: a, Channels: a, Attention: a}}
}

// messagesOf are messages of somebody, in a thread.
func messagesOf(sender, thread string, ids ...string) (all []*openintentv1.Message) {
	for _, id := range ids {
		all = append(all, &openintentv1.Message{Id: id, Sender: sender, ThreadId: &thread})
	}
	return all
}

// A wait for answers goes on after those that the caller has, and ends when there are enough or none can come any more.
func TestAWaitForAnswers(t *testing.T) {
	open := &openintentv1.Message{Id: "q"}
	past, future := timestamppb.New(time.Unix(1, 0)), timestamppb.New(time.Now().Add(time.Hour))
	for what, given := range map[string]struct {
		asked        *asked
		seen, enough int
		ready        bool
		shows        []string
		over, cursor string
		withdrawn    bool
	}{
		"nothing yet": {asked: &asked{question: open}, enough: 1},
		"enough": {
			asked: &asked{question: open, answers: messagesOf("ben", "", "a")}, enough: 1, ready: true, shows: []string{"a"}, cursor: "1",
		},
		"fewer than enough": {asked: &asked{question: open, answers: messagesOf("ben", "", "a")}, enough: 2, shows: []string{"a"}, cursor: "1"},
		"those that it has": {asked: &asked{question: open, answers: messagesOf("ben", "", "a", "b")}, seen: 2, enough: 1, cursor: "2"},
		"a further one": {
			asked: &asked{question: open, answers: messagesOf("ben", "", "a", "b", "c")}, seen: 2, enough: 1, ready: true, shows: []string{"c"}, cursor: "3",
		},
		"one that has gone": {asked: &asked{question: open}, seen: 2, enough: 1, cursor: "2"},
		"an expired one with answers": {
			asked:  &asked{question: &openintentv1.Message{ExpiresAt: past}, answers: messagesOf("ben", "", "a")},
			enough: 2, ready: true, shows: []string{"a"}, over: overExpired, cursor: "1",
		},
		"one that has time": {asked: &asked{question: &openintentv1.Message{ExpiresAt: future}}, enough: 1},
		"a deleted one": {
			asked: &asked{question: &openintentv1.Message{DeletedAt: past, ExpiresAt: past}}, enough: 1, ready: true, over: overDeleted, withdrawn: true,
		},
		"in a closed channel":   {asked: &asked{question: open, closed: true}, enough: 1, ready: true, over: overClosed},
		"of which nobody knows": {asked: &asked{closed: true}, enough: 1},
		"enough in a closed channel": {
			asked: &asked{question: open, closed: true, answers: messagesOf("ben", "", "a")}, enough: 1, ready: true, shows: []string{"a"}, cursor: "1",
		},
	} {
		got, err := sessionOf(given.asked).look(t.Context(), &awaited{Subject: moreAnswers, Message: "q", Seen: given.seen, Enough: given.enough}, 0)
		require.NoError(t, err)
		answer := got.answer.(questionAnswer)
		require.EqualValues(t, given.seen+given.enough, given.asked.least, what)
		require.Equal(t, given.ready, got.ready, what)
		require.Equal(t, given.withdrawn, got.withdrawn, what)
		require.Equal(t, []string{given.over, given.cursor}, []string{answer.Over, answer.Cursor}, what)
		require.Equal(t, !given.ready, answer.Hint == waitForThis, what)
		require.Equal(t, given.shows, idsOf(answer.Answers), what)
	}

	many := &asked{question: open}
	for i := range messagesShown + 1 {
		many.answers = append(many.answers, messagesOf("ben", "", fmt.Sprint(i))...)
	}
	got, err := sessionOf(many).look(t.Context(), &awaited{Subject: moreAnswers, Message: "q", Enough: messagesShown + 1}, 0)
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(messagesShown), got.answer.(questionAnswer).Cursor, "what does not fit comes next")
}

// An answer is given although nothing can be noted of it: the server is older, or one of the messages has gone. Other refusals are told.
func TestAnAnswerIsGivenThoughItCannotBeNoted(t *testing.T) {
	for refusal, gives := range map[error]bool{
		status.Error(codes.Unimplemented, "older"): true, fault.New(fault.NotFound, "MESSAGE_NOT_FOUND", "No."): true,
		fault.New(fault.Quota, "QUOTA_EXCEEDED", "No."): false,
	} {
		s := sessionOf(&asked{answers: messagesOf("ben", "", "a"), notes: refusal})
		got, err := s.look(t.Context(), &awaited{Subject: moreAnswers, Message: "q", Enough: 1}, 0)
		require.Equal(t, gives, err == nil, "%v", refusal)
		require.Equal(t, gives, got.ready, "%v", refusal)
	}
	s := sessionOf(&asked{notes: status.Error(codes.Internal, "nothing is noted")})
	s.caller.ReadOnly = true
	given, err := s.handOver(t.Context(), []messageAnswer{{ID: "a"}})
	require.NoError(t, err, "a key that only reads notes nothing")
	require.Len(t, given, 1)
}

func idsOf(messages []messageAnswer) (ids []string) {
	for _, m := range messages {
		ids = append(ids, m.ID)
	}
	return ids
}

// A task is for the agent whose it is. Cancelling it takes back a question that this task has asked and nobody has answered, and nothing else.
func TestTasksOfQuestions(t *testing.T) {
	now := time.Now().UnixMilli()
	running := task{awaited: awaited{Subject: anAnswer, Channel: "c", Message: "q", Enough: 2}, Agent: "ann", From: now, Until: now + 500_000}
	over, other, more := running, running, running
	over.From, over.Until = now-10_000, now-1
	other.Agent = "ben"
	more.Subject = moreAnswers
	open := &openintentv1.Message{Id: "q"}
	for what, given := range map[string]struct {
		task    task
		asked   *asked
		status  string
		deletes int
	}{
		"nobody has answered":   {running, &asked{question: open}, "working", 1},
		"somebody has answered": {running, &asked{question: open, answers: messagesOf("ben", "", "a")}, "working", 0},
		"enough have answered":  {running, &asked{question: open, answers: messagesOf("ben", "", "a", "b")}, "completed", 0},
		"its time is over":      {over, &asked{question: open}, "completed", 1},
		"it is deleted":         {running, &asked{question: &openintentv1.Message{DeletedAt: timestamppb.Now()}}, "cancelled", 0},
		"an earlier question":   {more, &asked{question: open}, "working", 0},
		"another's":             {other, &asked{question: open}, "", 0},
	} {
		s := sessionOf(given.asked)
		answer, err := s.getTask(t.Context(), nil, &taskParams{ID: given.task.id()})
		if given.status == "" {
			require.Equal(t, errTaskUnknown, err, what)
		} else {
			require.NoError(t, err, what)
			require.Equal(t, given.status, answer.Status, what)
			require.Equal(t, given.status == "completed", answer.Result != nil, what)
		}
		_, err = s.cancelTask(t.Context(), nil, &taskParams{ID: given.task.id()})
		require.Equal(t, given.status == "", err != nil, what)
		require.Equal(t, given.deletes, given.asked.deleted, what)
	}
}

// What was there before comes oldest first, without what the caller said itself and what belongs to other threads, however much of that
// fills pages. The cursor leads on after what was shown or passed over.
func TestWhatWasThereBefore(t *testing.T) {
	own := make([]string, messagesShown+1)
	for i := range own {
		own[i] = fmt.Sprint("own ", i)
	}
	for what, given := range map[string]struct {
		log    []*openintentv1.Message
		looks  int
		thread bool
		shows  []string
		after  string
	}{
		"others":                 {log: slices.Concat(messagesOf("ben", "t", "a"), messagesOf("cleo", "t", "b")), shows: []string{"a", "b"}, after: "b"},
		"after the caller's own": {log: slices.Concat(messagesOf("ann", "t", own...), messagesOf("ben", "t", "a")), shows: []string{"a"}, after: "a"},
		"nothing but its own":    {log: messagesOf("ann", "t", own...)},
		"pages that looked at enough": {
			log: slices.Concat(messagesOf("ben", "other", "x", "y", "z"), messagesOf("ben", "t", "a")), looks: 1, thread: true, shows: []string{"a"}, after: "a",
		},
		"of the thread": {log: slices.Concat(messagesOf("ben", "other", "x"), messagesOf("ben", "t", "a")), thread: true, shows: []string{"a"}, after: "a"},
	} {
		a := &awaited{Subject: aChannel, Channel: "c", Message: "t", backlog: new("")}
		if given.thread {
			a.Subject = aThread
		}
		before, err := sessionOf(&asked{log: given.log, looks: given.looks}).listBacklog(t.Context(), a)
		require.NoError(t, err)
		require.Equal(t, given.shows, idsOf(before.messages), what)
		if given.after == "" {
			require.Nil(t, a.backlog, "%s: the stream goes on", what)
		} else {
			require.Equal(t, given.after, *a.backlog, what)
		}
	}
}

// Marking leaves out what is refused and marks the rest, each once. A refusal of the only message is one of the call.
func TestMarkingLeavesOutWhatIsRefused(t *testing.T) {
	a := &asked{refused: map[string]string{"b": "MESSAGE_NOT_FOUND", "d": "MESSAGE_NOT_FOUND"}}
	call := func(ids string) (any, error) {
		return mark.call(t.Context(), sessionOf(a), []byte(`{"messages":[`+ids+`],"signal":"read"}`))
	}
	answer, err := call(`"a","b","a","c","d"`)
	require.NoError(t, err)
	require.Equal(t, markedAnswer{Marked: 2, Refused: []refusedMark{{"MESSAGE_NOT_FOUND", "No.", []string{"b", "d"}}}}, answer)
	require.Equal(t, [][]string{{"a", "b", "c", "d"}, {"a", "c", "d"}, {"a", "c"}}, a.read)
	_, err = call(`"b"`)
	require.Equal(t, "MESSAGE_NOT_FOUND", doors.RefusalOf(err).Reason)
	var many string
	for i := range mostMarked {
		many += fmt.Sprintf(`"%d",`, i)
	}
	_, err = call(many + `"0"`)
	require.NoError(t, err, "the same one twice is one")
	_, err = call(many + `"more"`)
	require.Equal(t, "INVALID_FIELD", doors.RefusalOf(err).Reason)
}

// A name is looked for on all pages of an intent's channels, up to a bound.
func TestANameIsFoundOnAnyPage(t *testing.T) {
	a := &asked{names: slices.Repeat([]string{"other"}, namePages-1)}
	_, err := sessionOf(a).named(t.Context(), address{name: "talk"})
	require.ErrorIs(t, err, errNoSuchName)
	a.names = append(a.names, "talk")
	found, err := sessionOf(a).named(t.Context(), address{name: "talk"})
	require.NoError(t, err)
	require.Equal(t, "talk", found.GetName())
	a.names = slices.Insert(a.names, 0, "other")
	_, err = sessionOf(a).named(t.Context(), address{name: "talk"})
	require.ErrorIs(t, err, errTooManyNames)
}

// A wait for a thread is for the messages of the thread, and no wait is for what the caller said itself.
func TestWhatAWaitIsFor(t *testing.T) {
	s := sessionOf(&asked{})
	for _, given := range []struct {
		of             subject
		sender, thread string
		concerns       bool
	}{
		{aThread, "ben", "t", true}, {aThread, "ben", "other", false}, {aThread, "ann", "t", false}, {aChannel, "ben", "other", true},
		{aChannel, "ann", "other", false},
	} {
		require.Equal(t, given.concerns, s.concerns(&awaited{Subject: given.of, Message: "t"}, messagesOf(given.sender, given.thread, "a")[0]), "%v", given)
	}
	require.False(t, s.concerns(&awaited{Subject: aChannel}, nil), "an event is no message")
}
