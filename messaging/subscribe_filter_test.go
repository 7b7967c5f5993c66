package messaging

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/messaging/message"
	"openintent/messaging/reading"
)

func TestFiltersOfStreams(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, &createRequest{Options: &optionsInput{Audit: ptr(true)}})
		intentID, begin := h.channel(t, id).GetIntentId(), h.positionOf(t, id)
		asked := h.askFor(t, "alice", id, "bob", "ask")
		h.log(t, intentID, "thought")
		h.reply(t, "bob", id, asked.GetId(), "answer")
		h.log(t, intentID, "doubt")
		h.say(t, "alice", id, "note")
		h.log(t, intentID, "end")
		response := ptr(response)
		for _, row := range []struct {
			name    string
			types   []string
			kind    *openintentv1.MessageType
			answers *string
			said    string
			onOne   string // what of it a channel's stream has
		}{
			{"nothing", nil, nil, nil, "ask [thought] answer [doubt] note [end]", "ask answer note"},
			{"types", []string{"doubt", "end"}, nil, nil, "[doubt] [end]", ""},
			{"messages", []string{reading.MessageEventType}, nil, nil, "ask answer note", "ask answer note"},
			{"messages and a type", []string{"end", reading.MessageEventType}, nil, nil, "ask answer note [end]", "ask answer note"},
			{"unknown types", []string{"none"}, nil, nil, "", ""},
			{"kind", nil, response, nil, "answer", "answer"},
			{"correlation", nil, nil, ptr(asked.GetId()), "answer", "answer"},
			{"both", nil, response, ptr(asked.GetId()), "answer", "answer"},
			{"neither kind", nil, ptr(broadcast), nil, "", ""},
			{"another's answers", nil, nil, ptr("msg_0"), "", ""},
			{"kind and type", []string{"end"}, response, nil, "", ""},
			{"kind and messages", []string{"end", reading.MessageEventType}, response, nil, "answer", "answer"},
		} {
			req := &openintentv1.SubscribeRequest{
				Scope:         &openintentv1.SubscribeRequest_IntentId{IntentId: intentID},
				AfterPosition: &begin, EventTypes: row.types, MessageType: row.kind, CorrelationId: row.answers,
			}
			filter, err := reading.FilterFrom(row.types, req.GetMessageType(), req.GetCorrelationId(), nil)
			require.NoError(t, err)
			feed := h.feedOf(t, id, "bob")
			feed.Filter = filter
			entries := h.readAll(t, feed, begin, 10)
			require.Equal(t, strings.Fields(row.said), plain(words(t, entries)), row.name)
			for _, scoped := range []struct{ said string }{{row.said}, {row.onOne}} {
				f, err := h.trySubscribe(as("bob"), req)
				require.NoError(t, err)
				expected := strings.Fields(scoped.said)
				require.Equal(t, expected, f.said(t, len(expected)), row.name)
				require.Empty(t, f.untilCaughtUp(t), row.name)
				f.cancel()
				req.Scope = &openintentv1.SubscribeRequest_ChannelId{ChannelId: id}
			}
		}
	})
}

// plain takes the signs of copies off words.
func plain(words []string) []string {
	stripped := []string{}
	for _, word := range words {
		stripped = append(stripped, strings.TrimSuffix(word, "+"))
	}
	return stripped
}

// The live part of a stream is filtered as its history is, and a filtered cursor moves on.
func TestFiltersOfLiveStreams(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		intentID := h.channel(t, id).GetIntentId()
		f, err := h.trySubscribe(as("bob"), &openintentv1.SubscribeRequest{
			Scope:      &openintentv1.SubscribeRequest_IntentId{IntentId: intentID},
			EventTypes: []string{"thought"},
		})
		require.NoError(t, err)
		t.Cleanup(f.cancel)
		for i := range 3 {
			h.say(t, "alice", id, fmt.Sprint(i))
			h.log(t, intentID, "doubt")
			h.log(t, intentID, "thought")
		}
		require.Equal(t, []string{"[thought]", "[thought]", "[thought]"}, f.said(t, 3))
		testers, err := h.trySubscribe(as("tess"), &openintentv1.SubscribeRequest{
			Scope:       &openintentv1.SubscribeRequest_IntentId{IntentId: intentID},
			MessageType: ptr(request),
		})
		require.NoError(t, err)
		t.Cleanup(testers.cancel)
		h.askFor(t, "alice", id, "role:tester", "ask")
		h.say(t, "alice", id, "note")
		h.askFor(t, "alice", id, "tess", "ask tess")
		require.Equal(t, []string{"ask tess"}, testers.said(t, 1))
		h.register(t, "tess", "tester")
		require.Equal(t, []string{"<ask"}, testers.said(t, 1))
	})
}

func TestTheAgentScopeIsLeftToWhoeverHasItsLog(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.messaging.OnSubscribeAgent(func(
			_ context.Context, by caller.Caller, agentID string, after *int64, filter reading.Filter,
			admitted func(int64) error, send func(*openintentv1.SubscribeResponse) error,
		) error {
			require.Equal(t, "alice", by.Agent)
			require.Equal(t, "bob", agentID)
			require.Equal(t, reading.Filter{EventTypes: []string{"a"}, MessageType: message.TypeRequest, CorrelationID: "m"}, filter)
			if err := admitted(*after + 1); err != nil {
				return err
			}
			return send(&openintentv1.SubscribeResponse{Position: 7})
		})
		f, err := h.trySubscribe(as("alice"), &openintentv1.SubscribeRequest{
			Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: "bob"}, AfterPosition: ptr(int64(5)),
			EventTypes: []string{"a"}, MessageType: ptr(request), CorrelationId: ptr("m"),
		})
		require.NoError(t, err)
		require.Equal(t, []string{"6"}, f.accepted.Get(PositionHeader))
		require.EqualValues(t, 7, f.next(t).GetPosition())
		require.NoError(t, f.end(t))
	})
}
