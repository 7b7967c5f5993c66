package subscriptions

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging"
	"openintent/messaging/message"
	"openintent/messaging/reading"
	"openintent/subscriptions/delivering"
	"openintent/subscriptions/record"
)

// annotate stores an annotation of a message, with a signal that tells it from others and the agents that it is for.
func (h *house) annotate(t require.TestingT, agent string, m *wireMessage, signal string, recipients ...string) {
	c, err := caller.Known(as(agent))
	require.NoError(t, err)
	err = h.messaging.HoldMessage(context.Background(), c, agent, m.GetChannelId(), m.GetId(), message.Current, func(seen *messaging.Sighting) error {
		return seen.Annotate(message.AnnotationReaction, agent, message.AnnotationDetails{Change: "added", Signal: signal, For: recipients})
	})
	require.NoError(t, err)
}

// followIncluding streams what reaches an agent, with annotations.
func (r rooms) followIncluding(t *testing.T, agent string, after *int64) *stream[wireOwn] {
	req := &openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: agent}, AfterPosition: after, Include: []string{"annotations"},
	}
	s, err := begin(as(agent), t, func(s *stream[wireOwn]) error { return r.messaging.Subscribe(req, s) })
	require.NoError(t, err)
	return s
}

// noted is toldOwn for streams with annotations.
func noted(d *wireOwn) string {
	if a := d.GetAnnotation(); a != nil {
		return fmt.Sprintf("%d <%s>", d.GetPosition(), a.GetSignal())
	}
	return toldOwn(d)
}

func requireNoted(t *testing.T, s *stream[wireOwn], wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		require.Equal(t, want, noted(s.next(t)))
	}
}

// An own log numbers what was annotated from the first stream on that includes annotations, and only what concerns the agent.
// Streams without them pass over these numbers, and any stream goes on after any number.
func TestOwnLogsNumberAnnotationsOnceAStreamAsks(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		talk := h.open(t, h.intent(t), "talk")
		plain := h.follow(t, "bob", nil)
		requireNoted(t, plain, "0 caught up")
		own := h.send(t, "bob", talk, "*", "own")
		h.annotate(t, "ann", own, "unasked")
		requireNoted(t, plain, "1 own")
		h.send(t, "ann", talk, "bob", "next")
		requireNoted(t, plain, "2 next")
		require.Zero(t, h.rows(t, "subscriptions", "include <> ''"))

		including := h.followIncluding(t, "bob", nil)
		requireNoted(t, including, "2 caught up")
		h.annotate(t, "ann", own, "sender")
		direct, all := h.send(t, "ann", talk, "bob", "direct"), h.send(t, "ann", talk, "*", "all")
		h.annotate(t, "ann", direct, "addressee")
		h.annotate(t, "eve", all, "nobody's")
		h.annotate(t, "eve", all, "holder", "bob")
		h.annotate(t, "ann", h.send(t, "ann", talk, "eve", "hidden"), "hidden", "bob")
		h.send(t, "ann", talk, "bob", "end")
		whole := []string{"3 <sender>", "4 direct", "5 all", "6 <addressee>", "7 <holder>", "8 end"}
		requireNoted(t, including, whole...)
		requireNoted(t, plain, "4 direct", "5 all", "8 end")
		for after := range int64(9) {
			s := h.followIncluding(t, "bob", &after)
			requireNoted(t, s, append(append([]string{"1 own", "2 next"}, whole...)[after:], "8 caught up")...)
			s.cancel()
			without := h.follow(t, "bob", ptr(after))
			var expected []string
			for i, one := range append([]string{"1 own", "2 next"}, whole...) {
				if int64(i) >= after && one[2] != '<' {
					expected = append(expected, one)
				}
			}
			requireNoted(t, without, append(expected, "8 caught up")...)
			without.cancel()
		}
	})
}

