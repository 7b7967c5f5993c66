package e2e

import (
	"fmt"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"openintent/e2e/model"
	openintentv1 "openintent/gen/openintent/v1"
)

// edit gives a message another text, or the one that it has.
func (y *history) edit(t *rapid.T) {
	c := y.drawChannel(t)
	caller, named := y.drawActing(t)
	answered := sometimes(t, "an answered one")
	m := drawMessage(t, c, func(m *model.Message) bool { return m.Sender != model.System && (m.Answered || !answered) })
	if m != nil && m.Sender != model.System && !seldom(t, "anybody edits") {
		caller, named = m.Sender, ""
	}
	text, supersede := pick(t, "text", []string{"yes", "no", "perhaps"}), sometimes(t, "supersede")
	expected := y.world.Edit(caller, named, c, m, text, supersede)
	if unsaid(c, expected) {
		return
	}
	got, err := y.as(caller).Messages.UpdateMessage(y.ctx, &openintentv1.UpdateMessageRequest{
		ChannelId: c.ID, MessageId: idOf(m), AgentId: given(named), Payload: payload(text), Supersede: supersede,
	})
	if y.came(t, "edit", expected, err) {
		y.same(t, m, got)
	}
	y.wrote()
	y.check(t, c)
}

// deletes deletes the content of a message, which may be gone already.
func (y *history) deletes(t *rapid.T) {
	c := y.drawChannel(t)
	caller, named := y.drawActing(t)
	request := sometimes(t, "a request")
	m := drawMessage(t, c, func(m *model.Message) bool { return m.Sender != model.System && (answerable(m) || !request) })
	switch below(t, "who deletes", 4) {
	case 0, 1:
		if m != nil && m.Sender != model.System {
			caller, named = m.Sender, ""
		}
	case 2:
		caller, named = c.Creator, ""
	}
	expected := y.world.DeleteContent(caller, named, c, m)
	if unsaid(c, expected) {
		return
	}
	got, err := y.as(caller).Messages.DeleteMessage(y.ctx, &openintentv1.DeleteMessageRequest{
		ChannelId: c.ID, MessageId: idOf(m), AgentId: given(named),
	})
	if y.came(t, "delete", expected, err) {
		y.same(t, m, got)
	}
	y.wrote()
	y.check(t, c)
}

// react sets a signal on a message or takes it away.
func (y *history) react(t *rapid.T) {
	c := y.drawChannel(t)
	caller, named := y.drawActing(t)
	m := drawMessage(t, c, func(m *model.Message) bool { return y.world.Sees(caller, m) })
	signal, remove := pick(t, "signal", []string{"seen", "working", "x-later"}), seldom(t, "take away") || seldom(t, "take away all the same")
	expected := y.world.React(caller, named, c, m, signal, remove)
	if unsaid(c, expected) {
		return
	}
	var got *openintentv1.ListReactionsResponse
	var err error
	if remove {
		got, err = y.as(caller).Reactions.RemoveReaction(y.ctx, &openintentv1.RemoveReactionRequest{
			ChannelId: c.ID, MessageId: idOf(m), AgentId: given(named), Signal: signal,
		})
	} else {
		got, err = y.as(caller).Reactions.AddReaction(y.ctx, &openintentv1.AddReactionRequest{
			ChannelId: c.ID, MessageId: idOf(m), AgentId: given(named), Signal: signal,
		})
	}
	if y.came(t, "react", expected, err) {
		requireReactions(t, m, got.GetReactions())
	}
	y.wrote()
}

func requireReactions(t *rapid.T, m *model.Message, got []*openintentv1.Reaction) {
	require.Len(t, got, len(m.Reactions))
	for i, one := range m.Reactions {
		require.Equal(t, model.Reaction{Agent: got[i].GetAgentId(), Signal: got[i].GetSignal()}, one)
	}
}

// lookClosely lists the reactions to a message and its revisions.
func (y *history) lookClosely(t *rapid.T) {
	caller, c := y.drawCaller(t), y.drawChannel(t)
	m := drawMessage(t, c, func(m *model.Message) bool { return len(m.Reactions)+len(m.Before) > 0 })
	expected := y.world.Look(caller, c, m)
	reactions, err := y.as(caller).Reactions.ListReactions(y.ctx, &openintentv1.ListReactionsRequest{ChannelId: c.ID, MessageId: idOf(m)})
	if y.came(t, "look closely", expected, err) {
		requireReactions(t, m, reactions.GetReactions())
	}
	revisions, err := y.as(caller).Messages.ListRevisions(y.ctx, &openintentv1.ListRevisionsRequest{ChannelId: c.ID, MessageId: idOf(m)})
	if !y.came(t, "look closely", expected, err) {
		return
	}
	require.Len(t, revisions.GetRevisions(), len(m.Said()))
	for i, text := range m.Said() {
		require.True(t, proto.Equal(payload(text), revisions.GetRevisions()[i].GetPayload()), "revision %d", i+1)
	}
}

// followAnnotations streams a closed channel from its beginning, with annotations. The stream must deliver what the model shows, in
// the same order.
func (y *history) followAnnotations(t *rapid.T, viewer string, c *model.Channel) {
	if _, outcome := y.world.ListMessages(viewer, c, model.Query{Limit: 1}); outcome != model.OK {
		return // such a stream is refused as any other is
	}
	stream, err := y.as(viewer).Messages.Subscribe(y.ctx, &openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: c.ID}, AfterPosition: proto.Int64(0), Include: []string{"annotations"},
	})
	require.NoError(t, err)
	deliveries, end := drain(t, c, stream)
	require.EqualValues(t, "CHANNEL_CLOSED", end)
	var expected, got []string
	for _, entry := range y.world.Entries(viewer, c) {
		expected = append(expected, entryLine(entry))
	}
	for _, delivery := range deliveries {
		got = append(got, deliveryLine(delivery))
	}
	require.Equal(t, expected, got, "%s follows %#v", viewer, c)
}

// entryLine describes a message or an annotation of the model.
func entryLine(entry model.LogEntry) string {
	a := entry.Annotation
	switch {
	case a == nil:
		return entry.Message.ID
	case a.Deleted:
		return fmt.Sprintf("message_deleted %s %s", a.Message.ID, a.Agent)
	case a.Revision > 0:
		return fmt.Sprintf("message_edited %s %s %d", a.Message.ID, a.Agent, a.Revision)
	case a.Removed:
		return fmt.Sprintf("message_reaction %s %s %s removed", a.Message.ID, a.Agent, a.Signal)
	}
	return fmt.Sprintf("message_reaction %s %s %s added", a.Message.ID, a.Agent, a.Signal)
}

// deliveryLine describes a message or an annotation as a stream delivered it.
func deliveryLine(delivery *openintentv1.SubscribeResponse) string {
	a := delivery.GetAnnotation()
	switch {
	case a == nil:
		return delivery.GetMessage().GetId()
	case a.GetType() == "message_deleted":
		return fmt.Sprintf("%s %s %s", a.GetType(), a.GetMessageId(), a.GetAgentId())
	case a.Revision != nil:
		return fmt.Sprintf("%s %s %s %d", a.GetType(), a.GetMessageId(), a.GetAgentId(), a.GetRevision())
	}
	return fmt.Sprintf("%s %s %s %s %s", a.GetType(), a.GetMessageId(), a.GetAgentId(), a.GetSignal(), a.GetChange())
}
