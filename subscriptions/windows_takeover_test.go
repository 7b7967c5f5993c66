package subscriptions

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// windowTakeovers are takeovers of a subscription with windows. Some messages are for everyone, and come in digests.
type windowTakeovers struct {
	*takeovers
	// ambient are the messages for everyone, in the order of their positions. numbers has the number under which each message came.
	ambient []ambientMessage
	numbers map[string]int64
}

type ambientMessage struct {
	text     string
	position int64
}

// What waits survives streams that take over from each other, servers that die between gathering and delivery, streams that wake after
// another one took over, and lost commits: nothing is lost, a number means the same messages whenever it comes, and no message comes
// under two numbers, in no two digests either.
func TestWindowsSurviveTakeovers(t *testing.T) {
	databasetest.SearchBriefly(t)
	eachEngine(t, func(t *testing.T, h *house) {
		replicas := []rooms{h.rooms}
		if h.db.Engine() == database.PostgreSQL {
			replicas = append(replicas, h.replica(t, restless, h.faults.inject))
		}
		var digests, composed atomic.Int64
		rapid.Check(t, func(r *rapid.T) {
			m := &windowTakeovers{numbers: make(map[string]int64), takeovers: &takeovers{
				h: h, replicas: replicas, channel: h.open(r, h.intent(r), "talk"),
				meaning: make(map[int64][]string), finished: make(map[string]bool),
			}}
			m.takeovers.say = m.say
			m.shown = func(d *wireDelivery) []string {
				if d.GetDigest() != nil {
					digests.Add(1)
				} else if len(d.GetEarlier()) > 0 {
					composed.Add(1)
				}
				return m.standsFor(d)
			}
			h.send(r, "bob", m.channel, "*", "bob takes part")
			h.clock.Advance(time.Hour) // the subscription does not begin with that
			m.sub = h.subscribe(r, "bob", &createInput{
				Compose: ptr(true), DigestSeconds: ptr(int32(5)), MaxAttempts: ptr(int32(100)), AcknowledgeSeconds: ptr(int32(10)),
			})
			m.run(t, r)
			m.settle(t, r)
		})
		if !testing.Short() { // two random histories need not have both
			require.Positive(t, digests.Load())
			require.Positive(t, composed.Load())
		}
	}, restless)
}

// say sends a message to bob, or to everyone.
func (m *windowTakeovers) say(r *rapid.T, text string) {
	switch rapid.SampledFrom([]string{"to bob", "to bob", "to everyone", "to everyone", "urgent"}).Draw(r, "message") {
	case "to bob":
		m.h.send(r, "ann", m.channel, "bob", text)
	case "urgent":
		m.h.sendWith(r, "ann", m.channel, "bob", text, func(req *openintentv1.SendMessageRequest) {
			req.MessageType, req.Priority = ptr(request), ptr(openintentv1.Priority_PRIORITY_URGENT)
		})
	case "to everyone":
		sent := m.h.send(r, "ann", m.channel, "*", text)
		m.mutex.Lock()
		defer m.mutex.Unlock()
		m.ambient = append(m.ambient, ambientMessage{text, m.h.position(r, sent)})
	}
}

// position returns where a message is in its intent's log.
func (r rooms) position(t require.TestingT, m *wireMessage) (position int64) {
	require.NoError(t, r.db.ReadStatement(context.Background(), func(tx *database.Tx) error {
		return tx.Pipeline(database.ReadValue(&position, "SELECT position FROM messages WHERE id = ?", m.GetId()))
	}))
	return position
}

// standsFor returns the messages for which a delivery stands, and notes it if one of them came under another number.
func (m *windowTakeovers) standsFor(d *wireDelivery) []string {
	texts := spoken(d)
	for _, span := range d.GetDigest().GetSpans() {
		for _, one := range m.ambient {
			if one.position >= span.GetFirstPosition() && one.position <= span.GetLastPosition() {
				texts = append(texts, one.text)
			}
		}
	}
	if summed := len(texts) - len(spoken(d)); summed != int(d.GetDigest().GetMessageCount()) {
		m.broken = fmt.Sprintf("a digest of %d messages has the positions of %d", d.GetDigest().GetMessageCount(), summed)
	}
	for _, text := range texts {
		if number, known := m.numbers[text]; known && number != d.GetNumber() {
			m.broken = fmt.Sprintf("message %s came under the numbers %d and %d", text, number, d.GetNumber())
		}
		m.numbers[text] = d.GetNumber()
	}
	return texts
}
