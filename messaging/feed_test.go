package messaging

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/reading"
)

// feedOf gives the feed of a channel's intent for an agent.
func (h *house) feedOf(t require.TestingT, channelID, agent string) Feed {
	return Feed{IntentNo: h.key(t, channelID).IntentNo, By: caller.Caller{Agent: agent}}
}

// readAll reads a feed to its end in pages.
func (h *house) readAll(t require.TestingT, feed Feed, after int64, limit int) (entries []reading.Entry) {
	for {
		page, err := h.messaging.ReadFeed(context.Background(), feed, after, limit)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.Entries), limit)
		for _, entry := range page.Entries {
			require.Greater(t, entry.Position, after, "in order, above the cursor")
			require.LessOrEqual(t, entry.Position, page.Through)
			after = entry.Position
		}
		entries = append(entries, page.Entries...)
		if page.Through >= page.Log.Position {
			return entries
		}
		require.GreaterOrEqual(t, page.Through, after)
		after = page.Through
	}
}

// log appends an event to the intent's log.
func (h *house) log(t require.TestingT, intentID, eventType string) *openintentv1.Event {
	event, err := h.intents.AppendEvent(asOperator(), &openintentv1.AppendEventRequest{
		IntentId: intentID, EventType: eventType, Payload: content(eventType),
	})
	require.NoError(t, err)
	return event
}

// words describes entries shortly: a message's text, and an event's type in brackets.
func words(t require.TestingT, entries []reading.Entry) []string {
	said := make([]string, len(entries))
	for i, entry := range entries {
		message, event, audit, err := entry.ToWire()
		require.NoError(t, err)
		if event != nil {
			said[i] = "[" + event.GetEventType() + "]"
			continue
		}
		said[i] = textOf(message)
		if audit != nil {
			require.Equal(t, reading.MessageEventType, audit.GetEventType())
			require.Equal(t, message.GetId(), audit.GetPayload().GetFields()["message_id"].GetStringValue())
			said[i] += "+"
		}
	}
	return said
}

func TestFeedInterleavesMessagesAndEvents(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		open := h.open(t)
		intentID := h.channel(t, open).GetIntentId()
		audited := h.create(t, &createRequest{IntentId: intentID, Name: "audited", Options: &optionsInput{Audit: ptr(true)}})
		secret := h.create(t, &createRequest{
			IntentId: intentID, Name: "secret", Members: []string{"alice"},
			MemberPolicy: ptr(openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT),
		})
		begin := h.positionOf(t, open)
		h.say(t, "alice", open, "one")
		h.log(t, intentID, "thought")
		h.say(t, "alice", audited, "two")
		h.say(t, "alice", secret, "three")
		h.send(t, "alice", &sendRequest{ChannelId: audited, To: ptr("carol"), Payload: content("four")})
		h.log(t, intentID, reading.MessageEventType)
		h.say(t, "alice", open, "five")
		h.log(t, intentID, "end")
		for agent, said := range map[string]string{
			"alice": "one [thought] two+ three four+ five [end]",
			"bob":   "one [thought] two+ five [end]",
			"carol": "one [thought] two+ four+ five [end]",
		} {
			for _, limit := range []int{1, 2, 3, 100} {
				entries := h.readAll(t, h.feedOf(t, open, agent), begin, limit)
				require.Equal(t, strings.Fields(said), words(t, entries), "%s, %d at once", agent, limit)
			}
		}
		entry := h.readAll(t, h.feedOf(t, open, "bob"), begin, 1)[0]
		channel := h.channel(t, open)
		require.Equal(t, begin+1, entry.Position)
		require.Equal(t, h.key(t, open).ChannelNo, entry.ChannelNo)
		require.Equal(t, [...]string{open, channel.GetName(), intentID},
			[...]string{entry.ChannelID, entry.ChannelName, entry.IntentID})
		require.Equal(t, open, entry.Message.ChannelID)
	})
}

func TestFeedRefusesWhoMayNotRead(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.explicit(t, "alice")
		read := func(feed Feed) error {
			_, err := h.messaging.ReadFeed(context.Background(), feed, 0, 10)
			_, again := h.messaging.ReadEntries(context.Background(), feed, []int64{1})
			require.Equal(t, fmt.Sprint(err), fmt.Sprint(again))
			return err
		}
		feed := h.feedOf(t, id, "bob")
		require.NoError(t, read(feed))
		feed.ChannelNo = h.key(t, id).ChannelNo
		faulttest.Require(t, read(feed), fault.Denied, "NOT_A_MEMBER")
		h.admit(t, h.channel(t, id).GetIntentId(), "alice")
		faulttest.Require(t, read(feed), fault.Denied, "FORBIDDEN")
		feed.ChannelNo = 0
		f := faulttest.Require(t, read(feed), fault.Denied, "FORBIDDEN")
		require.Equal(t, "read", f.Metadata["required_permission"])
	})
}
