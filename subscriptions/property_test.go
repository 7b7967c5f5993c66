package subscriptions

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
)

// model describes what a subscription has to deliver, whatever happens in any order.
type model struct {
	h        *house
	channels []string
	sub      *openintentv1.Subscription
	// owed contains the messages that are visible to the subscriber, by channel, in order. came counts how many messages of
	// each channel have come.
	owed map[string][]string
	came map[string]int
	// lost is true once an answer may have been lost; then its deliveries come later.
	lost bool
	// numbers contains the text of each number. done contains the acknowledged numbers, and delivered those that came.
	numbers   map[int64]string
	channelOf map[int64]string
	done      map[int64]bool
	delivered []int64
	sent      int
}

// receive checks the deliveries against the rules. A number always stands for the same message. First deliveries come in the
// order of their intent's log without a gap. Acknowledged deliveries never come again.
func (m *model) receive(t *rapid.T, found []*wireDelivery) {
	for _, d := range found {
		text, channel := textOf(d.GetMessage()), d.GetMessage().GetChannelId()
		require.False(t, m.done[d.GetNumber()], "an acknowledged delivery came again")
		if before, known := m.numbers[d.GetNumber()]; known {
			require.Equal(t, before, text)
			continue
		}
		require.Contains(t, m.owed[channel], text)
		if !m.lost {
			require.Equal(t, m.owed[channel][m.came[channel]], text, "the first deliveries are in order and without gaps")
		}
		m.came[channel]++
		m.channelOf[d.GetNumber()] = channel
		m.numbers[d.GetNumber()] = text
		m.delivered = append(m.delivered, d.GetNumber())
	}
}

// The test runs random sends, fetches with faults, acknowledgements and redrives, and lets time pass. Every message that is
// visible to the subscriber is delivered at least once and in order, and nothing else is delivered.
func TestEverythingVisibleIsDelivered(t *testing.T) {
	databasetest.SearchBriefly(t)
	eachEngine(t, func(t *testing.T, h *house) {
		rapid.Check(t, func(t *rapid.T) {
			m := newModel(t, h)
			m.run(t)
			m.settle(t)
		})
	})
}

func newModel(t *rapid.T, h *house) *model {
	m := &model{
		h: h, owed: make(map[string][]string), came: make(map[string]int), numbers: make(map[int64]string),
		channelOf: make(map[int64]string), done: make(map[int64]bool),
	}
	for range 2 {
		m.channels = append(m.channels, h.open(t, h.intent(t), "talk"))
	}
	m.sub = h.subscribe(t, "bob", &createInput{
		MaxAttempts: ptr(rapid.Int32Range(1, 3).Draw(t, "attempts")), AcknowledgeSeconds: ptr(int32(10)),
	})
	return m
}

func (m *model) run(t *rapid.T) {
	t.Repeat(map[string]func(*rapid.T){
		"send": func(t *rapid.T) {
			channel := rapid.SampledFrom(m.channels).Draw(t, "channel")
			to := rapid.SampledFrom([]string{"bob", "bob", "eve"}).Draw(t, "to")
			m.sent++
			text := strconv.Itoa(m.sent)
			m.h.send(t, "ann", channel, to, text)
			if to == "bob" {
				m.owed[channel] = append(m.owed[channel], text)
			}
		},
		"fetch": func(t *rapid.T) {
			found, err := m.h.tryFetch(as("bob"), m.sub, rapid.Int32Range(1, 5).Draw(t, "limit"))
			require.NoError(t, err)
			m.receive(t, found)
		},
		"fetch and fail": func(t *rapid.T) {
			instruction := nth(rapid.IntRange(1, 3).Draw(t, "commit"))
			if rapid.Bool().Draw(t, "stored") {
				m.h.faults.set(nil, instruction)
				m.lost = true
			} else {
				m.h.faults.set(instruction, nil)
			}
			defer m.h.faults.set(nil, nil)
			if found, err := m.h.tryFetch(as("bob"), m.sub, 3); err == nil {
				m.receive(t, found)
			}
		},
		"acknowledge": func(t *rapid.T) {
			if len(m.delivered) == 0 {
				return
			}
			number := rapid.SampledFrom(m.delivered).Draw(t, "number")
			m.h.acknowledge(t, m.sub, number)
			m.done[number] = true
		},
		"refuse what was not delivered": func(t *rapid.T) {
			_, err := m.h.tryAcknowledge(m.sub, 0, m.h.get(t, m.sub).GetLastNumber()+1)
			require.Error(t, err)
		},
		"wait": func(t *rapid.T) {
			m.h.clock.Advance(rapid.SampledFrom([]time.Duration{time.Second, time.Minute}).Draw(t, "by"))
		},
		"redrive": func(t *rapid.T) { _, err := m.h.redrive(m.sub); require.NoError(t, err) },
		"sweep":   func(t *rapid.T) { m.h.sweep(t) },
		"": func(t *rapid.T) {
			state := m.h.get(t, m.sub)
			require.LessOrEqual(t, state.GetAcknowledgedThrough(), state.GetLastNumber())
			require.LessOrEqual(t, state.GetLastNumber(), int64(m.sent))
		},
	})
}

// settle drains the subscription. Every owed message has then come, or is a dead letter and comes after a redrive.
func (m *model) settle(t *rapid.T) {
	for range 1000 {
		m.h.clock.Advance(time.Minute)
		_, err := m.h.redrive(m.sub)
		require.NoError(t, err)
		found := m.h.fetch(t, m.sub)
		m.receive(t, found)
		for _, d := range found {
			m.h.acknowledge(t, m.sub, d.GetNumber())
			m.done[d.GetNumber()] = true
		}
		if state := m.h.get(t, m.sub); len(found) == 0 && state.GetDeadLetterCount() == 0 {
			break
		}
	}
	came := make(map[string][]string)
	for _, number := range slices.Sorted(slices.Values(m.delivered)) {
		came[m.channelOf[number]] = append(came[m.channelOf[number]], m.numbers[number])
	}
	require.Equal(t, m.owed, came, "numbers rise with positions, and everything has come")
	_, err := m.h.subscriptions.DeleteSubscription(as("bob"), &openintentv1.DeleteSubscriptionRequest{SubscriptionId: m.sub.GetId()})
	require.NoError(t, err)
}
