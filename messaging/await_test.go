package messaging

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/message"
	"openintent/messaging/wake"
)

// gathered is what a call that gathers responses came back with.
type gathered struct {
	responses []*wireMessage
	err       error
}

// within returns what comes, which must be before the tests lose patience.
func within[T any](t require.TestingT, awaited chan T) (came T) {
	select {
	case came = <-awaited:
	case <-time.After(patience):
		require.Fail(t, "what the test waits for does not come")
	}
	return came
}

func (h *house) askAllMeanwhile(agent string, req *askAllRequest) chan gathered {
	ended := make(chan gathered, 1)
	go func() {
		all, err := h.messaging.AskAll(as(agent), req)
		ended <- gathered{all.GetResponses(), err}
	}()
	return ended
}

// awaitMeanwhile begins an AwaitResponses and returns once it listens for the request, or has ended.
func (h *house) awaitMeanwhile(ctx context.Context, t require.TestingT, req *awaitRequest) chan gathered {
	ended := make(chan gathered, 1)
	go func() {
		got, err := h.messaging.AwaitResponses(ctx, req)
		ended <- gathered{got.GetResponses(), err}
	}()
	eventually(t, func() bool {
		return len(ended) > 0 || h.listensFor(wake.RequestTopic(req.GetMessageId()))
	}, "nobody waits")
	return ended
}

func TestAskAllGathersUntilEnoughCame(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.register(t, "bob", "tester")
		h.register(t, "carol", "tester")
		ended := h.askAllMeanwhile("alice", &askAllRequest{
			ChannelId: id, To: "role:tester", MinResponses: ptr(int32(3)), TimeoutSeconds: ptr(600.0),
		})
		m := h.awaitRequest(t, id)
		h.reply(t, "bob", id, m.GetId(), "one")
		h.reply(t, "carol", id, m.GetId(), "two")
		h.reply(t, "bob", id, m.GetId(), "three")
		out := within(t, ended)
		require.NoError(t, out.err)
		require.Equal(t, []string{"one", "two", "three"}, textsOf(out.responses))
	})
}

func TestAskAllTakesTheWholeTimeForAll(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		for name, minimum := range map[string]*int32{"without a minimum": nil, "with one not reached": ptr(int32(5))} {
			id := h.open(t)
			ended := h.askAllMeanwhile("alice", &askAllRequest{
				ChannelId: id, To: "bob", MinResponses: minimum, TimeoutSeconds: ptr(30.0),
			})
			m := h.awaitRequest(t, id)
			h.reply(t, "bob", id, m.GetId(), "one")
			h.clock.Advance(29 * time.Second)
			h.reply(t, "bob", id, m.GetId(), "two")
			h.clock.Advance(time.Minute)
			out := within(t, ended)
			require.NoError(t, out.err, "too few are no error, %s", name)
			require.Equal(t, []string{"one", "two"}, textsOf(out.responses), name)

			ended = h.askAllMeanwhile("alice", &askAllRequest{
				ChannelId: id, To: "bob", MinResponses: minimum, TimeoutSeconds: ptr(30.0),
			})
			m = h.awaitRequest(t, id)
			h.clock.Advance(time.Minute)
			out = within(t, ended)
			require.NoError(t, out.err)
			require.Empty(t, out.responses)
			require.Equal(t, expired, h.get(t, id, m.GetId()).GetStatus())
		}
	}, restless)
}

func TestAskAllEndsWithItsChannel(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		for name, end := range map[string]func(id string){
			"closed":  func(id string) { h.closeChannel(t, id) },
			"deleted": func(id string) { h.deleteChannel(t, id) },
		} {
			id := h.open(t)
			ended := h.askAllMeanwhile("alice", &askAllRequest{ChannelId: id, To: "bob", TimeoutSeconds: ptr(600.0)})
			m := h.awaitRequest(t, id)
			h.reply(t, "bob", id, m.GetId(), "one")
			if name == "closed" {
				end(id)
				out := within(t, ended)
				require.NoError(t, out.err, name)
				require.Equal(t, []string{"one"}, textsOf(out.responses), name)
				continue
			}
			end(id)
			require.NoError(t, within(t, ended).err, name)
		}
	})
}

