package messaging

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/agents"
	"openintent/caller"
	"openintent/channels"
	"openintent/database"
	openintentv1 "openintent/gen/openintent/v1"
)

func TestHandsHoldAFewThingsAndThenAskForALook(t *testing.T) {
	var h hands
	one := &handover{bytes: 1}
	for range maxHandovers {
		h.put(one)
	}
	given, look := h.take()
	require.Len(t, given, maxHandovers)
	require.False(t, look)
	given, look = h.take()
	require.Empty(t, given, "it was taken")
	require.False(t, look)

	for range maxHandovers + 1 {
		h.put(one)
	}
	given, look = h.take()
	require.Empty(t, given, "too many")
	require.True(t, look)

	h.put(one)
	h.put(&handover{bytes: maxHandedBytes})
	given, look = h.take()
	require.Empty(t, given, "too large")
	require.True(t, look)

	h.put(one)
	h.put(nil)
	h.put(one)
	given, look = h.take()
	require.Empty(t, given, "a look sees all of it")
	require.True(t, look)

	h.put(one)
	given, look = h.take()
	require.Len(t, given, 1, "empty hands begin anew")
	require.False(t, look)
}

func TestOnlyWhatIsListenedForIsHandedOver(t *testing.T) {
	hub := newHub()
	var told []any
	hub.tell = func(topics []any) { told = topics }
	topics := []any{requestTopic("a"), requestTopic("b"), requestTopic("c")}
	hub.wakeWith(func([]any) map[any]*handover {
		require.Fail(t, "nobody listens")
		return nil
	}, topics...)
	require.Equal(t, topics, told)

	one, other := hub.listen(requestTopic("a")), hub.listen(requestTopic("b"))
	stored := &handover{}
	hub.wakeWith(func(heard []any) map[any]*handover {
		require.ElementsMatch(t, topics[:2], heard)
		return map[any]*handover{requestTopic("a"): stored}
	}, topics...)
	require.Equal(t, topics, told)
	require.True(t, one.wasWoken())
	given, look := one.hands.take()
	require.Equal(t, []*handover{stored}, given)
	require.False(t, look)
	require.True(t, other.wasWoken())
	given, look = other.hands.take()
	require.Empty(t, given)
	require.True(t, look, "who is given nothing looks")
}

// A handover tells who sees a message only where that hangs on nothing but what was read under the lock.
func TestHandoverTellsWhatHangsOnNoRecord(t *testing.T) {
	at := time.Unix(1000, 0)
	known := func(agent string, version int64) agents.Presence {
		return agents.Presence{AgentID: agent, Status: agents.StatusActive, Version: version}
	}
	for name, c := range map[string]struct {
		policy            channels.Policy
		target            string
		followers         map[string]agents.Presence
		records           map[string]agents.Presence
		open, tellsAnyway bool
	}{
		"to an agent": {
			policy: channels.PolicyExplicit, target: "bob", tellsAnyway: true,
			followers: map[string]agents.Presence{"bob": known("bob", 1), "eve": known("eve", 1)},
			records:   map[string]agents.Presence{"ann": known("ann", 1), "bob": known("bob", 1)},
		},
		"to an agent that has changed": {
			policy: channels.PolicyExplicit, target: "bob",
			followers: map[string]agents.Presence{"bob": known("bob", 1)},
			records:   map[string]agents.Presence{"ann": known("ann", 1), "bob": known("bob", 2)},
		},
		"to an agent whose record was not read": {
			policy: channels.PolicyExplicit, target: "bob",
			followers: map[string]agents.Presence{"bob": known("bob", 1)},
			records:   map[string]agents.Presence{"ann": known("ann", 1)},
		},
		"from a follower that has changed": {
			policy: channels.PolicyExplicit, target: "bob",
			followers: map[string]agents.Presence{"ann": known("ann", 1)},
			records:   map[string]agents.Presence{"ann": known("ann", 2), "bob": known("bob", 1)},
		},
		"to an agent that does not follow": {policy: channels.PolicyExplicit, target: "bob", tellsAnyway: true},
		"to all members":                   {policy: channels.PolicyExplicit, target: "*"},
		"to whoever may read the intent":   {policy: channels.PolicyIntent, target: "*", tellsAnyway: true},
		"to a role":                        {policy: channels.PolicyIntent, target: "role:judge"},
		"a request":                        {policy: channels.PolicyIntent, target: "bob", open: true, tellsAnyway: true},
		"a request to an agent that left at once": {
			policy: channels.PolicyIntent, target: "bob", open: true,
			records: map[string]agents.Presence{"bob": {AgentID: "bob", DepartedAt: at}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := &handover{
				messages:  []*Message{{Sender: "ann", Target: c.target, CreatedAt: at, Open: c.open}},
				presences: c.records,
			}
			before := look{channel: &channels.Rules{Policy: c.policy}, presences: c.followers}
			require.Equal(t, c.tellsAnyway, h.tells(before))
		})
	}
}

