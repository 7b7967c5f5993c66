package messaging

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

func keyed(channelID, key, text string) *sendRequest {
	return &sendRequest{ChannelId: channelID, IdempotencyKey: &key, Payload: content(text)}
}

func TestSameKeyIsTheSameMessage(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, &createRequest{Options: &optionsInput{MaxMessages: ptr(int64(1))}})
		first := h.send(t, "alice", keyed(id, "k", "x"))
		same := func(when string) {
			again := h.send(t, "alice", keyed(id, "k", "x"))
			require.Empty(t, cmpMessages(first, again), when)
		}
		same("at once")
		h.clock.Advance(time.Hour)
		same("later")
		_, err := h.tryRead(as("bob"), id, first.GetId())
		require.NoError(t, err)
		same("after it was read: the first answer is given again")

		h.say(t, "bob", id, "pushes it out")
		h.sweep(t)
		require.Zero(t, h.rows(t, "messages", "id = ?", first.GetId()), "the message is gone")
		same("after eviction")
		h.closeChannel(t, id)
		same("after closing")
		require.Equal(t, int64(2), h.channel(t, id).GetMessageCount())

		for name, change := range map[string]func(*sendRequest){
			"another payload":  func(r *sendRequest) { r.Payload = content("y") },
			"metadata":         func(r *sendRequest) { r.Metadata = content("y") },
			"another type":     func(r *sendRequest) { r.MessageType = ptr(broadcast) },
			"another target":   func(r *sendRequest) { r.To = ptr("bob") },
			"an explicit star": func(r *sendRequest) { r.To = ptr("*") },
			"an expiry":        func(r *sendRequest) { r.ExpiresAt = h.in(time.Hour) },
		} {
			changed := keyed(id, "k", "x")
			change(changed)
			_, err := h.messaging.SendMessage(as("alice"), changed)
			require.Error(t, err, name)
			faulttest.Require(t, err, fault.AlreadyExists, "IDEMPOTENCY_KEY_REUSED")
		}

		talk := h.open(t)
		reply := func(request *wireMessage) error {
			_, err := h.messaging.ReplyMessage(as("alice"), &replyRequest{
				ChannelId: talk, MessageId: request.GetId(), Payload: content("yes"), IdempotencyKey: ptr("r"),
			})
			return err
		}
		require.NoError(t, reply(h.asks(t, "bob", talk, "alice")))
		faulttest.Require(t, reply(h.asks(t, "bob", talk, "alice")), fault.AlreadyExists, "IDEMPOTENCY_KEY_REUSED")

		quota := caller.NewQuota(caller.Rates{RowsPerSecond: 1})
		pays := caller.NewContext(t.Context(), caller.Caller{
			Agent: "alice", KeyID: "key", KeyRoles: []string{caller.AnyRole}, Account: quota.Account(),
		})
		paid := keyed(talk, "k", "x")
		for range 10 {
			_, err := h.messaging.SendMessage(pays, paid)
			require.NoError(t, err)
		}
		refusal := fault.From(quota.Account().Admit())
		require.Equal(t, "QUOTA_EXCEEDED", refusal.Reason)
		require.Less(t, refusal.RetryAfter, 5*time.Second, "what was stored before costs nothing again")
	})
}

// A message that expires in so many seconds says the same again however late it is repeated, as one that expires at a time does not.
func TestSameKeyFindsAMessageThatExpiresInSeconds(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, &createRequest{})
		asking := func(seconds float64) *sendRequest {
			asked := keyed(id, "k", "x")
			asked.To, asked.MessageType, asked.ExpiresInSeconds = ptr("bob"), ptr(request), &seconds
			return asked
		}
		first := h.send(t, "alice", asking(60))
		require.Equal(t, time.Minute, first.GetExpiresAt().AsTime().Sub(first.GetCreatedAt().AsTime()))
		h.clock.Advance(30 * time.Second)
		require.Empty(t, cmpMessages(first, h.send(t, "alice", asking(60))), "the deadline stays where it was")
		h.clock.Advance(31 * time.Second)
		require.Equal(t, expired, h.get(t, id, first.GetId()).GetStatus())
		require.Empty(t, cmpMessages(first, h.send(t, "alice", asking(60))), "nor is an expired one asked again")
		_, err := h.messaging.SendMessage(as("alice"), asking(61))
		faulttest.Require(t, err, fault.AlreadyExists, "IDEMPOTENCY_KEY_REUSED")

		both := asking(60)
		both.ExpiresAt = h.in(time.Hour)
		_, err = h.messaging.SendMessage(as("alice"), both)
		faulttest.Require(t, err, fault.Invalid, "INVALID_FIELD")
	})
}

