package e2e

import (
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"openintent/e2e/model"
	openintentv1 "openintent/gen/openintent/v1"
)

// list lists messages with some filters and some cursor.
func (y *history) list(t *rapid.T) {
	caller, c := y.drawCaller(t), y.drawChannel(t)
	query, since := y.drawCursor(t, c)
	query.Limit = pick(t, "limit", []int{1, 2, 5, 1000})
	request := &openintentv1.ListMessagesRequest{ChannelId: c.ID, Since: given(since), Limit: proto.Int32(int32(query.Limit))}
	if sometimes(t, "by recipient") {
		query.Recipient = y.drawAgent(t, "recipient")
		request.To = &query.Recipient
	}
	if seldom(t, "by type") {
		query.Type = pick(t, "type", []string{"request", "response", "notify", "broadcast"})
		request.MessageType = messageTypes[query.Type].Enum()
	}
	if seldom(t, "by request") {
		query.CorrelationID = idOf(drawMessage(t, c, answerable))
		request.CorrelationId = &query.CorrelationID
	}
	y.compareList(t, caller, c, query, request)
}

// drawCursor draws the cursor where a list begins.
func (y *history) drawCursor(t *rapid.T, c *model.Channel) (query model.Query, since string) {
	sent := c.Sent
	switch choice := below(t, "since", 10); {
	case choice < 3 || len(sent) == 0:
		return query, ""
	case choice < 6: // evicted or not
		query.After = pick(t, "cursor", sent)
		return query, query.After.ID
	case choice < 7:
		query.AfterTime = pick(t, "moment", sent).CreatedAt
		return query, query.AfterTime.Format(time.RFC3339Nano)
	case choice < 8:
		query.Oldest = true
		return query, unknownMessage
	case choice < 9:
		query.Malformed = true
		return query, "yesterday"
	}
	for _, other := range y.world.Channels {
		// The server remembers an evicted message only for a while.
		if retained := other.Retained(); other != c && !other.Deleted && len(retained) > 0 {
			query.After = retained[len(retained)-1]
			return query, query.After.ID
		}
	}
	return query, ""
}

func (y *history) compareList(
	t *rapid.T, caller string, c *model.Channel, query model.Query, request *openintentv1.ListMessagesRequest,
) {
	expected, outcome := y.world.ListMessages(caller, c, query)
	got, err := y.as(caller).Messages.ListMessages(y.ctx, request)
	if !y.came(t, "list", outcome, err) {
		return
	}
	y.sameMessages(t, expected, got.GetMessages())
	switch next := got.GetNextSince(); {
	case len(expected) > 0:
		require.Equal(t, expected[len(expected)-1].ID, next)
	case request.GetSince() != "":
		require.Equal(t, request.GetSince(), next)
	default:
		y.fromNowOn(t, c, next)
	}
}

// fromNowOn asserts that a time lies after everything that was sent and before everything that will be sent.
func (y *history) fromNowOn(t *rapid.T, c *model.Channel, cursor string) {
	at, err := time.Parse(time.RFC3339Nano, cursor)
	require.NoError(t, err)
	require.True(t, at.Before(y.world.Now.Add(tick)))
	for _, m := range c.Sent {
		require.False(t, m.CreatedAt.After(at))
	}
}

func (y *history) sameMessages(t *rapid.T, expected []*model.Message, got []*openintentv1.Message) {
	require.Equal(t, idsOf(expected, modelID), idsOf(got, (*openintentv1.Message).GetId))
	for i, m := range expected {
		y.same(t, m, got[i])
	}
}

func idsOf[M any](messages []M, id func(M) string) []string {
	ids := make([]string, len(messages))
	for i, m := range messages {
		ids[i] = id(m)
	}
	return ids
}

// check compares everything that the model shows each viewer of a channel with what the server shows.
func (y *history) check(t *rapid.T, c *model.Channel) {
	viewer := pick(t, "looks", y.viewers())
	y.compareList(t, viewer, c, model.Query{Limit: 1000}, &openintentv1.ListMessagesRequest{ChannelId: c.ID})
}

// viewers returns everyone who may look.
func (y *history) viewers() []string { return append([]string{model.Operator}, y.agents...) }

// checkSomewhere checks one channel after a step that may have changed any channel.
func (y *history) checkSomewhere(t *rapid.T) {
	if len(y.world.Channels) > 0 {
		y.check(t, pick(t, "checked", y.world.Channels))
	}
}

