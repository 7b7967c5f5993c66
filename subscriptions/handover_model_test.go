package subscriptions

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
)

// A stream to which this replica's writer hands over what it stores, and fetches, which read it: whatever happens in the intents,
// and at whichever replica, the two deliver the same to an agent, in the same order within each intent.
func TestStreamsHandedToAndFetchesAgree(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		other := h.rooms
		if h.db.Engine() == database.PostgreSQL {
			other = h.replica(t, notified)
		}
		for seed := range uint64(3) {
			newHandings(t, h, other, rand.New(rand.NewPCG(seed, uint64(h.db.Engine())))).run(t, 60)
		}
	}, notified)
}

func notified(s *settings) {
	s.messaging.Notifications = true
	s.messaging.LookAgain, s.room.LookAgain = 200*time.Millisecond, 200*time.Millisecond
}

// handings are some subscriptions of one agent, each twice: one that is streamed and one that is fetched.
type handings struct {
	h        *house
	other    rooms
	draw     *rand.Rand
	intent   string
	channels []string
	agents   []string
	streamed []*openintentv1.Subscription
	fetched  []*openintentv1.Subscription
	streams  []*stream[wireDelivery]
	said     int
	sent     []*wireMessage
}

func newHandings(t *testing.T, h *house, other rooms, draw *rand.Rand) *handings {
	m := &handings{h: h, other: other, draw: draw, intent: h.intent(t)}
	own := func(name string) string { return name + strconv.FormatUint(draw.Uint64(), 36) }
	m.agents = []string{own("ann"), own("bob"), own("eve")}
	for _, agent := range m.agents {
		h.register(t, agent, "clerk")
	}
	m.channels = []string{
		h.open(t, m.intent, "talk"), h.explicit(t, m.intent, "members", m.agents...), h.open(t, h.intent(t), "elsewhere"),
	}
	for i, req := range []*createInput{{}, {IntentId: &m.intent}, {ChannelId: &m.channels[0]}} {
		for _, kind := range []string{"streamed", "fetched"} {
			req.Name = ptr(kind + strconv.Itoa(i))
			sub := h.subscribe(t, m.bob(), req)
			if kind == "fetched" {
				m.fetched = append(m.fetched, sub)
				continue
			}
			m.streamed = append(m.streamed, sub)
			m.streams = append(m.streams, h.stream(t, sub, &openintentv1.StreamDeliveriesRequest{MaxOutstanding: ptr(int32(1000))}))
		}
	}
	return m
}

func (m *handings) bob() string { return m.agents[1] }

func (m *handings) run(t *testing.T, steps int) {
	for range steps {
		m.step(t)
		m.settle(t)
	}
	for _, s := range m.streams {
		s.cancel()
	}
}

func (m *handings) step(t *testing.T) {
	switch m.draw.IntN(12) {
	case 0:
		m.h.register(t, m.anybody(), []string{"clerk", "judge"}[m.draw.IntN(2)])
	case 1:
		_, err := m.h.intents.AppendEvent(asOperator(), &openintentv1.AppendEventRequest{
			IntentId: m.intent, EventType: "thought", Payload: content(m.text()),
		})
		require.NoError(t, err)
	case 2:
		if len(m.sent) > 0 {
			m.h.edit(t, m.sent[m.draw.IntN(len(m.sent))], m.text())
		}
	case 3:
		m.together(t)
	case 4:
		m.h.clock.Advance(time.Duration(m.draw.IntN(3)) * time.Second)
		m.say(t)
	default:
		for range 1 + m.draw.IntN(3) {
			m.say(t)
		}
	}
}

func (m *handings) anybody() string { return m.agents[m.draw.IntN(len(m.agents))] }

func (m *handings) text() string {
	m.said++
	return strconv.Itoa(m.said)
}

// somewhere is a replica; most is said where the streams are.
func (m *handings) somewhere() rooms {
	if m.draw.IntN(4) == 0 {
		return m.other
	}
	return m.h.rooms
}

func (m *handings) draft() (sender string, req *openintentv1.SendMessageRequest) {
	to := []string{m.anybody(), m.bob(), m.bob(), "role:judge", "role:clerk", "*", "*"}[m.draw.IntN(7)]
	for sender = m.anybody(); sender == to; {
		sender = m.anybody()
	}
	return sender, &openintentv1.SendMessageRequest{
		ChannelId: m.channels[m.draw.IntN(len(m.channels))], To: &to, MessageType: ptr(notify), Payload: content(m.text()),
	}
}

func (m *handings) say(t require.TestingT) {
	sender, req := m.draft()
	m.sent = append(m.sent, m.somewhere().sendAs(t, sender, req))
}

// together sends several messages at once, so that some are committed together.
func (m *handings) together(t *testing.T) {
	var group sync.WaitGroup
	for range 6 {
		sender, req := m.draft()
		at := m.somewhere()
		group.Go(func() {
			_, err := at.messaging.SendMessage(as(sender), req)
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// settle waits until everything that is fetched was also streamed, and compares.
func (m *handings) settle(t *testing.T) {
	for i, sub := range m.fetched {
		var streamed, fetched []string
		var came, numbers []int64
		for _, d := range m.h.fetch(t, sub) {
			fetched, numbers = append(fetched, placed(d)), append(numbers, d.GetNumber())
		}
		for range fetched {
			d := m.streams[i].next(t)
			streamed, came = append(streamed, placed(d)), append(came, d.GetNumber())
		}
		require.Equal(t, byIntent(fetched), byIntent(streamed))
		if len(came) > 0 {
			m.h.acknowledge(t, m.streamed[i], came...)
			m.h.acknowledge(t, sub, numbers...)
		}
	}
}

// byIntent sorts deliveries by their intents, because only the order within an intent is promised.
func byIntent(placed []string) []string {
	intentOf := func(one string) string { return strings.Fields(one)[0] }
	slices.SortStableFunc(placed, func(a, b string) int { return strings.Compare(intentOf(a), intentOf(b)) })
	return placed
}

// placed formats a delivery as its place and its content.
func placed(d *wireDelivery) string {
	m := d.GetMessage()
	return strings.Join([]string{
		d.GetIntentId(), strconv.FormatInt(d.GetPosition(), 10), d.GetChannelName(), d.GetEvent().GetEventType(),
		m.GetId(), m.GetStatus().String(), textOf(m),
	}, " ")
}