// overhear listens as a follower of the channel does, and takes what one call brings.
func (h *house) overhear(t require.TestingT, channelID string, do func()) *handover {
	listening := h.messaging.hub.listen(h.key(t, channelID))
	defer listening.close()
	do()
	given, look := listening.hands.take()
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
				l, err := h.messaging.look(tx, key, []string{"ann"})
				require.NoError(t, err)
				read, err := page{
					intentNo: key.IntentNo, channelNo: key.ChannelNo, channelID: id,
					after: l.count.Messages - 1, through: l.count.Messages, everyone: true, limit: 1,
				}.load(tx, l)
				require.NoError(t, err)
				require.Equal(t, read.messages, given.messages)
				require.Equal(t, l.count, given.count)
				known, ok := given.look(h.messaging, h.clock.Now(), "ann")
				require.True(t, ok)
				require.Same(t, l.access, known.access)
				require.Same(t, l.channel, known.channel)
				require.Equal(t, l.head.Copy(), known.head.Copy())
				require.Equal(t, l.now, known.now)
				return nil
			})
			require.NoError(t, err)
		}
	})
}

// looks tells how many looks the tail of a channel has begun.
func (h *house) looks(t require.TestingT, channelID string) int64 {
	h.messaging.tails.mutex.Lock()
	defer h.messaging.tails.mutex.Unlock()
	tail := h.messaging.tails.byScope[channelScope(h.key(t, channelID))]
	tail.mutex.Lock()
	defer tail.mutex.Unlock()
	return tail.begun
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
			id, to string
			look   bool
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
			require.Equal(t, c.look, h.looks(t, c.id) > before, "%s to %s", h.channel(t, c.id).GetMemberPolicy(), c.to)
			f.cancel()
		}
	})
}

// A tail takes only what follows on what it has seen, under the same rules and while it is fresh.
func TestTailTakesOnlyWhatFollowsOn(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, &createRequest{Options: &optionsInput{TtlSeconds: ptr(int64(1))}})
		scope := channelScope(h.key(t, id))
		look := func(before *sight) (seen *sight) {
			err := h.db.Read(context.Background(), func(tx *database.Tx) (err error) {
				seen, err = scope.look(h.messaging, tx, before, []string{"bob"})
				return err
			})
			require.NoError(t, err)
			return seen
		}
		seen := look(&sight{})
		first := h.overhear(t, id, func() { h.say(t, "ann", id, "first") })
		second := h.overhear(t, id, func() { h.say(t, "ann", id, "second") })
		require.Nil(t, scope.take(h.messaging, seen, second), "there is one in between")
		next := scope.take(h.messaging, seen, first)
		require.EqualValues(t, 1, next.through)
		require.Same(t, next, scope.take(h.messaging, next, first), "it was seen already")
		last := scope.take(h.messaging, next, second)
		require.EqualValues(t, 2, last.through)
		require.Len(t, last.items, 2)
		looked := look(seen)
		require.Equal(t, looked.through, last.through)
		require.Equal(t, looked.count, last.count)
		for i := range looked.items {
			require.Equal(t, looked.items[i].message, last.items[i].message)
		}
		require.Same(t, looked, scope.take(h.messaging, looked, second), "the look has seen it")

		h.addMember(t, h.explicitIn(t, h.channel(t, id).GetIntentId(), "another"), "eve")
		third := h.overhear(t, id, func() { h.say(t, "ann", id, "third") })
		require.Nil(t, scope.take(h.messaging, last, third), "rules have changed")

		last = look(last)
		h.clock.Advance(time.Millisecond)
		fourth := h.overhear(t, id, func() { h.say(t, "ann", id, "fourth") })
		require.NotNil(t, scope.take(h.messaging, last, fourth))
		h.clock.Advance(sharedFor)
		require.Nil(t, scope.take(h.messaging, last, fourth), "the channel's time has run out")
		h.clock.Advance(time.Microsecond)
		require.False(t, fourth.fresh(h.clock.Now()))
	})
}

// overhearAnswer listens as an asker does, and takes what one answer brings.
func (h *house) overhearAnswer(t require.TestingT, asker string, asked *wireMessage, answering string) []*handover {
	listening := h.messaging.hub.listenFor(asker, requestTopic(asked.GetId()))
	defer listening.close()
	h.reply(t, answering, asked.GetChannelId(), asked.GetId(), "from "+answering)
	given, look := listening.hands.take()
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
			seen, enough := h.messaging.answersIn(given, q)
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
			_, enough = h.messaging.answersIn(given, two)
			require.False(t, enough)
			_, enough = h.messaging.answersIn(h.overhearAnswer(t, "ann", asked, "eve"), q)
			require.False(t, enough, "there was one before")
			h.clock.Advance(2 * sharedFor)
			_, enough = h.messaging.answersIn(given, q)
			require.False(t, enough, "it is too old")

			another := h.asks(t, "ann", id, "role:judge")
			q.id, q.request.ID = another.GetId(), another.GetId()
			_, enough = h.messaging.answersIn(h.overhearAnswer(t, "", another, "bob"), q)
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
			_, enough := h.messaging.answersIn(h.overhearAnswer(t, "ann", asked, "bob"), q)
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
		listening := h.messaging.hub.listen(h.key(t, id))
		defer listening.close()
		attempts := 0
		f.set(func() error {
			if attempts++; attempts > 1 {
				return errInjected
			}
			return nil
		}, times(1))
		_, err := h.messaging.SendMessage(as("ann"), &sendRequest{ChannelId: id, Payload: content("stored all the same")})
		require.Error(t, err)
		given, look := listening.hands.take()
		require.Empty(t, given)
		require.True(t, look)
	})
}