// Durable subscriptions deliver annotations if they include them, and say so.
func TestDurableSubscriptionsIncludeAnnotations(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		talk := h.open(t, intentID, "talk")
		with := h.subscribe(t, "bob", &createInput{Name: ptr("with"), IntentId: &intentID, Include: []string{"attention", "annotations"}})
		narrow := h.subscribe(t, "bob", &createInput{Name: ptr("narrow"), ChannelId: &talk, Include: []string{"annotations"}})
		without := h.subscribe(t, "bob", &createInput{Name: ptr("without"), IntentId: &intentID})
		require.Equal(t, []string{"attention", "annotations"}, with.GetInclude())
		found, err := h.subscriptions.GetSubscription(as("bob"), &openintentv1.GetSubscriptionRequest{SubscriptionId: with.GetId()})
		require.NoError(t, err)
		require.Equal(t, with.GetInclude(), found.GetInclude())
		m := h.send(t, "ann", talk, "bob", "one")
		h.annotate(t, "ann", m, "mine")
		h.annotate(t, "ann", h.send(t, "ann", talk, "*", "all"), "not mine")
		_, err = h.intents.AppendEvent(as("ann"), &openintentv1.AppendEventRequest{
			IntentId: intentID, EventType: "message_reaction", Payload: content("forged"),
		})
		require.NoError(t, err)
		h.send(t, "ann", talk, "bob", "end")
		for _, row := range []struct {
			sub      *openintentv1.Subscription
			expected []string
		}{
			{with, []string{"one", "<mine>", "all", "end"}},
			{narrow, []string{"one", "<mine>", "all", "end"}},
			{without, []string{"one", "all", "!message_reaction", "end"}},
		} {
			s := h.stream(t, row.sub, nil)
			for i, want := range row.expected {
				d := s.next(t)
				got := textOf(d.GetMessage())
				if d.GetEvent() != nil {
					got = "!" + d.GetEvent().GetEventType()
				}
				if a := d.GetAnnotation(); a != nil {
					got = "<" + a.GetSignal() + ">"
					require.Equal(t, m.GetId(), a.GetMessageId())
					require.Equal(t, talk, a.GetChannelId())
					require.Equal(t, "talk", d.GetChannelName())
					require.Equal(t, a.GetPosition(), d.GetPosition())
				}
				require.Equal(t, want, got, row.sub.GetName())
				require.EqualValues(t, i+1, d.GetNumber())
			}
			s.cancel()
		}
	})
}

func TestAnnotationsArePosted(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		endpoint := newHook(t, nil)
		intentID := h.intent(t)
		talk := h.open(t, intentID, "talk")
		h.subscribe(t, "bob", &createInput{IntentId: &intentID, WebhookUrl: &endpoint.URL, Include: []string{"annotations"}})
		m := h.send(t, "ann", talk, "bob", "one")
		h.annotate(t, "ann", m, "mine")
		endpoint.await(t, 2)
		p := endpoint.all()[1]
		require.Equal(t, "message_reaction", p.Event.EventType)
		require.Equal(t, "ann", p.Event.Actor)
		require.Equal(t, intentID, p.Event.Payload.IntentID)
		require.Equal(t, "talk", p.Event.Payload.ChannelName)
		var posted struct {
			Event struct {
				Payload struct {
					Annotation map[string]any `json:"annotation"`
				} `json:"payload"`
			} `json:"event"`
		}
		require.NoError(t, json.Unmarshal(p.Body, &posted))
		require.Equal(t, m.GetId(), posted.Event.Payload.Annotation["message_id"])
		require.Equal(t, "mine", posted.Event.Payload.Annotation["signal"])
	}, webhooked)
}

// A page that was read before an agent's own log began to number annotations has none of them. The log reads it anew and does not number it.
func TestWhatWasReadWithoutAnnotationsIsReadAnew(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		stale := h.ownLog(t, "bob")
		channel := h.open(t, h.intent(t), "talk")
		h.send(t, "ann", channel, "bob", "one")
		var intentNo int64
		require.NoError(t, h.db.ReadStatement(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(database.ReadValue(&intentNo, "SELECT intent_no FROM intent_heads"))
		}))
		require.NoError(t, h.subscriptions.changes.Change(t.Context(), stale.No, record.Wanted{}, func(c *record.Change) error {
			c.Also(database.Statement{ // as another replica does
				SQL: "UPDATE subscriptions SET include = ? WHERE subscription_no = ?", Args: []any{reading.IncludeAnnotations, stale.No},
			})
			return nil
		}))
		require.False(t, stale.Filter.Annotations)
		gatherer := h.subscriptions.supplier.NewGatherer(stale.No, "bob", 0)
		number := func() []delivering.Numbered {
			found, _, _, err := gatherer.Step(t.Context(), stale, &delivering.Backlog{IntentNo: intentNo}, delivering.GatherPage)
			require.NoError(t, err)
			return found
		}
		require.Empty(t, number())
		require.True(t, stale.Filter.Annotations, "the next reading has them")
		require.Equal(t, []string{reading.IncludeAnnotations}, stale.Include)
		require.Len(t, number(), 1)
	})
}