func TestKeysAreApartBySenderAndScope(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		one := h.create(t, &createRequest{IntentId: intentID, Name: "one"})
		two := h.create(t, &createRequest{IntentId: intentID, Name: "two"})
		ids := make(map[string]bool)
		add := func(m *wireMessage) { ids[m.GetId()] = true }
		add(h.send(t, "alice", keyed(one, "k", "x")))
		add(h.send(t, "bob", keyed(one, "k", "x")))
		add(h.send(t, "alice", keyed(two, "k", "x")))
		add(h.send(t, "alice", keyed(one, "K", "x")))
		byName := func(name string) {
			m, err := h.messaging.SendMessageByName(as("alice"), &byNameRequest{
				IntentId: intentID, Name: name, IdempotencyKey: ptr("k"), Payload: content("x"),
			})
			require.NoError(t, err)
			add(m)
		}
		byName("one")
		byName("three")
		require.Len(t, ids, 6)

		operator, err := h.messaging.SendMessage(asOperator(), &sendRequest{
			ChannelId: one, Sender: ptr("alice"), IdempotencyKey: ptr("k"), Payload: content("x"),
		})
		require.NoError(t, err)
		require.True(t, ids[operator.GetId()], "a key belongs to the sender, whoever sends for it")
	})
}

// Sent by name, the key is looked at before a channel is made: the retry finds its message in the channel that has closed.
func TestKeyBeforeChannel(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		send := func() *wireMessage {
			m, err := h.messaging.SendMessageByName(as("alice"), &byNameRequest{
				IntentId: intentID, Name: "news", IdempotencyKey: ptr("k"), Payload: content("x"),
			})
			require.NoError(t, err)
			return m
		}
		first := send()
		h.closeChannel(t, first.GetChannelId())
		require.Empty(t, cmpMessages(first, send()))
		require.Len(t, h.channelsOf(t, intentID), 1)
		h.setStatus(t, intentID, completed)
		require.Empty(t, cmpMessages(first, send()))
	})
}

func TestReplyUnderAKey(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		asked := h.asks(t, "alice", id, "bob")
		reply := func(text string) (*wireMessage, error) {
			return h.messaging.ReplyMessage(as("bob"), &replyRequest{
				ChannelId: id, MessageId: asked.GetId(), Payload: content(text), IdempotencyKey: ptr("k"),
			})
		}
		first, err := reply("yes")
		require.NoError(t, err)
		again, err := reply("yes")
		require.NoError(t, err)
		require.Empty(t, cmpMessages(first, again))
		_, err = reply("no")
		faulttest.Require(t, err, fault.AlreadyExists, "IDEMPOTENCY_KEY_REUSED")
		byHand, err := h.messaging.SendMessage(as("bob"), &sendRequest{
			ChannelId: id, MessageType: ptr(response), CorrelationId: &asked.Id, Payload: content("yes"), IdempotencyKey: ptr("k"),
		})
		require.NoError(t, err)
		require.Empty(t, cmpMessages(first, byHand), "the same response by the other call is the same message")
		require.Equal(t, int64(2), h.channel(t, id).GetMessageCount())
	})
}

func TestRefusedMessageUsesNoKey(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.explicit(t, "alice")
		_, err := h.messaging.SendMessage(as("bob"), keyed(id, "k", "x"))
		faulttest.Require(t, err, fault.Denied, "NOT_A_MEMBER")
		h.addMember(t, id, "bob")
		require.Equal(t, "y", textOf(h.send(t, "bob", keyed(id, "k", "y"))))
	})
}

func TestSimultaneousRetriesAreOneMessage(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		services := []*Service{h.messaging, h.messaging}
		if h.db.Engine() == database.PostgreSQL {
			services[1] = h.replica(t).messaging
		}
		id := h.open(t)
		var mutex sync.Mutex
		ids := make(map[string]int)
		var wait sync.WaitGroup
		for i := range 20 {
			wait.Go(func() {
				m, err := services[i%2].SendMessage(as("alice"), keyed(id, "k", "x"))
				if err != nil {
					t.Error(err)
					return
				}
				mutex.Lock()
				defer mutex.Unlock()
				ids[m.GetId()]++
			})
		}
		wait.Wait()
		require.Len(t, ids, 1)
		require.Equal(t, int64(1), h.channel(t, id).GetMessageCount())
	})
}

