package messaging

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/messaging/reading"
	"openintent/messaging/wake"
)

// overhearLog listens as those do who follow the log of a channel's intent, and takes what one call brings.
func (h *house) overhearLog(t require.TestingT, channelID string, do func()) *wake.Handover {
	listening := h.messaging.hub.Listen(wake.FeedTopic(h.key(t, channelID).IntentNo))
	defer listening.Close()
	do()
	given, look := listening.Take()
	if look {
		return nil
	}
	require.Len(t, given, 1)
	return given[0]
}

// endOf reads a feed to its end.
func (h *house) endOf(t require.TestingT, feed Feed) FeedPage {
	page, err := h.messaging.ReadFeed(context.Background(), feed, 0, feedPage)
	require.NoError(t, err)
	require.NotNil(t, page.End)
	return page
}

// What a feed goes on with by a handover is what a read would show; where a handover cannot tell, only a read goes on.
func TestAFeedGoesOnByWhatIsHandedOver(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "judge")
		open := h.open(t)
		intentID := h.channel(t, open).GetIntentId()
		audited := h.create(t, &createRequest{IntentId: intentID, Name: "audited", Options: &optionsInput{Audit: ptr(true)}})
		members := h.explicitIn(t, intentID, "members", "ann", "bob")
		others := h.explicitIn(t, intentID, "others", "ann", "eve")
		say := func(sender, id, to string) func() {
			return func() { h.send(t, sender, &sendRequest{ChannelId: id, To: &to, Payload: content("said")}) }
		}
		say("bob", open, "ann")() // so that bob takes part
		say("bob", members, "ann")()
		for name, c := range map[string]struct {
			do     func()
			known  bool
			hidden bool
		}{
			"to the reader":               {do: say("ann", open, "bob"), known: true},
			"to the reader, audited":      {do: say("ann", audited, "bob"), known: true},
			"to the reader among members": {do: say("ann", members, "bob"), known: true},
			"to everyone":                 {do: say("ann", open, "*"), known: true},
			"by the reader":               {do: say("bob", open, "ann"), known: true},
			"to somebody else":            {do: say("ann", open, "eve"), known: true, hidden: true},
			"a request": {known: true, do: func() {
				h.send(t, "ann", &sendRequest{ChannelId: open, To: ptr("bob"), MessageType: ptr(request), ExpiresAt: h.in(time.Hour), Payload: content("?")})
			}},
			"to a role":                 {do: say("ann", open, "role:judge")},
			"to everyone among members": {do: say("ann", members, "*")},
			"among other members":       {do: say("ann", others, "*")},
		} {
			t.Run(name, func(t *testing.T) {
				feed := h.feedOf(t, open, "bob")
				feed.Reaching = true
				before := h.endOf(t, feed)
				stored := h.overhearLog(t, open, c.do)
				read, err := h.messaging.ReadFeed(t.Context(), feed, before.Through, feedPage)
				require.NoError(t, err)
				page, known := h.messaging.FeedFromHandover(feed, before.End, stored)
				require.Equal(t, c.known, known)
				if !known {
					return
				}
				require.Equal(t, c.hidden, len(read.Entries) == 0)
				for i := range read.Entries {
					read.Entries[i].Audit = nil // the handover has none
				}
				require.Equal(t, wires(t, read.Entries), wires(t, page.Entries))
				for i := range page.Entries {
					require.NotNil(t, page.Entries[i].Content)
					page.Entries[i].Content = nil // all who are handed the message share it
				}
				require.Equal(t, read.Entries, page.Entries)
				require.Equal(t, read.Through, page.Through)
				require.Equal(t, read.Log, page.Log)
				require.True(t, read.End.head.Same(page.End.head))
				require.True(t, page.End.Has(stored))
				_, known = h.messaging.FeedFromHandover(feed, page.End, stored)
				require.False(t, known, "it went on already")
			})
		}
	})
}

// Only a read goes on when anything but the handed-over commit has happened, when the handover is old, and when the reader may no
// longer read.
func TestAFeedGoesOnOnlyFromItsEnd(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "")
		for name, between := range map[string]func(t *testing.T, id string){
			"nothing":           func(*testing.T, string) {},
			"another message":   func(t *testing.T, id string) { h.say(t, "ann", id, "before") },
			"a logged event":    func(t *testing.T, id string) { h.log(t, h.channel(t, id).GetIntentId(), "thought") },
			"a change of rules": func(t *testing.T, id string) { h.admit(t, h.channel(t, id).GetIntentId(), "bob", "ann") },
			"an edit": func(t *testing.T, id string) {
				h.edit(t, "bob", h.list(t, "bob", &listRequest{ChannelId: id})[0], "other words")
			},
			"a new record":   func(t *testing.T, _ string) { h.register(t, "bob", "judge") },
			"some time":      func(*testing.T, string) {},
			"lost access":    func(t *testing.T, id string) { h.admit(t, h.channel(t, id).GetIntentId(), "ann") },
			"with attention": func(*testing.T, string) {},
			"other rules":    func(t *testing.T, id string) { h.admit(t, h.channel(t, id).GetIntentId(), "bob", "ann") },
			"as a guest":     func(*testing.T, string) {},
		} {
			t.Run(name, func(t *testing.T) {
				id := h.open(t)
				h.send(t, "bob", &sendRequest{ChannelId: id, To: ptr("ann"), Payload: content("hello")})
				feed := h.feedOf(t, id, "bob")
				feed.Reaching = true
				end := h.endOf(t, feed).End
				if name != "lost access" && name != "other rules" {
					between(t, id)
				}
				stored := h.overhearLog(t, id, func() {
					h.send(t, "ann", &sendRequest{ChannelId: id, To: ptr("bob"), Payload: content("after")})
				})
				require.NotNil(t, stored)
				switch name {
				case "some time":
					h.clock.Advance(2 * wake.SharedFor)
				case "lost access":
					between(t, id)
					end = &FeedEnd{head: stored.Before, presence: end.presence, part: end.part}
					stored.Before.Epoch++ // as if the rules of the epoch after were those of the commit
					stored.Head.Epoch, end.head = stored.Before.Epoch, stored.Before
				case "other rules": // as if the commit had made them
					between(t, id)
					h.say(t, "ann", id, "so that the rules are known")
					stored.Head.Epoch = h.endOf(t, feed).End.head.Epoch
				case "with attention":
					feed.Filter.Attention = true
				case "as a guest":
					feed.By = caller.Caller{Agent: caller.GuestPrefix + "x"}
				}
				_, known := h.messaging.FeedFromHandover(feed, end, stored)
				require.Equal(t, name == "nothing", known)
			})
		}
	})
}

