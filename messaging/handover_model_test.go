package messaging

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

// A channel's stream is fed by what this replica's writer hands over, an intent's stream by the database alone. Whatever
// happens in a channel, and on whichever replica, the two show an agent the same messages in the same order.
func TestStreamsHandedToAndStreamsThatLookAgree(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		for range 4 {
			newTwoStreams(t, h, h).run(t, 40)
		}
	})
	t.Run("two replicas", func(t *testing.T) {
		t.Parallel()
		one, other := newReplicas(t, notified)
		for range 4 {
			newTwoStreams(t, one, other).run(t, 40)
		}
	})
}

// twoStreams are some agents on a channel, each with a stream of the channel and one of its intent.
type twoStreams struct {
	h, other *house
	id       string
	agents   []string
	channel  []*streaming
	intent   []*streaming
	said     int
}

func newTwoStreams(t *testing.T, h, other *house) *twoStreams {
	own := func(name string) string { return fmt.Sprint(name, modelCount.Add(1)) }
	s := &twoStreams{h: h, other: other, agents: []string{own("ann"), own("bob"), own("eve")}}
	s.id = h.open(t)
	if rand.IntN(2) == 0 {
		s.id = h.explicit(t, s.agents...)
	}
	for _, agent := range s.agents {
		h.register(t, agent, "clerk")
		s.channel = append(s.channel, h.follow(t, agent, s.id, nil))
		s.intent = append(s.intent, h.followIntent(t, agent, s.id))
	}
	return s
}

func (s *twoStreams) run(t *testing.T, steps int) {
	for range steps {
		switch rand.IntN(8) {
		case 0:
			s.settle(t) // what an agent may see of what was said before must not hang on who looks first
			s.h.register(t, s.anybody(), []string{"clerk", "judge"}[rand.IntN(2)])
			s.settle(t)
		case 1:
			s.together(t)
		case 2:
			asked := s.somewhere().askFor(t, s.agents[0], s.id, s.agents[1], s.text())
			s.somewhere().reply(t, s.agents[1], s.id, asked.GetId(), s.text())
		default:
			s.say(t)
		}
	}
	s.settle(t)
	for i := range s.agents {
		s.channel[i].cancel()
		s.intent[i].cancel()
	}
}

func (s *twoStreams) anybody() string { return s.agents[rand.IntN(len(s.agents))] }

// somewhere is a replica; most is said where the streams are.
func (s *twoStreams) somewhere() *house {
	if rand.IntN(4) == 0 {
		return s.other
	}
	return s.h
}

func (s *twoStreams) text() string {
	s.said++
	return fmt.Sprint(s.said)
}

// request makes a message to an agent, a role or everyone.
func (s *twoStreams) request() *sendRequest {
	to := []string{s.anybody(), s.anybody(), s.anybody(), "role:judge", "role:clerk", "*"}[rand.IntN(6)]
	kind := []openintentv1.MessageType{notify, request}[rand.IntN(2)]
	if to == "*" {
		kind = notify
	}
	return &sendRequest{ChannelId: s.id, To: &to, MessageType: &kind, Payload: content(s.text())}
}

func (s *twoStreams) say(t require.TestingT) {
	req, sender := s.request(), s.anybody()
	for req.GetTo() == sender {
		sender = s.anybody()
	}
	s.somewhere().send(t, sender, req)
}

// together lets several say something at once, so that it is committed together.
func (s *twoStreams) together(t require.TestingT) {
	var group sync.WaitGroup
	for range 5 {
		req, sender, at := s.request(), s.anybody(), s.somewhere()
		for req.GetTo() == sender {
			sender = s.anybody()
		}
		group.Go(func() { at.send(t, sender, req) })
	}
	group.Wait()
}

// settle waits until everything said so far has come, and compares.
func (s *twoStreams) settle(t require.TestingT) {
	end := s.text()
	s.h.say(t, s.agents[0], s.id, end)
	for i, agent := range s.agents {
		require.Equal(t, until(t, s.intent[i], end), until(t, s.channel[i], end), agent)
	}
}

// until receives what comes up to a message.
func until(t require.TestingT, f *streaming, end string) (shown []string) {
	for {
		d := f.next(t)
		if d.GetMessage() == nil {
			continue
		}
		shown = append(shown, fmt.Sprint(d.GetPosition(), d.GetBackfill(), d.GetMessage().GetId()))
		if textOf(d.GetMessage()) == end {
			return shown
		}
	}
}
