package subscriptions

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"openintent/internal/caller"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/messaging/reading"
)

// panicNext makes the next statement or commit of the server's own work panic that a condition holds for. The empty text stands for a
// commit. Calls of the test are left alone.
type panicNext struct {
	armed atomic.Bool
	at    func(sql string) bool
}

func (p *panicNext) inject(s *settings) {
	s.database.Hooks.Statement = func(ctx context.Context, sql string) func() {
		p.look(ctx, sql)
		return nil
	}
	s.database.Hooks.BeforeCommit = func(ctx context.Context) error {
		p.look(ctx, "")
		return nil
	}
}

func (p *panicNext) look(ctx context.Context, sql string) {
	if _, calling := caller.From(ctx); !calling && p.at(sql) && p.armed.CompareAndSwap(true, false) {
		panic("planted")
	}
}

// A panic that no decision causes fails all changes of its group, and nobody waits for ever. The next group is made.
func TestAPanicFailsAGroupAndStrandsNobody(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			commit := &panicNext{at: func(sql string) bool { return sql == "" }}
			h := newHouse(t, engine, commit.inject)
			nos := h.numbered(t, 2)
			release := h.subscriptions.changes.HoldUp()
			first := h.begin(t.Context(), nos[0], marks("a"))
			h.awaitChanges(t, 1)
			second := h.begin(t.Context(), nos[1], marks("b"))
			h.awaitChanges(t, 2)
			commit.armed.Store(true)
			release()
			require.True(t, fault.IsPanic(<-first))
			require.True(t, fault.IsPanic(<-second))
			require.NoError(t, <-h.begin(t.Context(), nos[1], marks("c")))
			require.Equal(t, []string{"", "c"}, []string{h.marked(t, nos[0]), h.marked(t, nos[1])})
		})
	}
}

// A panic of the settler costs only the stream whose deliveries it was storing: what that has sent comes again.
func TestAPanicOfTheSettlerLosesNothing(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			settling := &panicNext{at: func(sql string) bool {
				return strings.HasPrefix(sql, "SELECT s.subscription_no FROM subscriptions s WHERE s.deleted_at IS NULL")
			}}
			h := newHouse(t, engine, settling.inject)
			h.unhurried()
			channel := h.open(t, h.intent(t), "talk")
			sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
			s := h.stream(t, sub, nil)
			h.warmUp(t, s, sub, channel)
			h.send(t, "ann", channel, "bob", "one")
			sent := s.next(t)
			settling.armed.Store(true)
			_, err := h.tryAcknowledge(sub, 0, sent.GetNumber())
			require.True(t, fault.IsPanic(err), "%v", err)
			require.True(t, fault.IsPanic(s.end(t)))
			again := h.stream(t, sub, nil).next(t)
			require.Equal(t, "one", textOf(again.GetMessage()))
			require.Greater(t, again.GetNumber(), sent.GetNumber())
			h.acknowledge(t, sub, again.GetNumber())
		})
	}
}

// A delivery that makes the poster panic becomes a dead letter, like one that the endpoint refuses. What comes after it is posted.
func TestADeliveryThatMakesThePosterPanicBecomesADeadLetter(t *testing.T) {
	broken := func(s *settings) {
		encode := s.room.Encode
		s.room.Encode = func(m proto.Message) ([]byte, error) {
			body, err := encode(m)
			if strings.Contains(string(body), "poison") {
				panic("planted")
			}
			return body, err
		}
	}
	eachEngine(t, func(t *testing.T, h *house) {
		endpoint := newHook(t, nil)
		intentID := h.intent(t)
		channelID := h.open(t, intentID, "news")
		sub := h.subscribe(t, "b", &createInput{
			IntentId: &intentID, WebhookUrl: &endpoint.URL, EventTypes: []string{reading.MessageEventType}, MaxAttempts: ptr(int32(2)),
		})
		h.send(t, "a", channelID, "b", "poison")
		h.send(t, "a", channelID, "b", "after")
		eventually(t, func() bool {
			h.clock.Advance(time.Second)
			return len(endpoint.taken()) == 1
		}, "what comes after the delivery was not posted")
		require.Equal(t, []string{"after"}, endpoint.taken())
		letters := h.deadLetters(t, sub)
		require.Len(t, letters, 1)
		require.Equal(t, "The server could not make this post ready; the failure has been logged. This was attempt 2 of 2.",
			letters[0].GetReason())
	}, webhooked, restless, broken)
}

// A panic anywhere else in the poster makes its subscription wait for a moment.
func TestAPanicOfThePosterHoldsUpItsSubscriptionOnly(t *testing.T) {
	statements := map[string]string{
		"examining":      "d.due_at IS NOT NULL AND d.dead_at IS NULL",
		"storing a post": "DELETE FROM subscription_deliveries",
		"giving up":      "dead_letters",
	}
	for name, part := range statements {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, engine := range databasetest.Engines() {
				t.Run(engine.String(), func(t *testing.T) {
					t.Parallel()
					panics := &panicNext{at: func(sql string) bool { return strings.Contains(sql, part) }}
					h := newHouse(t, engine, panics.inject, webhooked, restless)
					endpoint := newHook(t, func(arrival) int {
						if name == "giving up" {
							return http.StatusGone
						}
						return http.StatusOK
					})
					intentID := h.intent(t)
					channelID := h.open(t, intentID, "news")
					sub := h.subscribe(t, "b", &createInput{
						IntentId: &intentID, WebhookUrl: &endpoint.URL, EventTypes: []string{reading.MessageEventType},
					})
					panics.armed.Store(true)
					h.send(t, "a", channelID, "b", "one")
					eventually(t, func() bool {
						h.clock.Advance(time.Second)
						return h.get(t, sub).GetAcknowledgedThrough() == 1
					}, "the delivery was not finished")
					require.Equal(t, name == "giving up", len(h.deadLetters(t, sub)) == 1)
					require.False(t, panics.armed.Load(), "nothing panicked")
				})
			}
		})
	}
}
