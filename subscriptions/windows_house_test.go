package subscriptions

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
)

// windowsModel describes what a subscription with windows has to deliver.
type windowsModel struct {
	h        *house
	channels []string
	sub      *openintentv1.Subscription
	// owed are the messages that must come in full, by sender and channel, in order. ambient counts the others.
	owed    map[[2]string][]string
	ambient int
	// came and digested are what was acknowledged. seen has what each number stood for.
	came     map[[2]string][]string
	digested int
	seen     map[int64]string
	sent     int
}

// Whatever is sent, fetched and acknowledged in any order: every message comes, and goes with one acknowledgement. What is not for the agent
// is in one digest, and nothing else is.
func TestEverythingComesThroughWindows(t *testing.T) {
	databasetest.SearchBriefly(t)
	eachEngine(t, func(t *testing.T, h *house) {
		rapid.Check(t, func(t *rapid.T) {
			m := &windowsModel{h: h, owed: make(map[[2]string][]string), came: make(map[[2]string][]string), seen: make(map[int64]string)}
			for range 2 {
				m.channels = append(m.channels, h.open(t, h.intent(t), "talk"))
			}
			for _, channel := range m.channels { // bob takes part
				h.send(t, "bob", channel, "*", "hello")
			}
			h.clock.Advance(time.Hour) // the subscription does not begin with that
			m.sub = h.subscribe(t, "bob", &createInput{
				Compose: ptr(true), DigestSeconds: ptr(int32(20)), MaxAttempts: ptr(int32(100)),
			})
			t.Repeat(map[string]func(*rapid.T){
				"send": m.send,
				"wait": func(t *rapid.T) {
					h.clock.Advance(time.Duration(rapid.IntRange(100, 9000).Draw(t, "milliseconds")) * time.Millisecond)
				},
				"fetch": m.fetch,
			})
			m.finish(t)
		})
	})
}

func (m *windowsModel) send(t *rapid.T) {
	m.sent++
	text := fmt.Sprint("message ", m.sent)
	sender, channel := rapid.SampledFrom([]string{"ann", "cid"}).Draw(t, "sender"), rapid.SampledFrom(m.channels).Draw(t, "channel")
	key := [2]string{sender, channel}
	switch rapid.SampledFrom([]string{"ambient", "direct", "request", "urgent"}).Draw(t, "what") {
	case "ambient":
		m.ambient++
		m.h.send(t, sender, channel, "*", text)
		return
	case "direct":
		m.h.send(t, sender, channel, "bob", text)
	case "request":
		m.h.asks(t, sender, channel, "bob", text)
	case "urgent":
		m.h.sendWith(t, sender, channel, "bob", text, func(req *openintentv1.SendMessageRequest) {
			req.MessageType, req.Priority = ptr(request), ptr(openintentv1.Priority_PRIORITY_URGENT)
		})
	}
	m.owed[key] = append(m.owed[key], text)
}

// fetch receives what is due, and acknowledges a beginning of it.
func (m *windowsModel) fetch(t *rapid.T) {
	found := m.h.fetch(t, m.sub)
	m.acknowledge(t, found[:rapid.IntRange(0, len(found)).Draw(t, "acknowledged")])
	for _, d := range found {
		stands := fmt.Sprint(spoken(d), d.GetDigest().GetMessageCount())
		if before, known := m.seen[d.GetNumber()]; known {
			require.Equal(t, before, stands, "a number stands for something else")
		}
		m.seen[d.GetNumber()] = stands
	}
}

func (m *windowsModel) acknowledge(t *rapid.T, found []*wireDelivery) {
	for _, d := range found {
		m.digested += int(d.GetDigest().GetMessageCount())
		for _, earlier := range d.GetEarlier() {
			m.note(earlier.GetMessage())
		}
		if d.GetMessage() != nil {
			m.note(d.GetMessage())
		}
		m.h.acknowledge(t, m.sub, d.GetNumber())
	}
}

func (m *windowsModel) note(message *wireMessage) {
	key := [2]string{message.GetSender(), message.GetChannelId()}
	m.came[key] = append(m.came[key], textOf(message))
}

func (m *windowsModel) finish(t *rapid.T) {
	for range 3 {
		m.h.clock.Advance(time.Minute)
		for found := m.h.fetch(t, m.sub); len(found) > 0; found = m.h.fetch(t, m.sub) {
			m.acknowledge(t, found)
		}
	}
	require.Equal(t, m.ambient, m.digested)
	for _, came := range []map[[2]string][]string{m.came, m.owed} { // what was not acknowledged comes later
		for key := range came {
			slices.Sort(came[key])
		}
	}
	require.Equal(t, m.owed, m.came)
	require.Zero(t, m.h.rows(t, "subscription_waiting", "1 = 1"))
}
