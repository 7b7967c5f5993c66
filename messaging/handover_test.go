package messaging

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/following"
	"openintent/messaging/reading"
	"openintent/messaging/wake"
)

// overhear listens as a follower of the channel does, and takes what one call brings.
func (h *house) overhear(t require.TestingT, channelID string, do func()) *wake.Handover {
	listening := h.messaging.hub.Listen(h.key(t, channelID))
	defer listening.Close()
	do()
	given, look := listening.Take()
	require.False(t, look)
	require.Len(t, given, 1)
	return given[0]
}

// What is handed over is what is stored: the messages, the head and the count.
func TestHandoverIsWhatALookSees(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "judge")
		id := h.create(t, &createRequest{Options: &optionsInput{MaxMessages: ptr(int64(2))}})
		var asked *wireMessage
		for _, do := range []func(){
			func() { h.say(t, "ann", id, "to all") },
			func() {
				h.send(t, "ann", &sendRequest{
					ChannelId: id, To: ptr("bob"), Payload: content("ä"), Metadata: content("m"), ExpiresAt: h.in(time.Hour),
				})
			},
			func() { asked = h.asks(t, "ann", id, "role:judge") },
			func() { h.reply(t, "bob", id, asked.GetId(), "yes") },
		} {
			given := h.overhear(t, id, do)
			key := h.key(t, id)
			err := h.db.Read(context.Background(), func(tx *database.Tx) error {
				l, err := h.messaging.reader.Snapshot(tx, key, []string{"ann"})
				require.NoError(t, err)
				read, err := reading.MessageQuery{
					IntentNo: key.IntentNo, ChannelNo: key.ChannelNo, ChannelID: id,
					After: l.Count.Messages - 1, Through: l.Count.Messages, Everyone: true, Limit: 1,
				}.Load(tx, l)
				require.NoError(t, err)
				require.Equal(t, read.Messages, given.Messages)
				require.Equal(t, l.Count, given.Count)
				known, ok := h.messaging.reader.HandoverSnapshot(given, h.clock.Now(), "ann")
				require.True(t, ok)
				require.Same(t, l.Access, known.Access)
				require.Same(t, l.Channel, known.Channel)
				require.Equal(t, l.Head.Copy(), known.Head.Copy())
				require.Equal(t, l.Now, known.Now)
				return nil
			})
			require.NoError(t, err)
		}
	})
}

// looks tells how many looks the tail of a channel has begun.
func (h *house) looks(t require.TestingT, channelID string) int64 {
	return h.messaging.tails.Looks(following.ChannelScope(h.key(t, channelID)))
}

// A stream gets what is said directly, and on an intent's open channel what is said to all, without a look; what hangs on a
// role or on membership takes one.
func TestStreamsTakeWhatIsHandedOver(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "judge")
		say := func(id, to, text string) func() {
			return func() { h.send(t, "ann", &sendRequest{ChannelId: id, To: &to, Payload: content(text)}) }
		}
		for _, c := range []struct {
			id, to   string
			Snapshot bool
		}{
			{h.open(t), "bob", false},
			{h.open(t), "*", false},
			{h.open(t), "role:judge", true},
			{h.explicit(t, "ann", "bob"), "bob", false},
			{h.explicit(t, "ann", "bob"), "*", true},
		} {
			f := h.follow(t, "bob", c.id, nil)
			h.overhear(t, c.id, say(c.id, "bob", "first"))
			require.Equal(t, []string{"first"}, f.texts(t, 1))
			before := h.looks(t, c.id)
			for range 3 {
				say(c.id, c.to, "next")()
				require.Equal(t, []string{"next"}, f.texts(t, 1))
			}
			require.Equal(t, c.Snapshot, h.looks(t, c.id) > before, "%s to %s", h.channel(t, c.id).GetMemberPolicy(), c.to)
			f.cancel()
		}
	})
}

// overhearAnswer listens as an asker does, and takes what one answer brings.
func (h *house) overhearAnswer(t require.TestingT, asker string, asked *wireMessage, answering string) []*wake.Handover {
	listening := h.messaging.hub.ListenFor(asker, wake.RequestTopic(asked.GetId()))
	defer listening.Close()
	h.reply(t, answering, asked.GetChannelId(), asked.GetId(), "from "+answering)
	given, look := listening.Take()
	require.False(t, look)
	return given
}

