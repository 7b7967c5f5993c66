package messaging

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

// pileBound is the bound on strangers' messages in these tests.
const pileBound = 20

// smallPiles makes the bound small.
func smallPiles(_ *database.Config, cfg *Config) { cfg.MaxUnreadFromStrangers = pileBound }

// withKey is a context in which an agent calls with a key of its own.
func withKey(agent string) context.Context { return withKeyOf(agent, "key of "+agent) }

func withKeyOf(agent, keyID string, agents ...string) context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: agent, KeyID: keyID, KeyAgents: agents})
}

// place makes an intent of an agent with a channel, and returns their ids.
func (h *house) place(t require.TestingT, agent string) (intentID, channelID string) {
	intent, err := h.intents.CreateIntent(withKey(agent), &openintentv1.CreateIntentRequest{
		Title: "Of " + agent, Status: ptr(openintentv1.IntentStatus_INTENT_STATUS_ACTIVE),
	})
	require.NoError(t, err)
	return intent.GetId(), h.channelOf(t, agent, intent.GetId(), "talk")
}

// channelOf opens a channel in an agent's name.
func (h *house) channelOf(t require.TestingT, agent, intentID, name string) string {
	channel, err := h.channels.CreateChannel(withKey(agent), &createRequest{IntentId: intentID, Name: name})
	require.NoError(t, err)
	return channel.GetId()
}

// pileUp sends until the server refuses, and returns what it stored.
func (h *house) pileUp(ctx context.Context, t require.TestingT, channelID, to string) (stored []*wireMessage) {
	for {
		m, err := h.messaging.SendMessage(ctx, &sendRequest{ChannelId: channelID, To: &to})
		if err != nil {
			refusal := faulttest.Require(t, err, fault.Quota, "TOO_MANY_UNREAD")
			require.Equal(t, "to", refusal.Fields[0].Path)
			require.Equal(t, fmt.Sprint(pileBound), refusal.Metadata["max_unread_from_strangers"])
			return stored
		}
		stored = append(stored, m)
		require.LessOrEqual(t, len(stored), 2*pileBound, "the pile grows beyond its bound")
	}
}

// neverRefused sends far more than the bound.
func (h *house) neverRefused(ctx context.Context, t require.TestingT, channelID, to string) {
	for range 2*pileBound + 5 {
		_, err := h.messaging.SendMessage(ctx, &sendRequest{ChannelId: channelID, To: &to})
		require.NoError(t, err)
	}
}

// looksAgain moves the clock on, so that a refusal is decided anew.
func (h *house) looksAgain() { h.clock.Advance(pileRest) }

func TestAStrangersPileIsBounded(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		_, id := h.place(t, "mallory")
		stored := h.pileUp(withKey("mallory"), t, id, "bob")
		require.Len(t, stored, pileBound)
		h.looksAgain()
		require.Empty(t, h.pileUp(withKey("mallory"), t, id, "bob"))

		_, other := h.place(t, "mallory")
		require.Empty(t, h.pileUp(withKey("mallory"), t, other, "bob"), "another intent is no way round")
		_, err := h.messaging.SendMessageByName(withKey("mallory"), &byNameRequest{IntentId: h.channel(t, other).GetIntentId(), Name: "new", To: ptr("bob")})
		faulttest.Require(t, err, fault.Quota, "TOO_MANY_UNREAD")
		_, err = h.messaging.Ask(withKey("mallory"), &askRequest{ChannelId: other, To: "bob", TimeoutSeconds: ptr(1.0)})
		faulttest.Require(t, err, fault.Quota, "TOO_MANY_UNREAD")
		_, err = h.messaging.AskAll(withKey("mallory"), &askAllRequest{ChannelId: other, To: "bob", TimeoutSeconds: ptr(1.0)})
		faulttest.Require(t, err, fault.Quota, "TOO_MANY_UNREAD")
		p := h.pipeIn(t, withKey("mallory"))
		p.handsOver(t, &sendRequest{ChannelId: other, To: ptr("bob")}, &sendRequest{ChannelId: other})
		require.Equal(t, "TOO_MANY_UNREAD", p.answer(t).GetRefusal().GetMessage())
		p.ids(t, 1)
		require.Zero(t, h.rows(t, "channels", "name = 'new'"))

		require.NotEmpty(t, h.pileUp(withKey("mallory"), t, other, "carol"), "others have a pile of their own")
		_, err = h.messaging.SendMessage(withKey("eve"), &sendRequest{ChannelId: other, To: ptr("bob")})
		require.NoError(t, err, "and so have other keys")
		_, err = h.messaging.SendMessage(asOperator(), &sendRequest{ChannelId: other, To: ptr("bob")})
		require.NoError(t, err)
	}, smallPiles)
}