func (y *history) get(t *rapid.T) {
	caller, c := y.drawCaller(t), y.drawChannel(t)
	m := drawMessage(t, c, func(m *model.Message) bool { return y.world.Sees(caller, m) })
	expected := y.world.Get(caller, c, m)
	got, err := y.as(caller).Messages.GetMessage(y.ctx, &openintentv1.GetMessageRequest{ChannelId: c.ID, MessageId: idOf(m)})
	if y.came(t, "get", expected, err) {
		y.same(t, m, got)
	}
}

func (y *history) markRead(t *rapid.T) {
	c := y.drawChannel(t)
	caller, named := y.drawActing(t)
	m := drawMessage(t, c, func(m *model.Message) bool { return y.world.Receives(caller, m) })
	expected := y.world.MarkRead(caller, named, c, m)
	if unsaid(c, expected) {
		return
	}
	got, err := y.as(caller).Messages.UpdateMessage(y.ctx, &openintentv1.UpdateMessageRequest{
		ChannelId: c.ID, MessageId: idOf(m), Status: openintentv1.MessageStatus_MESSAGE_STATUS_READ, AgentId: given(named),
	})
	if y.came(t, "mark read", expected, err) {
		y.same(t, m, got)
	}
	y.wrote()
	y.check(t, c)
}

// responses fetches the answers to an earlier question without waiting.
func (y *history) responses(t *rapid.T) {
	c := y.drawChannel(t)
	m := drawMessage(t, c, func(m *model.Message) bool { return m.Answered })
	caller := y.drawCaller(t)
	switch below(t, "who", 4) {
	case 0, 1:
		if m != nil && m.Sender != model.System {
			caller = m.Sender
		}
	case 2:
		caller = c.Intent.Creator // who mostly takes part, and seldom asked
	}
	if m != nil && y.mayBeGone(m) {
		return
	}
	expected, outcome := y.world.Responses(caller, c, m)
	got, err := y.as(caller).Messages.AwaitResponses(y.ctx, &openintentv1.AwaitResponsesRequest{ChannelId: c.ID, MessageId: idOf(m)})
	if y.came(t, "responses", outcome, err) {
		y.sameMessages(t, expected, got.GetResponses())
	}
}

// mayBeGone reports whether a sweep may have removed an evicted message, or expired it, at a moment that the model
// cannot know. A request and its answers are kept until its deadline; an unanswered request without a deadline is
// kept for a day.
func (y *history) mayBeGone(m *model.Message) bool {
	deadline := m.ExpiresAt
	if deadline.IsZero() && !m.Answered {
		deadline = m.CreatedAt.Add(24 * time.Hour) // at the earliest: the day begins with the eviction
	}
	kept := m.Type == "request" && !m.Ended && y.world.Now.Before(deadline)
	return m.Evicted() && !kept
}

// conclude compares everything that every agent sees at the end of a history, on every path.
func (y *history) conclude(t *rapid.T) {
	operator := y.as(model.Operator)
	for _, intent := range y.world.Intents {
		for _, viewer := range y.viewers() {
			y.compareChannels(t, viewer, intent, "")
		}
		verified, err := operator.Events.VerifyEvents(y.ctx, &openintentv1.VerifyEventsRequest{IntentId: intent.ID})
		require.NoError(t, err)
		require.True(t, verified.GetChainValid(), "the chain of events is broken: %v", verified.GetBreaks())
		log, err := operator.Events.ListEvents(y.ctx, &openintentv1.ListEventsRequest{
			IntentId: intent.ID, EventType: proto.String("channel_message"), Order: proto.String("asc"), Limit: proto.Int32(1000),
		})
		require.NoError(t, err)
		require.Equal(t, idsOf(intent.Log, modelID), idsOf(log.GetEvents(), copied), "audited messages are in the log")
	}
	for _, c := range y.world.Channels {
		if c.Open() {
			y.closeChannel(t, model.Operator, c)
		}
		y.checkWatched(t, c)
		if c.Deleted {
			continue
		}
		for _, viewer := range y.viewers() {
			y.follow(t, viewer, c)
			y.followAnnotations(t, viewer, c)
		}
	}
}

// copied returns the id of the message that an event copies.
func copied(event *openintentv1.Event) string {
	return event.GetPayload().GetFields()["message_id"].GetStringValue()
}