func TestKeysAreForgottenAfterADay(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		for name, sweep := range map[string]bool{"swept": true, "not swept": false} {
			id := h.open(t)
			first := h.send(t, "alice", keyed(id, "k", "x"))
			h.clock.Set(first.GetCreatedAt().AsTime().Add(24*time.Hour - time.Microsecond))
			h.sweep(t)
			require.Equal(t, first.GetId(), h.send(t, "alice", keyed(id, "k", "x")).GetId(), name)
			h.clock.Advance(time.Second)
			if sweep {
				h.sweep(t)
				require.Zero(t, h.rows(t, "idempotency_keys", "message_id = ?", first.GetId()))
			}
			second := h.send(t, "alice", keyed(id, "k", "y"))
			require.NotEqual(t, first.GetId(), second.GetId(), name)
			require.Equal(t, second.GetId(), h.send(t, "alice", keyed(id, "k", "y")).GetId(), name)
			_, err := h.messaging.SendMessage(as("alice"), keyed(id, "k", "x"))
			faulttest.Require(t, err, fault.AlreadyExists, "IDEMPOTENCY_KEY_REUSED")
			require.Equal(t, 1, h.rows(t, "idempotency_keys", "message_id = ?", second.GetId()))
		}
	})
}

// A key that is used anew takes nothing along: neither the same key in another channel, nor that of another sender. It does not hold in the
// moment any more in which its day is over, because the sweep may have taken it by then.
func TestAForgottenKeyTakesNoOtherAlong(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		id := h.create(t, &createRequest{IntentId: intentID, Name: "one"})
		other := h.create(t, &createRequest{IntentId: intentID, Name: "other"})
		first := h.send(t, "alice", keyed(id, "k", "x"))
		h.clock.Advance(12 * time.Hour)
		elsewhere, bobs := h.send(t, "alice", keyed(other, "k", "x")), h.send(t, "bob", keyed(id, "k", "x"))
		h.clock.Set(first.GetCreatedAt().AsTime().Add(24 * time.Hour))
		require.NotEqual(t, first.GetId(), h.send(t, "alice", keyed(id, "k", "y")).GetId())
		require.Equal(t, elsewhere.GetId(), h.send(t, "alice", keyed(other, "k", "x")).GetId())
		require.Equal(t, bobs.GetId(), h.send(t, "bob", keyed(id, "k", "x")).GetId())
	})
}

// Asking again under the same key gives the same answer again, also when the request has passed its time, its channel has
// closed or newer messages have pushed both out.
func TestAskUnderAKeyGivesTheSameAnswerAgain(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, &createRequest{Options: &optionsInput{MaxMessages: ptr(int64(2))}})
		ask := func(text string) (*wireMessage, error) {
			return h.messaging.Ask(as("alice"), &askRequest{
				ChannelId: id, To: "bob", Payload: content(text), IdempotencyKey: ptr("k"), TimeoutSeconds: ptr(10.0),
			})
		}
		answered := make(chan *wireMessage, 2)
		for range 2 {
			go func() {
				m, err := ask("why")
				if err != nil {
					t.Error(err)
				}
				answered <- m
			}()
		}
		asked := h.awaitRequest(t, id)
		h.reply(t, "bob", id, asked.GetId(), "because")
		first := <-answered
		require.Empty(t, cmpMessages(first, <-answered), "whoever asks the same meanwhile waits for the same")
		require.Equal(t, int64(2), h.channel(t, id).GetMessageCount())

		same := func(when string) {
			again, err := ask("why")
			require.NoError(t, err, when)
			require.Empty(t, cmpMessages(first, again), when)
		}
		same("at once")
		h.clock.Advance(time.Minute)
		same("after its expiry")
		for range 3 {
			h.say(t, "carol", id, "pushes them out")
		}
		h.sweep(t)
		same("after eviction")
		h.closeChannel(t, id)
		same("after closing")
		_, err := ask("why not")
		faulttest.Require(t, err, fault.AlreadyExists, "IDEMPOTENCY_KEY_REUSED")

		h.clock.Advance(25 * time.Hour)
		require.NotZero(t, h.rows(t, "messages", "id = ?", asked.GetId()))
		h.sweep(t)
		_, err = ask("why")
		faulttest.Require(t, err, fault.Conflict, "CHANNEL_CLOSED")
	}, restless)
}

func TestAskUnderAKeyThatRanOutRunsOutAgain(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		ask := func() error {
			_, err := h.messaging.Ask(as("alice"), &askRequest{
				ChannelId: id, To: "bob", IdempotencyKey: ptr("k"), TimeoutSeconds: ptr(10.0),
			})
			return err
		}
		ended := make(chan error, 1)
		go func() { ended <- ask() }()
		asked := h.awaitRequest(t, id)
		h.clock.Advance(time.Minute)
		for _, err := range []error{<-ended, ask()} {
			f := faulttest.Require(t, err, fault.TimedOut, "MESSAGE_TIMEOUT")
			require.Equal(t, asked.GetId(), f.Metadata["message_id"])
		}
		require.Equal(t, int64(1), h.channel(t, id).GetMessageCount())
	}, restless)
}