// Requests pile up as notifies do, and so does what is sent to a role.
func TestRequestsAndRolesPileUp(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "tester")
		_, id := h.place(t, "mallory")
		h.place(t, "bob") // an intent of its own ties it to nobody
		for sent := 0; ; sent++ {
			_, err := h.messaging.SendMessage(withKey("mallory"), &sendRequest{ChannelId: id, To: ptr("bob"), MessageType: ptr(request)})
			if err != nil {
				require.Equal(t, pileBound, sent)
				break
			}
		}
		require.Len(t, h.pileUp(withKey("mallory"), t, id, "role:tester"), pileBound)
		require.Len(t, h.pileUp(withKey("mallory"), t, id, "role:nobody"), pileBound)
	}, smallPiles)
}

// What the recipient reads, or its model sees, makes room.
func TestWhatIsReadMakesRoom(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		_, id := h.place(t, "mallory")
		stored := h.pileUp(withKey("mallory"), t, id, "bob")
		for _, m := range stored[:3] {
			_, err := h.tryRead(withKey("bob"), id, m.GetId())
			require.NoError(t, err)
		}
		_, err := h.messaging.MarkSurfaced(withKey("bob"), &openintentv1.MarkSurfacedRequest{AgentId: "bob", MessageIds: idsOf(stored[3:5])})
		require.NoError(t, err)
		require.Empty(t, h.pileUp(withKey("mallory"), t, id, "bob"), "the server looks again after a while")
		h.looksAgain()
		require.Len(t, h.pileUp(withKey("mallory"), t, id, "bob"), 5)
	}, smallPiles)
}

// What nobody can read any more, and what somebody else has answered, waits for nobody.
func TestWhatIsOverMakesRoom(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID, id := h.place(t, "mallory")
		small, err := h.channels.CreateChannel(withKey("mallory"), &createRequest{
			IntentId: intentID, Name: "small", Options: &optionsInput{MaxMessages: ptr(int64(5))},
		})
		require.NoError(t, err)
		h.neverRefused(withKey("mallory"), t, small.GetId(), "bob") // all but five are evicted

		var asked []*wireMessage
		for range pileBound {
			_, err := h.messaging.SendMessage(withKey("mallory"), &sendRequest{ChannelId: id, To: ptr("carol"), ExpiresAt: h.in(time.Minute)})
			require.NoError(t, err)
			m, err := h.messaging.SendMessage(withKey("mallory"), &sendRequest{ChannelId: id, To: ptr("dave"), MessageType: ptr(request)})
			require.NoError(t, err)
			asked = append(asked, m)
		}
		for _, to := range []string{"carol", "dave"} {
			require.Empty(t, h.pileUp(withKey("mallory"), t, id, to))
		}
		for _, m := range asked[:3] {
			_, err := h.messaging.ReplyMessage(asOperator(), &replyRequest{ChannelId: id, MessageId: m.GetId()})
			require.NoError(t, err)
		}
		h.clock.Advance(time.Minute)
		require.Len(t, h.pileUp(withKey("mallory"), t, id, "carol"), pileBound)
		require.Len(t, h.pileUp(withKey("mallory"), t, id, "dave"), 3)
	}, smallPiles)
}

// A clock that is set back does not keep the server from looking again.
func TestAClockSetBackDoesNotKeepAPileFull(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		_, id := h.place(t, "mallory")
		stored := h.pileUp(withKey("mallory"), t, id, "bob")
		require.Len(t, stored, pileBound)
		for _, m := range stored {
			_, err := h.tryRead(withKey("bob"), id, m.GetId())
			require.NoError(t, err)
		}
		require.Empty(t, h.pileUp(withKey("mallory"), t, id, "bob"), "the refusal counts for a while")
		h.clock.Advance(-3 * time.Hour)
		require.Len(t, h.pileUp(withKey("mallory"), t, id, "bob"), pileBound)
	}, smallPiles)
}

// All names of a key are one stranger.
func TestStrangersCountByKey(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID, id := h.place(t, "mallory")
		sent := 0
		for n := range 2 * pileBound {
			_, err := h.messaging.SendMessage(withKeyOf(fmt.Sprintf("name-%d", n), "one"), &sendRequest{ChannelId: id, To: ptr("bob")})
			if err == nil {
				sent++
			}
		}
		require.Equal(t, pileBound, sent)

		// Very many names count, though their server does not keep them all.
		long := strings.Repeat("x", 200)
		for sent = 0; sent <= 2*pileBound; sent++ {
			_, err := h.messaging.SendMessage(withKeyOf(fmt.Sprint(long, sent), "two"), &sendRequest{ChannelId: id, To: ptr("bob")})
			if err != nil {
				break
			}
			h.looksAgain()
		}
		require.LessOrEqual(t, sent, pileBound+1)

		// One name of a key does nothing for a recipient that would help another one.
		h.grant(t, "mallory", intentID, "bob")
		require.Empty(t, h.pileUp(withKeyOf("name-1", "one", "name-1", "mallory"), t, id, "bob"))
	}, smallPiles)
}

// grant gives an agent write access in another's name.
func (h *house) grant(t require.TestingT, by, intentID, agent string) {
	_, err := h.intents.CreateAccessEntry(withKey(by), &openintentv1.CreateAccessEntryRequest{
		IntentId: intentID, PrincipalId: agent, Permission: openintentv1.Permission_PERMISSION_WRITE,
	})
	require.NoError(t, err)
}

