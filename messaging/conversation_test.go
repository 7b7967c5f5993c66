package messaging

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault/faulttest"
)

const (
	urgent      = openintentv1.Priority_PRIORITY_URGENT
	ambient     = openintentv1.Directedness_DIRECTEDNESS_AMBIENT
	lowPriority = openintentv1.Priority_PRIORITY_LOW
)

func names(list ...any) *structpb.ListValue {
	values, err := structpb.NewList(list)
	if err != nil {
		panic(err)
	}
	return values
}

func quorum(n any) *structpb.Value {
	value, err := structpb.NewValue(map[string]any{"quorum": n})
	if err != nil {
		panic(err)
	}
	return value
}

// under is a message with a parent.
func under(channelID, parentID, text string) *sendRequest {
	return &sendRequest{ChannelId: channelID, ParentId: &parentID, Payload: content(text)}
}

// task makes a task on the channel's intent.
func (h *house) task(t require.TestingT, channelID string) string {
	task, err := h.tasks.CreateTask(as("creator"), &openintentv1.CreateTaskRequest{
		IntentId: h.channel(t, channelID).GetIntentId(), Name: "A step",
	})
	require.NoError(t, err)
	return task.GetId()
}

func TestAMessageCarriesItsConversation(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		first := h.say(t, "alice", id, "first")
		taskID := h.task(t, id)
		sent := h.send(t, "bob", &sendRequest{
			ChannelId: id, ParentId: &first.Id, Subject: ptr("On the first"), Kind: ptr("review.finding"), TaskId: &taskID,
			Priority: urgent.Enum(), Mentions: names("carol", "role:tester"), To: ptr("alice"), MessageType: request.Enum(),
			Collect: quorum(1), Directedness: ambient.Enum(), Policy: mayRespond.Enum(), Payload: content("why?"),
		})
		require.Equal(t, first.GetId(), sent.GetParentId())
		require.Equal(t, first.GetId(), sent.GetThreadId())
		require.Equal(t, "On the first", sent.GetSubject())
		require.Equal(t, "review.finding", sent.GetKind())
		require.Equal(t, taskID, sent.GetTaskId())
		require.Equal(t, urgent, sent.GetPriority())
		require.Equal(t, []string{"carol", "role:tester"}, sent.GetMentions())
		require.Equal(t, map[string]any{"quorum": 1.0}, sent.GetCollect().AsInterface())
		require.Equal(t, ambient, sent.GetDirectedness())
		require.Equal(t, mayRespond, sent.GetPolicy())

		require.Empty(t, cmpMessages(sent, h.get(t, id, sent.GetId())), "it is stored")
		require.Empty(t, cmpMessages(first, h.get(t, id, first.GetId())), "the parent carries nothing")
		require.Nil(t, first.ParentId)
		require.Nil(t, first.Priority)
	})
}

func TestASenderWithoutWishesStoresNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.say(t, "alice", id, "nobody @here")
		h.say(t, "alice", id, "plain")
		question := h.asks(t, "alice", id, "bob")
		h.reply(t, "bob", id, question.GetId(), "plain")
		require.Equal(t, 4, h.rows(t, "messages", "conversation IS NULL AND thread_position IS NULL"))
	})
}

