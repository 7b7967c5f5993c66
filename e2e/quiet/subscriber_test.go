package quiet

import (
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

const (
	// composeWindow is how long a message that must be answered may wait. moment is how much later than the clock the log's time may be.
	composeWindow = 30 * time.Second
	moment        = time.Millisecond

	mustRespond = openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_RESPOND
	ambient     = openintentv1.Directedness_DIRECTEDNESS_AMBIENT
)

// subscriber is a durable subscription, and what came of it.
type subscriber struct {
	*openintentv1.Subscription
	// full are the messages that came in full. summed are those that only a digest can have summed up, and due says when those must
	// have come that must be answered.
	full, summed map[string]bool
	due          map[string]time.Time
	// edited are those that were edited after a digest. They may ask only later, when somebody else's claim has ended.
	edited map[string]bool
}

// subscribe makes so many subscriptions of an agent to everything: with both windows, with one of them, and without any.
func (w *world) subscribe(t *rapid.T, agent string, count int) {
	for _, change := range []func(*openintentv1.CreateSubscriptionRequest){
		func(req *openintentv1.CreateSubscriptionRequest) {
			req.Compose, req.DigestSeconds = new(true), new(int32(90))
		},
		func(req *openintentv1.CreateSubscriptionRequest) { req.DigestSeconds = new(int32(20)) },
		func(req *openintentv1.CreateSubscriptionRequest) { req.Compose = new(true) },
		func(*openintentv1.CreateSubscriptionRequest) {},
	}[:count] {
		req := &openintentv1.CreateSubscriptionRequest{MaxAttempts: new(int32(100))}
		change(req)
		r := w.any()
		made, err := r.Subscriptions.CreateSubscription(r.As(agent), req)
		require.NoError(t, err)
		t.Cleanup(func() { // an agent has so many subscriptions at most
			r := w.any()
			_, err := r.Subscriptions.DeleteSubscription(r.As(agent), &openintentv1.DeleteSubscriptionRequest{SubscriptionId: made.GetId()})
			require.NoError(t, err)
		})
		w.subscribers = append(w.subscribers, &subscriber{
			Subscription: made, full: make(map[string]bool), summed: make(map[string]bool), due: make(map[string]time.Time),
			edited: make(map[string]bool),
		})
	}
}

// attention returns what a message asks of an agent; nil if the agent does not receive it, or not any more.
func (w *world) attention(t *rapid.T, agent string, m *said) *openintentv1.GetAttentionResponse {
	r := w.any()
	found, err := r.Claims.GetAttention(r.As(agent), &openintentv1.GetAttentionRequest{ChannelId: m.GetChannelId(), MessageId: m.GetId()})
	if err != nil {
		require.Equal(t, fault.NotFound, fault.From(err).Kind, "%v", err)
		return nil
	}
	if found.Policy == nil {
		return nil
	}
	return found
}

// judge asks what every message asks that did not come in full everywhere, and notes what must be answered.
func (w *world) judge(t *rapid.T) {
	for _, m := range w.messages {
		asked := make(map[string]*openintentv1.GetAttentionResponse)
		for _, s := range w.subscribers {
			agent := s.GetSubscriberId()
			if s.full[m.GetId()] || m.GetSender() == agent {
				continue
			}
			asks, known := asked[agent]
			if !known {
				asks = w.attention(t, agent, m)
				asked[agent] = asks
			}
			if asks != nil {
				w.hold(t, s, m, asks)
			}
		}
	}
}

// hold notes when a message must have come that must be answered.
func (w *world) hold(t *rapid.T, s *subscriber, m *said, asks *openintentv1.GetAttentionResponse) {
	w.reached[asks.GetReason()]++
	if asks.GetReason() == "loop_brake" {
		require.False(t, m.obliges, "obligations are exempt from the brake")
		require.Equal(t, openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_NOT_RESPOND, asks.GetPolicy(), "what is braked needs no answer")
	}
	if _, known := s.due[m.GetId()]; known || asks.GetPolicy() != mustRespond {
		return
	}
	changed := w.cause.messageID == m.GetId()
	claimed := w.cause == cause{"claim", s.GetSubscriberId(), m.GetId()}
	if s.summed[m.GetId()] && (s.edited[m.GetId()] || claimed) {
		w.reached["asks after its digest"]++
		s.full[m.GetId()] = true // it was handed over already
		return
	}
	if claimed && s.GetDigestSeconds() > 0 && m.GetDirectedness() == ambient { // it may still wait for its digest; who claims it knows it
		s.full[m.GetId()] = true
		return
	}
	s.due[m.GetId()] = w.now
	if s.GetCompose() && asks.GetInjection() != openintentv1.Injection_INJECTION_IMMEDIATE {
		s.due[m.GetId()] = m.at.Add(composeWindow + moment)
	}
	if changed && w.cause.act == "edit" && w.now.Sub(m.GetCreatedAt().AsTime()) > moment {
		w.reached["an edit asks"]++
	}
}

// receive fetches what is due for all subscribers, and holds that nothing is late.
func (w *world) receive(t *rapid.T) {
	for _, s := range w.subscribers {
		r := w.any()
		page, err := r.Subscriptions.FetchDeliveries(r.As(s.GetSubscriberId()), &openintentv1.FetchDeliveriesRequest{
			SubscriptionId: s.GetId(), Limit: new(int32(1000)),
		})
		require.NoError(t, err)
		var done []int64
		for _, d := range page.GetDeliveries() {
			if w.take(t, s, d); d.GetNumber()%3 != 0 { // some come again
				done = append(done, d.GetNumber())
			}
		}
		if len(done) > 0 {
			_, err := r.Subscriptions.AcknowledgeDeliveries(r.As(s.GetSubscriberId()), &openintentv1.AcknowledgeDeliveriesRequest{
				SubscriptionId: s.GetId(), Numbers: done,
			})
			require.NoError(t, err)
		}
		w.inTime(t, s)
	}
}

// take notes what a delivery brings.
func (w *world) take(t *rapid.T, s *subscriber, d *openintentv1.SubscriptionDelivery) {
	full := []*message{}
	for _, earlier := range d.GetEarlier() {
		full = append(full, earlier.GetMessage())
	}
	if d.GetMessage() != nil {
		full = append(full, d.GetMessage())
	}
	for _, m := range full {
		require.NotNil(t, m.GetPayload())
		s.full[m.GetId()] = true
	}
	if len(d.GetEarlier()) > 0 {
		w.reached["composed"]++
	}
	if d.GetDigest() == nil {
		return
	}
	w.reached["digest"]++
	for _, m := range w.messages {
		_, due := s.due[m.GetId()]
		if s.full[m.GetId()] || due || m.GetSender() == s.GetSubscriberId() {
			continue
		}
		if asks := w.attention(t, s.GetSubscriberId(), m); asks != nil && asks.GetDirectedness() == ambient {
			s.summed[m.GetId()] = true
		}
	}
}

// inTime holds that everything has come that must have come by now, unless nobody may see it any more.
func (w *world) inTime(t *rapid.T, s *subscriber) {
	for _, m := range w.messages {
		due, must := s.due[m.GetId()]
		switch {
		case !must:
		case s.full[m.GetId()]:
			if m.at.Before(w.now.Add(-moment)) {
				w.reached["came later"]++
			}
			delete(s.due, m.GetId())
		case due.After(w.now):
		default:
			asks := w.attention(t, s.GetSubscriberId(), m)
			require.Nil(t, asks, "%s must answer %v, which did not come in full by %s (compose %t, digest %d), after %v",
				s.GetSubscriberId(), m.message, due, s.GetCompose(), s.GetDigestSeconds(), w.cause)
			delete(s.due, m.GetId())
		}
	}
}

// pass lets time pass, and looks whenever something must have come.
func (w *world) pass(t *rapid.T, by time.Duration) {
	for end := w.now.Add(by); w.now.Before(end); {
		next := end
		for _, s := range w.subscribers {
			for _, due := range s.due {
				if due.After(w.now) && due.Before(next) {
					next = due
				}
			}
		}
		w.set(next)
		w.judge(t) // a claim may have ended
		w.receive(t)
	}
}

// finish holds that everything has come, in full unless it is ambient and the subscription has digests.
func (w *world) finish(t *rapid.T) {
	w.cause = cause{act: "finish"}
	w.pass(t, 11*time.Minute)
	w.pass(t, time.Minute)
	for _, s := range w.subscribers {
		for _, m := range w.messages {
			if s.full[m.GetId()] || m.GetSender() == s.GetSubscriberId() {
				continue
			}
			if asks := w.attention(t, s.GetSubscriberId(), m); asks != nil {
				require.NotZero(t, s.GetDigestSeconds(), "%v did not come, which asks %v", m.message, asks)
				require.True(t, s.summed[m.GetId()], "%v came in no digest and not in full; it asks %v", m.message, asks)
			}
		}
	}
}