// The first answers, handed over, are those that a look would find; of later ones it is not known whether they are all, and
// without the asker's record it is not known whether it still is a member.
func TestAnswersHandedOverAreThoseOfALook(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		for _, id := range []string{h.open(t), h.explicit(t, "ann", "bob", "eve")} {
			h.register(t, "bob", "judge")
			h.register(t, "eve", "judge")
			asked := h.asks(t, "ann", id, "role:judge")
			q := question{
				by: caller.Caller{Agent: "ann", KeyID: "key"}, asker: "ann", key: h.key(t, id), id: asked.GetId(), wanted: 1, settles: true,
			}
			before, err := h.messaging.lookAtAnswers(context.Background(), q)
			require.NoError(t, err)
			q.request = before.request

			given := h.overhearAnswer(t, "ann", asked, "bob")
			seen, enough := h.messaging.answersFromHandovers(given, q)
			require.True(t, enough)
			looked, err := h.messaging.lookAtAnswers(context.Background(), q)
			require.NoError(t, err)
			require.Equal(t, looked.responses, seen.responses)
			seen.request.AnsweredAt = looked.request.AnsweredAt // it decides what holders of the role see, not what the asker does
			require.Equal(t, looked.request, seen.request)
			require.Equal(t, looked.closed, seen.closed)
			require.Equal(t, looked.now, seen.now)

			two := q
			two.wanted = 2
			_, enough = h.messaging.answersFromHandovers(given, two)
			require.False(t, enough)
			_, enough = h.messaging.answersFromHandovers(h.overhearAnswer(t, "ann", asked, "eve"), q)
			require.False(t, enough, "there was one before")
			h.clock.Advance(2 * wake.SharedFor)
			_, enough = h.messaging.answersFromHandovers(given, q)
			require.False(t, enough, "it is too old")

			another := h.asks(t, "ann", id, "role:judge")
			q.id, q.request.ID = another.GetId(), another.GetId()
			_, enough = h.messaging.answersFromHandovers(h.overhearAnswer(t, "", another, "bob"), q)
			require.Equal(t, h.channel(t, id).GetMemberPolicy() == openintentv1.MemberPolicy_MEMBER_POLICY_INTENT, enough)
		}
	})
}

// An answer is not handed to an asker that has lost its right to it: that takes a look, which refuses.
func TestAnswersAreNotHandedToWhoLostAccess(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		for _, c := range []struct {
			loses string
			id    string
			lose  func(id string)
		}{
			{"access", h.open(t), func(id string) { h.admit(t, h.channel(t, id).GetIntentId(), "bob") }},
			{"membership", h.explicit(t, "ann", "bob"), func(id string) { h.removeMember(t, id, "ann") }},
			{"its registration", h.explicit(t, "ann", "bob"), func(string) {
				h.register(t, "ann", "")
				h.clock.Advance(time.Second)
				h.deregister(t, "ann")
			}},
		} {
			asked := h.asks(t, "ann", c.id, "bob")
			q := question{by: caller.Caller{Agent: "ann", KeyID: "key"}, asker: "ann", key: h.key(t, c.id), id: asked.GetId(), wanted: 1}
			before, err := h.messaging.lookAtAnswers(context.Background(), q)
			require.NoError(t, err)
			q.request = before.request
			c.lose(c.id)
			_, enough := h.messaging.answersFromHandovers(h.overhearAnswer(t, "ann", asked, "bob"), q)
			require.False(t, enough, c.loses)
			_, err = h.messaging.lookAtAnswers(context.Background(), q)
			require.Error(t, err, c.loses)
		}
	})
}

// Of a commit whose outcome is unknown nothing is handed over: whoever waits looks.
func TestNothingIsHandedOverOfAnUnknownOutcome(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		id := h.open(t)
		listening := h.messaging.hub.Listen(h.key(t, id))
		defer listening.Close()
		attempts := 0
		f.set(func() error {
			if attempts++; attempts > 1 {
				return errInjected
			}
			return nil
		}, times(1))
		_, err := h.messaging.SendMessage(as("ann"), &sendRequest{ChannelId: id, Payload: content("stored all the same")})
		require.Error(t, err)
		given, look := listening.Take()
		require.Empty(t, given)
		require.True(t, look)
	})
}
