package subscriptions

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
)

// takeovers are random streams of one subscription at two replicas, whose client receives and acknowledges at either of them.
type takeovers struct {
	h        *house
	replicas []rooms
	channel  string
	sub      *openintentv1.Subscription
	streams  []*stream[wireDelivery]
	sent     int

	mutex sync.Mutex
	// say sends a message, and shown returns the messages for which a delivery stands.
	say   func(r *rapid.T, text string)
	shown func(d *wireDelivery) []string
	// meaning contains the messages of each number, and inbox the numbers that came and are not finished.
	meaning map[int64][]string
	inbox   []int64
	// finished contains the messages whose acknowledgement was answered OK.
	finished map[string]bool
	broken   string
}

// Streams of two replicas take over from each other, end with and without releasing their leases, and lose commits and their
// answers, while the client acknowledges at either replica. Everything is delivered until it is acknowledged, a number means one
// message, and what was acknowledged does not come on a stream that begins later.
func TestStreamsThatTakeOverLoseNothing(t *testing.T) {
	databasetest.SearchBriefly(t)
	eachEngine(t, func(t *testing.T, h *house) {
		replicas := []rooms{h.rooms}
		if h.db.Engine() == database.PostgreSQL {
			replicas = append(replicas, h.replica(t, restless, h.faults.inject))
		}
		rapid.Check(t, func(r *rapid.T) {
			m := &takeovers{
				h: h, replicas: replicas, channel: h.open(r, h.intent(r), "talk"),
				meaning: make(map[int64][]string), finished: make(map[string]bool),
				shown: func(d *wireDelivery) []string { return []string{textOf(d.GetMessage())} },
			}
			m.say = func(r *rapid.T, text string) { h.send(r, "ann", m.channel, "bob", text) }
			m.sub = h.subscribe(r, "bob", &createInput{MaxAttempts: ptr(int32(100)), AcknowledgeSeconds: ptr(int32(10))})
			m.run(t, r)
			m.settle(t, r)
		})
	}, restless)
}

func (m *takeovers) run(t *testing.T, r *rapid.T) {
	defer m.h.faults.set(nil, nil)
	r.Repeat(map[string]func(*rapid.T){
		"send": m.send, "send more": m.send,
		"begin a stream": func(r *rapid.T) {
			if len(m.streams) < 3 {
				m.begin(t, r)
			}
		},
		"end a stream": func(*rapid.T) { m.end() },
		"crash": func(*rapid.T) { // the lease is not released
			m.h.faults.set(func() error { return databasetest.ErrInjected }, nil)
			m.end()
			m.h.faults.set(nil, nil)
		},
		"lose a commit":  func(r *rapid.T) { m.h.faults.set(nth(rapid.IntRange(1, 3).Draw(r, "commit")), nil) },
		"lose an answer": func(r *rapid.T) { m.h.faults.set(nil, nth(rapid.IntRange(1, 3).Draw(r, "commit"))) },
		"acknowledge":    func(r *rapid.T) { m.acknowledge(rapid.SampledFrom(m.replicas).Draw(r, "replica")) },
		"wait": func(r *rapid.T) {
			m.h.clock.Advance(rapid.SampledFrom([]time.Duration{time.Second, 11 * time.Second}).Draw(r, "by"))
		},
		"": func(r *rapid.T) { m.holds(r) },
	})
}

func (m *takeovers) holds(r require.TestingT) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	require.Empty(r, m.broken)
}

func (m *takeovers) send(r *rapid.T) {
	m.h.faults.set(nil, nil)
	m.sent++
	m.say(r, strconv.Itoa(m.sent))
}

// begin begins a stream and takes everything that comes on it.
func (m *takeovers) begin(t *testing.T, r *rapid.T) {
	at := rapid.SampledFrom(m.replicas).Draw(r, "replica")
	m.mutex.Lock()
	before := make(map[string]bool, len(m.finished))
	for text := range m.finished {
		before[text] = true
	}
	m.mutex.Unlock()
	s, err := at.tryStream(as("bob"), t, m.sub, nil)
	if err != nil {
		return // a commit was lost
	}
	m.streams = append(m.streams, s)
	go func() {
		for {
			select {
			case d := <-s.deliveries:
				m.take(d, before)
			case <-s.ctx.Done():
				return
			}
		}
	}()
}

func (m *takeovers) take(d *wireDelivery, before map[string]bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	texts := m.shown(d)
	if known, there := m.meaning[d.GetNumber()]; there && !slices.Equal(known, texts) {
		m.broken = fmt.Sprintf("number %d means messages %v and %v", d.GetNumber(), known, texts)
	}
	for _, text := range texts {
		if before[text] {
			m.broken = "message " + text + " came again on a stream that began after its acknowledgement"
		}
	}
	m.meaning[d.GetNumber()] = texts
	m.inbox = append(m.inbox, d.GetNumber())
}

// end ends the oldest stream.
func (m *takeovers) end() {
	if len(m.streams) > 0 {
		m.streams[0].cancel()
		if err := <-m.streams[0].ended; err == nil {
			m.broken = "a stream that was cut off ended as if it were complete"
		}
		m.streams = m.streams[1:]
	}
}

// acknowledge acknowledges the oldest number that came. A refusal leaves it to be acknowledged later, unless the message comes
// again under another number.
func (m *takeovers) acknowledge(at rooms) {
	m.mutex.Lock()
	if len(m.inbox) == 0 {
		m.mutex.Unlock()
		return
	}
	number := m.inbox[0]
	m.inbox = m.inbox[1:]
	m.mutex.Unlock()
	_, err := at.tryAcknowledge(m.sub, 0, number)
	m.mutex.Lock()
	defer m.mutex.Unlock()
	switch {
	case err == nil:
		for _, text := range m.meaning[number] {
			m.finished[text] = true
		}
	case fault.From(err).Kind == fault.Invalid:
		m.broken = "the acknowledgement of number " + strconv.FormatInt(number, 10) + " was refused: " + err.Error()
	case fault.From(err).Reason != "DELIVERY_COMES_AGAIN":
		m.inbox = append(m.inbox, number)
	}
}

// settle lets one stream deliver what is left.
func (m *takeovers) settle(t *testing.T, r *rapid.T) {
	for len(m.streams) > 0 {
		m.end()
	}
	m.begin(t, r)
	eventually(r, func() bool {
		m.h.clock.Advance(time.Second)
		for _, at := range m.replicas {
			m.acknowledge(at)
		}
		m.mutex.Lock()
		defer m.mutex.Unlock()
		return m.broken != "" || len(m.finished) == m.sent
	}, "everything is delivered and acknowledged")
	m.end()
	m.holds(r)
	_, err := m.h.subscriptions.DeleteSubscription(as("bob"), &openintentv1.DeleteSubscriptionRequest{SubscriptionId: m.sub.GetId()})
	require.NoError(r, err)
}
