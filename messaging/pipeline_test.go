package messaging

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/status"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/messaging/message"
)

type wireAnswer = openintentv1.SendMessagesResponse

// refusalForm is a short form of a refusal: its kind and its reason.
func refusalForm(err error) *status.Status {
	f := fault.From(err)
	return &status.Status{Code: int32(f.Kind), Message: f.Reason}
}

func TestPipelinedMessagesAreAnsweredAndStoredInTheirOrder(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		ids := []string{
			h.create(t, &createRequest{IntentId: intentID, Name: "one"}),
			h.create(t, &createRequest{IntentId: intentID, Name: "two", Options: &optionsInput{Audit: ptr(true)}}), h.open(t),
		}
		const each = 150
		var all []*sendRequest
		for i := range each {
			for _, id := range ids {
				all = append(all, numbered(id, i, i)...)
			}
		}
		p := h.pipe(t, "alice")
		taken := p.sends(all...)
		acknowledged := p.ids(t, len(all))
		<-taken
		close(p.requests)
		require.NoError(t, p.end(t))
		for i, id := range ids {
			listed := h.list(t, "bob", &listRequest{ChannelId: id})
			require.Len(t, listed, each)
			for n, m := range listed {
				require.Equal(t, fmt.Sprint(n), textOf(m))
				require.Equal(t, acknowledged[n*len(ids)+i], m.GetId(), "the answers are in the order of the messages")
			}
		}
	})
}

// What SendMessage would refuse is refused in its place, in the same words, and the stream goes on.
func TestPipelinedRefusalsEndNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id, closed, private := h.open(t), h.open(t), h.explicit(t, "bob")
		h.closeChannel(t, closed)
		invalid := fault.BadField("payload", "must be given")
		refused := []*sendRequest{
			{ChannelId: "chan_unknown"},
			{ChannelId: closed, Payload: content("late")},
			{ChannelId: private, Payload: content("not a member")},
			{ChannelId: id, Sender: ptr("bob")},
			{ChannelId: id, MessageType: ptr(request)},
			{ChannelId: id, To: ptr("alice")},
			{ChannelId: id, MessageType: ptr(response), CorrelationId: ptr(message.NewID())},
			{ChannelId: id, ExpiresAt: h.in(-time.Hour)},
			{ChannelId: id, Payload: content(strings.Repeat("x", defaultMaxPayloadBytes))},
		}
		p := h.pipe(t, "alice")
		for i, r := range refused {
			_, err := h.messaging.SendMessage(as("alice"), r)
			require.Error(t, err)
			p.sends(r, numbered(id, i, i)[0])
			require.Equal(t, refusalForm(err).GetMessage(), p.answer(t).GetRefusal().GetMessage())
			p.ids(t, 1)
		}
		p.requests <- pipeRequest{err: invalid}
		require.Equal(t, "INVALID_FIELD", p.answer(t).GetRefusal().GetMessage())
		close(p.requests)
		require.NoError(t, p.end(t))
		require.Len(t, h.list(t, "bob", &listRequest{ChannelId: id}), len(refused))
	})
}

func TestPipelinedRepeatsUnderAKeyAreTheSameMessage(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		p := h.pipe(t, "alice")
		p.sends(keyed(id, "a", "x"), keyed(id, "b", "y"), keyed(id, "a", "x"), keyed(id, "b", "other"))
		first := p.ids(t, 3)
		require.Equal(t, first[0], first[2], "within a stream, within a batch or not")
		require.Equal(t, "IDEMPOTENCY_KEY_REUSED", p.answer(t).GetRefusal().GetMessage())
		close(p.requests)
		require.NoError(t, p.end(t))

		p = h.pipe(t, "alice")
		p.sends(keyed(id, "a", "x"), keyed(id, "b", "y"), keyed(id, "c", "z"))
		again := p.ids(t, 3)
		require.Equal(t, first[:2], again[:2], "across streams")
		require.Equal(t, again[2], h.send(t, "alice", keyed(id, "c", "z")).GetId(), "and calls")
		require.Equal(t, []string{"x", "y", "z"}, textsOf(h.list(t, "bob", &listRequest{ChannelId: id})))
	})
}

// While nothing is committed, all that may be in flight gathers, and no more.
func TestPipelinedMessagesWaitForRoomInTheWindow(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		id := h.open(t)
		_, release := f.hold()
		defer release()
		const all = 3 * maxUnanswered
		p := h.pipe(t, "alice")
		taken := p.sends(numbered(id, 1, all)...)
		p.isAsked(t, maxUnanswered)
		release()
		p.ids(t, all)
		<-taken
		require.Equal(t, maxUnanswered, p.widest)
		require.Equal(t, int64(all), h.channel(t, id).GetMessageCount())
	})
}

// A client that does not hear its answers is not listened to for ever.
func TestPipelinedAnswersThatNobodyHearsFillTheWindow(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		large := &sendRequest{ChannelId: id, Payload: content(strings.Repeat("x", 200<<10))}
		fits := maxUnansweredBytes/(200<<10) + 1
		p := h.pipe(t, "alice")
		p.sends(slices.Repeat([]*sendRequest{large}, 3*fits)...)
		eventually(t, func() bool { return h.channel(t, id).GetMessageCount() == int64(fits) }, "the bytes that may be in flight are not used")
		p.ids(t, 3*fits)
		require.LessOrEqual(t, p.widest, fits)
	})
}