// A stranger is one no more once the recipient answers.
func TestAnAnswerEndsStrangeness(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		_, id := h.place(t, "mallory")
		question, err := h.messaging.SendMessage(withKey("mallory"), &sendRequest{ChannelId: id, To: ptr("bob"), MessageType: ptr(request)})
		require.NoError(t, err)
		h.pileUp(withKey("mallory"), t, id, "bob")
		_, err = h.tryReply(withKey("bob"), id, question.GetId(), "yes")
		require.NoError(t, err)
		h.looksAgain()
		h.neverRefused(withKey("mallory"), t, id, "bob")
		_, elsewhere := h.place(t, "mallory")
		h.neverRefused(withKey("mallory"), t, elsewhere, "bob")
		h.neverRefused(withKey("bob"), t, id, "mallory")
	}, smallPiles)
}

// A repeat of what was stored gets its answer, though the pile is full.
func TestARepeatWhenThePileIsFull(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		_, id := h.place(t, "mallory")
		req := &sendRequest{ChannelId: id, To: ptr("bob"), IdempotencyKey: ptr("k1"), Payload: content("once")}
		first, err := h.messaging.SendMessage(withKey("mallory"), req)
		require.NoError(t, err)
		h.pileUp(withKey("mallory"), t, id, "bob")
		again, err := h.messaging.SendMessage(withKey("mallory"), req)
		require.NoError(t, err)
		require.Equal(t, first.GetId(), again.GetId())
		_, err = h.messaging.SendMessage(withKey("mallory"), &sendRequest{ChannelId: id, To: ptr("bob"), IdempotencyKey: ptr("k2")})
		faulttest.Require(t, err, fault.Quota, "TOO_MANY_UNREAD")
	}, smallPiles)
}

// A restart, and another replica, let a tenth of the bound through before they look.
func TestARestartForgetsLittle(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		_, id := h.place(t, "mallory")
		require.Len(t, h.pileUp(withKey("mallory"), t, id, "bob"), pileBound)
		h.messaging.piles = newPiles(h.db, pileBound, h.messaging.lookAtPile)
		require.Len(t, h.pileUp(withKey("mallory"), t, id, "bob"), pileBound/newPilePart)
	}, smallPiles)
}

// A message costs no statement because of piles until its key has sent a tenth of the bound; then one look serves as many as the bound.
func TestPilesCostRelatedAgentsNoStatement(t *testing.T) {
	var statements, looks atomic.Int64
	counted := withHooks(database.Hooks{Statement: func(_ context.Context, sql string) func() {
		statements.Add(1)
		if strings.Contains(sql, "AS j WHERE") {
			looks.Add(1)
		}
		return nil
	}})
	t.Parallel()
	h := newHouse(t, database.SQLite, counted, func(_ *database.Config, cfg *Config) { cfg.MaxUnreadFromStrangers = 10 * newPilePart })
	_, id := h.place(t, "bob")
	send := func(to *string) int64 {
		before := statements.Load()
		_, err := h.messaging.SendMessage(withKey("alice"), &sendRequest{ChannelId: id, To: to})
		require.NoError(t, err)
		return statements.Load() - before
	}
	for range 3 {
		send(ptr("bob"))
	}
	h.messaging.piles.accounts.Purge()
	accounted := send(ptr("bob"))
	for range newPilePart - 1 { // the tenth of a hundred
		require.Equal(t, accounted, send(ptr("bob")))
	}
	require.Zero(t, looks.Load())
	require.Greater(t, send(ptr("bob")), accounted)
	for range 10*newPilePart - 1 {
		require.Equal(t, accounted, send(ptr("bob")))
	}
	require.EqualValues(t, 1, looks.Load())
	send(ptr("bob"))
	require.EqualValues(t, 2, looks.Load())

	// Nothing else of a message depends on piles: it costs what one costs for which there are none.
	ctx, statementsBefore := asOperator(), int64(0)
	for range 3 {
		statementsBefore = statements.Load()
		_, err := h.messaging.SendMessage(ctx, &sendRequest{ChannelId: id, To: ptr("bob"), Sender: ptr("alice")})
		require.NoError(t, err)
	}
	require.Equal(t, accounted, statements.Load()-statementsBefore)
}

// What is under way counts, so that many messages at once do not get past the bound.
func TestManyMessagesAtOnceStayBelowTheBound(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		_, id := h.place(t, "mallory")
		outcomes := make(chan error)
		for range 3 * pileBound {
			go func() {
				_, err := h.messaging.SendMessage(withKey("mallory"), &sendRequest{ChannelId: id, To: ptr("bob")})
				outcomes <- err
			}()
		}
		stored := 0
		for range 3 * pileBound {
			select {
			case err := <-outcomes:
				if err == nil {
					stored++
				}
			case <-time.After(patience):
				require.Fail(t, "a message is not answered")
			}
		}
		require.LessOrEqual(t, stored, pileBound)
		h.looksAgain()
		require.Len(t, h.pileUp(withKey("mallory"), t, id, "bob"), pileBound-stored)
	}, smallPiles)
}
