package messaging

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

// The model: whatever happens, a stream from the beginning shows an agent the annotations of exactly those messages that a list
// shows it, and the streams of the channel and of its intent agree, also those that followed all along.
func TestAnnotationsAreShownWithTheirMessages(t *testing.T) {
	check := func(t *testing.T, h, other *house) {
		s := newTwoStreams(t, h, other)
		defer func() {
			for i := range s.agents {
				s.channel[i].cancel()
				s.intent[i].cancel()
			}
		}()
		live := make([][2]*streaming, len(s.agents))
		intentID := h.channel(t, s.id).GetIntentId()
		for i, agent := range s.agents {
			for n, req := range []*openintentv1.SubscribeRequest{ofChannel(s.id), ofIntent(intentID)} {
				f, err := h.trySubscribe(as(agent), annotated(req, nil))
				require.NoError(t, err)
				defer f.cancel()
				live[i][n] = f
			}
		}
		of := make(map[string]string) // the id of the message, by the signal of the annotation
		for range 12 {
			var sent []*wireMessage
			for range 6 {
				s.say(t)
			}
			sent = h.listIn(asOperator(), t, &listRequest{ChannelId: s.id})
			for range 6 {
				m, signal := sent[rand.IntN(len(sent))], s.text()
				s.somewhere().annotate(t, m.GetSender(), m, signal)
				of["<"+signal+">"] = m.GetId()
			}
			s.settleAnnotated(t, live)
			h.register(t, s.anybody(), []string{"clerk", "judge"}[rand.IntN(2)])
			for _, agent := range s.agents {
				listed := make(map[string]bool)
				for _, m := range h.list(t, agent, &listRequest{ChannelId: s.id}) {
					listed[m.GetId()] = true
				}
				var expected []string
				for signal, id := range of {
					if listed[id] {
						expected = append(expected, signal)
					}
				}
				for _, req := range []*openintentv1.SubscribeRequest{ofChannel(s.id), ofIntent(intentID)} {
					shown, _ := h.replay(t, agent, annotated(req, ptr(int64(0))))
					require.ElementsMatch(t, expected, onlyAnnotations(shown), agent)
				}
			}
			s.settleAnnotated(t, live)
		}
	}
	eachEngine(t, func(t *testing.T, h *house) { check(t, h, h) })
	t.Run("two replicas", func(t *testing.T) {
		t.Parallel()
		one, other := newReplicas(t, notified)
		check(t, one, other)
	})
}

// settleAnnotated waits until everything has come, and compares the annotated streams of the channel and of the intent.
func (s *twoStreams) settleAnnotated(t *testing.T, live [][2]*streaming) {
	end := s.text()
	s.h.say(t, s.agents[0], s.id, end)
	for i, agent := range s.agents {
		require.Equal(t, untilSaid(t, live[i][1], end), untilSaid(t, live[i][0], end), agent)
		until(t, s.intent[i], end)
		until(t, s.channel[i], end)
	}
}

func untilSaid(t require.TestingT, f *streaming, end string) (shown []string) {
	for {
		d := f.next(t)
		if d.GetEvent() != nil {
			continue
		}
		if shown = append(shown, said(d)); shown[len(shown)-1] == end {
			return shown
		}
	}
}

func onlyAnnotations(shown []string) (annotations []string) {
	for _, word := range shown {
		if word[0] == '<' {
			annotations = append(annotations, word)
		}
	}
	return annotations
}