func TestStoppingAnswersWhatAPipelineTookUp(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		id := h.open(t)
		_, release := f.hold()
		defer release()
		p := h.pipe(t, "alice")
		p.handsOver(t, numbered(id, 1, 10)...)
		reason := fault.New(fault.Unavailable, "STOPPED", "The test is over.")
		p.leave(reason)
		release()
		p.ids(t, 10)
		require.ErrorIs(t, p.end(t), reason)
	})
}

// What a stopping writer does not take any more is refused message by message.
func TestAStoppingWriterRefusesPipelinedMessages(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		p := h.pipe(t, "alice")
		p.sends(numbered(id, 1, 1)...)
		p.ids(t, 1)
		h.messaging.Stop()
		p.sends(numbered(id, 2, 2)...)
		require.Equal(t, "SERVER_STOPPING", p.answer(t).GetRefusal().GetMessage())
	})
}

func TestWhatALostClientPipelinedIsStored(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		id := h.open(t)
		_, release := f.hold()
		defer release()
		p := h.pipe(t, "alice")
		p.handsOver(t, numbered(id, 1, 10)...)
		p.leave(nil)
		release()
		require.ErrorIs(t, p.end(t), context.Canceled)
		eventually(t, func() bool { return h.channel(t, id).GetMessageCount() == 10 }, "the messages are not stored")
	})
}

func TestAFailedReceiptEndsAPipeline(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		p := h.pipe(t, "alice")
		p.sends(numbered(id, 1, 1)...)
		p.ids(t, 1)
		p.requests <- pipeRequest{err: errInjected}
		require.ErrorIs(t, p.end(t), errInjected)

		p = h.pipe(t, "alice")
		p.requests <- pipeRequest{panics: true}
		require.ErrorContains(t, p.end(t), "panic")
		require.Equal(t, int64(1), h.channel(t, id).GetMessageCount())
	})
}

// A message whose submission panics is refused, and those after it are stored.
func TestAPanicRefusesOneMessageOfAPipeline(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		broken := new(caller.Quota) // it panics when it is asked, because it does not count bytes
		broken.Set(caller.Rates{MessagesPerSecond: 1000})
		c, _ := caller.From(as("alice"))
		c.Quota = broken
		p := h.pipeIn(t, caller.NewContext(t.Context(), c))
		p.sends(numbered(id, 1, 1)...)
		require.Equal(t, "INTERNAL", p.answer(t).GetRefusal().GetMessage())
		broken.Set(caller.Rates{MessagesPerSecond: 1000, BytesPerSecond: 1 << 20})
		p.sends(numbered(id, 2, 2)...)
		p.ids(t, 1)
		require.Equal(t, []string{"2"}, textsOf(h.list(t, "bob", &listRequest{ChannelId: id})))
	})
}

// A commit that fails refuses its batch's messages, and those after it are stored.
func TestFailedCommitsRefusePipelinedMessages(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		id := h.open(t)
		p := h.pipe(t, "alice")
		f.set(times(1), nil)
		p.sends(numbered(id, 1, 1)...)
		require.Equal(t, "INTERNAL", p.answer(t).GetRefusal().GetMessage())
		p.sends(numbered(id, 2, 2)...)
		p.ids(t, 1)
		require.Equal(t, []string{"2"}, textsOf(h.list(t, "bob", &listRequest{ChannelId: id})))
	})
}

// Intents that another replica holds are passed over, and what comes for them meanwhile does not overtake.
func TestPipelinedMessagesKeepTheirOrderWhenPassedOver(t *testing.T) {
	t.Parallel()
	h := newHouse(t, database.PostgreSQL)
	other := h.replica(t)
	free, busy, alsoBusy := h.open(t), h.open(t), h.open(t)
	var all []*sendRequest
	const each = 200
	for i := range each {
		for _, id := range []string{free, busy, alsoBusy} {
			all = append(all, numbered(id, i, i)...)
		}
	}
	p := h.pipe(t, "alice")
	nothing := func(*database.Tx, *intents.Head) error { return nil }
	letGo := holdHead(t, other, h.key(t, busy), nothing)
	defer letGo()
	p.sends(all...)
	eventually(t, func() bool { return h.channel(t, free).GetMessageCount() > 0 }, "what is free is not stored")
	alsoLetGo := holdHead(t, other, h.key(t, alsoBusy), nothing)
	defer alsoLetGo()
	letGo()
	p.ids(t, 2)
	alsoLetGo()
	p.ids(t, len(all)-2)
	for _, id := range []string{free, busy, alsoBusy} {
		for n, m := range h.list(t, "bob", &listRequest{ChannelId: id}) {
			require.Equal(t, fmt.Sprint(n), textOf(m))
		}
		require.Equal(t, int64(each), h.channel(t, id).GetMessageCount())
	}
}