// A message to everyone may be for a reader who has begun to take part since, so only a read tells.
func TestAFeedOfOneWhoTakesNoPartIsRead(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		feed := h.feedOf(t, id, "bob")
		feed.Reaching = true
		end := h.endOf(t, feed).End
		stored := h.overhearLog(t, id, func() { h.say(t, "ann", id, "to all") })
		_, known := h.messaging.FeedFromHandover(feed, end, stored)
		require.False(t, known)
		feed.Reaching = false
		page, known := h.messaging.FeedFromHandover(feed, end, stored)
		require.True(t, known)
		require.Equal(t, []string{"to all"}, words(t, page.Entries))
	})
}

// A log is handed over whole or not at all, and only what the writer stored: what else makes it longer makes those who follow look.
func TestALogIsHandedOverWhole(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		intentID := h.channel(t, id).GetIntentId()
		h.say(t, "ann", id, "first")
		stored := h.overhearLog(t, id, func() { h.say(t, "ann", id, "one") })
		require.Equal(t, stored.Before.LastPosition+1, stored.Head.LastPosition)
		require.Len(t, stored.Messages, 1)
		require.Nil(t, h.overhearLog(t, id, func() { h.log(t, intentID, "thought") }))
		require.Nil(t, h.overhearLog(t, id, func() {
			h.edit(t, "ann", h.list(t, "ann", &listRequest{ChannelId: id})[0], "other words")
		}))

		budgeted := h.withBudget(t, 2)
		budgetedIn := h.channel(t, budgeted).GetIntentId()
		_, err := h.intents.CreateCoordinator(asOperator(), &openintentv1.CreateCoordinatorRequest{
			IntentId: &budgetedIn, AgentId: ptr("carol"),
		})
		require.NoError(t, err)
		whole := true
		for i := range 5 { // until a brake is put on, of which the same commit tells the coordinator
			from, to := "ann", "bob"
			if i%2 == 1 {
				from, to = to, from
			}
			whole = h.overhearLog(t, budgeted, func() { h.tells(t, from, budgeted, to, nil) }) != nil && whole
		}
		require.False(t, whole)

		looking := h.messaging.hub.ListenLooking(wake.FeedTopic(h.key(t, id).IntentNo))
		defer looking.Close()
		h.say(t, "ann", id, "two")
		given, look := looking.Take()
		require.Empty(t, given, "who only looks is given nothing")
		require.True(t, look)
		select {
		case <-looking.Woken():
		default:
			require.Fail(t, "it was not woken")
		}
	})
}

// wires returns the messages of entries as clients see them.
func wires(t require.TestingT, entries []reading.Entry) (shown []string) {
	for _, entry := range entries {
		message, _, _, err := entry.ToWire()
		require.NoError(t, err)
		shown = append(shown, prototext.Format(message))
	}
	return shown
}

// An entry says when it was read by the clock, also if the intent's log lies ahead of the clock. What is handed over counts as read when its
// commit was known.
func TestAnEntrySaysWhenItWasRead(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		feed := Feed{IntentNo: h.key(t, id).IntentNo, By: caller.Caller{Agent: "bob"}}
		say := func() { h.send(t, "ann", &sendRequest{ChannelId: id, To: ptr("bob"), Payload: content("said")}) }
		say()
		h.clock.Advance(-900 * time.Millisecond)
		page := h.endOf(t, feed)
		require.Len(t, page.Entries, 2, "the intent's beginning, and what was said")
		require.Equal(t, h.clock.Now(), page.Entries[1].ReadAt)
		require.True(t, page.Entries[1].Now.After(page.Entries[1].ReadAt))

		stored := h.overhearLog(t, id, say)
		h.clock.Advance(100 * time.Millisecond)
		next, known := h.messaging.FeedFromHandover(feed, page.End, stored)
		require.True(t, known)
		require.Len(t, next.Entries, 1)
		require.Equal(t, stored.At, next.Entries[0].ReadAt)
		require.True(t, h.clock.Now().After(stored.At))
	})
}