func TestAThreadIsThatOfTheParent(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		root := h.say(t, "alice", id, "root")
		below := h.send(t, "bob", under(id, root.GetId(), "below"))
		deeper := h.send(t, "alice", under(id, below.GetId(), "deeper"))
		require.Equal(t, below.GetId(), deeper.GetParentId())
		require.Equal(t, root.GetId(), deeper.GetThreadId())

		question := h.asks(t, "alice", id, "bob")
		answer := h.reply(t, "bob", id, question.GetId(), "because")
		require.Nil(t, answer.ParentId, "the implied parent is not printed")
		require.Nil(t, answer.ThreadId)
		thanks := h.send(t, "alice", under(id, answer.GetId(), "thanks"))
		require.Equal(t, question.GetId(), thanks.GetThreadId(), "but it is used")

		inThread := under(id, deeper.GetId(), "and why?")
		inThread.MessageType, inThread.To = request.Enum(), ptr("bob")
		asked := h.send(t, "alice", inThread)
		for name, answer := range map[string]*wireMessage{
			"read":   h.reply(t, "bob", id, asked.GetId(), "so"),
			"cached": h.reply(t, "bob", id, asked.GetId(), "so"),
		} {
			require.Equal(t, asked.GetId(), answer.GetParentId(), name)
			require.Equal(t, root.GetId(), answer.GetThreadId(), name)
			require.Empty(t, cmpMessages(answer, h.get(t, id, answer.GetId())), name)
		}

		given := under(id, question.GetId(), "named")
		given.MessageType, given.CorrelationId = response.Enum(), &question.Id
		named := h.send(t, "bob", given)
		require.Equal(t, question.GetId(), named.GetParentId())
		require.Equal(t, question.GetId(), named.GetThreadId())
		_, err := h.messaging.ReplyMessage(as("bob"), &replyRequest{ChannelId: id})
		require.ErrorContains(t, err, "message_id: name the request that this answers")
		replied, err := h.messaging.ReplyMessage(as("bob"), &replyRequest{
			ChannelId: id, MessageId: question.GetId(), ParentId: &question.Id, Payload: content("named"),
		})
		require.NoError(t, err)
		require.Equal(t, question.GetId(), replied.GetThreadId())

		given.ParentId = &root.Id
		_, err = h.messaging.SendMessage(as("bob"), given)
		faulttest.RequireBadField(t, err, "parent_id")
	})
}

// Whoever cannot see a message is told the same as for one that is not there.
func TestAParentIsAMessageThatTheSenderCanSee(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		id := h.create(t, &createRequest{IntentId: intentID, Options: &optionsInput{MaxMessages: ptr(int64(4))}})
		other := h.create(t, &createRequest{IntentId: intentID, Name: "other"})
		elsewhere := h.say(t, "alice", other, "elsewhere")
		evicted := h.say(t, "alice", id, "evicted")
		private := h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("bob"), Payload: content("private")})
		timed := h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("carol"), ExpiresAt: h.in(time.Minute), Payload: content("timed")})
		h.say(t, "alice", id, "3")
		h.say(t, "alice", id, "4")
		h.clock.Advance(time.Hour)
		var refusals []string
		for name, parentID := range map[string]string{
			"of another channel": elsewhere.GetId(), "evicted": evicted.GetId(), "private": private.GetId(),
			"expired": timed.GetId(), "absent": aMessageID, "malformed": "nonsense",
		} {
			_, err := h.messaging.SendMessage(as("carol"), under(id, parentID, "?"))
			require.Error(t, err, name)
			faulttest.RequireBadField(t, err, "parent_id")
			refusals = append(refusals, err.Error())
		}
		for _, sentence := range refusals {
			require.Equal(t, refusals[0], sentence)
		}
		h.send(t, "bob", under(id, private.GetId(), "its recipient"))
		require.EqualValues(t, 6, h.channel(t, id).GetMessageCount())

		_, err := h.messaging.SendMessageByName(as("carol"), &byNameRequest{
			IntentId: intentID, Name: "new", ParentId: ptr(aMessageID), Payload: content("?"),
		})
		faulttest.RequireBadField(t, err, "parent_id")
		require.Len(t, h.channelsOf(t, intentID), 2, "a refused message makes no channel")
	})
}

// A request whose addressee left is not shown to its recipients any more, so it is no parent for them either.
func TestAnAbandonedRequestIsAParentForItsSenderAlone(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "tester")
		id := h.open(t)
		question := h.asks(t, "alice", id, "bob")
		h.deregister(t, "bob")
		_, err := h.messaging.SendMessage(as("bob"), under(id, question.GetId(), "late"))
		faulttest.RequireBadField(t, err, "parent_id")
		h.send(t, "alice", under(id, question.GetId(), "never mind"))
	})
}