func TestAwaitingIsForTheAsker(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id, other := h.explicit(t, "alice", "bob", "carol"), h.explicit(t, "alice", "bob", "carol")
		sibling := h.explicitIn(t, h.channel(t, id).GetIntentId(), "sibling", "alice", "bob")
		asked := h.asks(t, "alice", id, "bob")
		note := h.say(t, "alice", id, "")
		for _, row := range []struct {
			name    string
			caller  context.Context
			channel string
			message string
			kind    fault.Kind
			reason  string
		}{
			{"the asker", as("alice"), id, asked.GetId(), 0, ""},
			{"the operator", asOperator(), id, asked.GetId(), 0, ""},
			{"its recipient", as("bob"), id, asked.GetId(), fault.Denied, "NOT_THE_ASKER"},
			{"who cannot see it", as("carol"), id, asked.GetId(), fault.NotFound, "MESSAGE_NOT_FOUND"},
			{"a stranger", as("dave"), id, asked.GetId(), fault.Denied, "NOT_A_MEMBER"},
			{"nobody", context.Background(), id, asked.GetId(), fault.Unauthenticated, "UNAUTHENTICATED"},
			{"on another channel", as("alice"), other, asked.GetId(), fault.NotFound, "MESSAGE_NOT_FOUND"},
			{"on another channel of the intent", as("alice"), sibling, asked.GetId(), fault.NotFound, "MESSAGE_NOT_FOUND"},
			{"no message", as("alice"), id, aMessageID, fault.NotFound, "MESSAGE_NOT_FOUND"},
			{"nonsense", as("alice"), id, "nonsense", fault.NotFound, "MESSAGE_NOT_FOUND"},
			{"no request", as("alice"), id, note.GetId(), fault.Invalid, "NOT_A_REQUEST"},
			{"no channel", as("alice"), "chan_x", asked.GetId(), fault.NotFound, "CHANNEL_NOT_FOUND"},
		} {
			got, err := h.messaging.AwaitResponses(row.caller, &awaitRequest{ChannelId: row.channel, MessageId: row.message})
			if row.reason == "" {
				require.NoError(t, err, row.name)
				require.Empty(t, got.GetResponses())
			} else {
				require.Error(t, err, row.name)
				faulttest.Require(t, err, row.kind, row.reason)
			}
		}
	})
}

func TestAwaitingLongPolls(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		asked := h.asks(t, "alice", id, "bob")
		await := func(minimum int32) chan gathered {
			return h.awaitMeanwhile(as("alice"), t, &awaitRequest{
				ChannelId: id, MessageId: asked.GetId(), WaitSeconds: ptr(30.0), MinResponses: &minimum,
			})
		}
		ended := await(1)
		h.reply(t, "bob", id, asked.GetId(), "one")
		require.Equal(t, []string{"one"}, textsOf(within(t, ended).responses))
		require.Equal(t, []string{"one"}, textsOf(within(t, await(1)).responses), "one is there already")
		ended = await(2)
		h.reply(t, "bob", id, asked.GetId(), "two")
		require.Equal(t, []string{"one", "two"}, textsOf(within(t, ended).responses))
		ended = await(3)
		h.clock.Advance(time.Minute)
		out := within(t, ended)
		require.NoError(t, out.err, "a wait that runs out is no error")
		require.Equal(t, []string{"one", "two"}, textsOf(out.responses))
		require.Equal(t, delivered, h.get(t, id, asked.GetId()).GetStatus(), "nor does it expire the request")

		got, err := h.messaging.AwaitResponses(as("alice"), &awaitRequest{ChannelId: id, MessageId: asked.GetId(), MinResponses: ptr(int32(9))})
		require.NoError(t, err, "without a wait it gives what there is")
		require.Len(t, got.GetResponses(), 2)
	}, restless)
}