func TestATaskIsOneOfTheIntentThatTheSenderCanSee(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		own, others := h.task(t, id), h.task(t, h.open(t))
		about := func(taskID string) *sendRequest {
			return &sendRequest{ChannelId: id, TaskId: &taskID, Payload: content("about")}
		}
		require.Equal(t, own, h.send(t, "alice", about(own)).GetTaskId())
		for _, taskID := range []string{others, "task_unknown", id} {
			_, err := h.messaging.SendMessage(as("alice"), about(taskID))
			faulttest.RequireBadField(t, err, "task_id")
		}
		_, err := h.messaging.SendMessage(withinChannel("alice", id), about(own))
		faulttest.RequireBadField(t, err, "task_id")
	})
}

func TestWhichAnswersARequestCollects(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		asking := func(collect *structpb.Value) *sendRequest {
			return &sendRequest{ChannelId: id, To: ptr("bob"), MessageType: request.Enum(), Collect: collect, Payload: content("?")}
		}
		for _, collect := range []*structpb.Value{
			structpb.NewStringValue("any"), structpb.NewStringValue("one"), structpb.NewStringValue("all"), quorum(1),
		} {
			require.Equal(t, collect.AsInterface(), h.send(t, "alice", asking(collect)).GetCollect().AsInterface())
		}
		several := asking(quorum(100))
		several.To = ptr("role:reviewer")
		require.Equal(t, quorum(100).AsInterface(), h.send(t, "alice", several).GetCollect().AsInterface())
		two, err := structpb.NewValue(map[string]any{"quorum": 2, "more": true})
		require.NoError(t, err)
		for field, wrong := range map[string][]*structpb.Value{
			"collect": {quorum(2), structpb.NewStringValue("some"), structpb.NewStringValue("quorum"), two, structpb.NewNumberValue(1),
				structpb.NewStructValue(&structpb.Struct{}), structpb.NewBoolValue(true)},
			"collect.quorum": {quorum(0), quorum(101), quorum(1.5), quorum("2"), quorum(-1), quorum(nil), quorum(1e300)},
		} {
			for _, collect := range wrong {
				_, err := h.messaging.SendMessage(as("alice"), asking(collect))
				require.Error(t, err, "%v", collect)
				faulttest.RequireBadField(t, err, field)
			}
		}
		_, err = h.messaging.SendMessage(as("alice"), &sendRequest{
			ChannelId: id, Collect: structpb.NewStringValue("one"), Payload: content("no question"),
		})
		faulttest.RequireBadField(t, err, "collect")
	})
}

func TestWhatAConversationCannotSay(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		many := make([]any, 51)
		for i := range many {
			many[i] = string(rune('a'+i%26)) + string(rune('a'+i/26))
		}
		for _, row := range []struct {
			field  string
			change func(*sendRequest)
		}{
			{"subject", func(r *sendRequest) { r.Subject = ptr("two\nlines") }},
			{"subject", func(r *sendRequest) { r.Subject = ptr("a\x00b") }},
			{"kind", func(r *sendRequest) { r.Kind = ptr("a\tb") }},
			{"mentions", func(r *sendRequest) { r.Mentions = names(many...) }},
			{"mentions[1]", func(r *sendRequest) { r.Mentions = names("bob", "bob") }},
			{"mentions[0]", func(r *sendRequest) { r.Mentions = names(7) }},
			{"mentions[0]", func(r *sendRequest) { r.Mentions = names("role:") }},
			{"mentions[0]", func(r *sendRequest) { r.Mentions = names("*") }},
			{"mentions[0]", func(r *sendRequest) { r.Mentions = names("") }},
			{"mentions[1]", func(r *sendRequest) { r.Mentions = names("bob", "a/b") }},
			{"mentions[0]", func(r *sendRequest) { r.Mentions = names("role:a\x07") }},
		} {
			r := &sendRequest{ChannelId: id, Payload: content("x")}
			row.change(r)
			_, err := h.messaging.SendMessage(as("alice"), r)
			require.Error(t, err, row.field)
			faulttest.RequireBadField(t, err, row.field)
		}
		h.send(t, "alice", &sendRequest{ChannelId: id, Mentions: names(many[:50]...), Payload: content("x")})
	})
}