func TestAwaitingEndsWithTheRequest(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		for name, end := range map[string]func(channel *openintentv1.Channel){
			"at its expiry":           func(*openintentv1.Channel) { h.clock.Advance(61 * time.Second) },
			"when the channel closes": func(c *openintentv1.Channel) { h.closeChannel(t, c.GetId()) },
			"when the intent ends":    func(c *openintentv1.Channel) { h.setStatus(t, c.GetIntentId(), completed) },
			"when bob leaves": func(*openintentv1.Channel) {
				h.register(t, "bob", "")
				h.clock.Advance(time.Second)
				h.deregister(t, "bob")
			},
		} {
			id := h.open(t)
			asked := h.send(t, "alice", &sendRequest{
				ChannelId: id, To: ptr("bob"), MessageType: ptr(request), ExpiresAt: h.in(time.Minute),
			})
			h.reply(t, "bob", id, asked.GetId(), "one")
			if name == "when bob leaves" {
				asked = h.asks(t, "alice", id, "bob")
			}
			req := &awaitRequest{
				ChannelId: id, MessageId: asked.GetId(), WaitSeconds: ptr(600.0), MinResponses: ptr(int32(2)),
			}
			ended := h.awaitMeanwhile(as("alice"), t, req)
			end(h.channel(t, id))
			for range 2 {
				out := within(t, ended)
				require.NoError(t, out.err, name)
				if name != "when bob leaves" {
					require.Equal(t, []string{"one"}, textsOf(out.responses), name)
				}
				h.sweep(t)
				ended = make(chan gathered, 1)
				go func() {
					got, err := h.messaging.AwaitResponses(as("alice"), req)
					ended <- gathered{got.GetResponses(), err}
				}()
			}
			within(t, ended)
		}
	}, restless)
}

// The end of the request's time ends the wait at once, without any look in between.
func TestAwaitingKnowsTheExpiry(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		asked := h.send(t, "alice", &sendRequest{
			ChannelId: id, To: ptr("bob"), MessageType: ptr(request), ExpiresAt: h.in(50 * time.Millisecond),
		})
		ended := make(chan gathered, 1)
		go func() {
			got, err := h.messaging.AwaitResponses(as("alice"), &awaitRequest{
				ChannelId: id, MessageId: asked.GetId(), WaitSeconds: ptr(600.0),
			})
			ended <- gathered{got.GetResponses(), err}
		}()
		eventually(t, func() bool { return h.listensFor(wake.RequestTopic(asked.GetId())) }, "nobody waits")
		h.clock.Advance(time.Minute)
		require.NoError(t, within(t, ended).err)
	})
}

func TestAwaitingEndsWithTheCaller(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		asked := h.asks(t, "alice", id, "bob")
		req := &awaitRequest{ChannelId: id, MessageId: asked.GetId(), WaitSeconds: ptr(600.0)}
		ctx, cancel := context.WithCancel(as("alice"))
		ended := h.awaitMeanwhile(ctx, t, req)
		cancel()
		require.ErrorIs(t, within(t, ended).err, context.Canceled)

		ended = h.awaitMeanwhile(as("alice"), t, req)
		h.admit(t, h.channel(t, id).GetIntentId(), "bob")
		f := faulttest.Require(t, within(t, ended).err, fault.Denied, "FORBIDDEN")
		require.Equal(t, asked.GetId(), f.Metadata["message_id"])
	})
}

func TestSecondsAreNeverLostToPrecision(t *testing.T) {
	require.Zero(t, seconds(0))
	require.Equal(t, time.Microsecond, seconds(1e-9))
	require.Equal(t, 1500*time.Millisecond, seconds(1.5))
	require.Equal(t, 600*time.Second, seconds(600))
}

// A look may be held up between its snapshot and its judgement. If it then took the present time, it would find the channel
// closed by its time to live, and would not see the reply that came meanwhile.
func TestALookThatIsHeldUpMissesNoAnswer(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			held, released := make(chan struct{}), make(chan struct{})
			release := sync.OnceFunc(func() { close(released) })
			defer release()
			var armed atomic.Bool
			h := newHouse(t, engine, restless, withHooks(database.Hooks{Statement: func(ctx context.Context, sql string) (row func()) {
				if c, _ := caller.From(ctx); c.Agent != "alice" || !strings.HasSuffix(sql, "WHERE "+message.ByIDInIntent) {
					return nil
				}
				return func() {
					if armed.CompareAndSwap(true, false) {
						held <- struct{}{}
						<-released
					}
				}
			}}))
			id := h.create(t, &createRequest{Options: &openintentv1.ChannelOptions{TtlSeconds: ptr(int64(30))}})
			ended := h.askAllMeanwhile("alice", &askAllRequest{ChannelId: id, To: "bob", TimeoutSeconds: ptr(60.0)})
			question := h.awaitRequest(t, id)
			armed.Store(true)
			within(t, held)
			reply := h.reply(t, "bob", id, question.GetId(), "in time")
			h.clock.Set(reply.GetCreatedAt().AsTime().Add(30 * time.Second))
			release()
			out := within(t, ended)
			require.NoError(t, out.err)
			require.Equal(t, []string{reply.GetId()}, idsOf(out.responses))
		})
	}
}
