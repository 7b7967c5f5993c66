package messaging

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

// told returns the types of the annotations that annotated streams of a channel and of its intent show an agent about a message. Both
// streams have to agree.
func (h *house) told(t *testing.T, agent, channelID, messageID string) (types []string) {
	t.Helper()
	var both [2][]string
	for i, req := range []*openintentv1.SubscribeRequest{ofChannel(channelID), ofIntent(h.channel(t, channelID).GetIntentId())} {
		f, err := h.trySubscribe(as(agent), annotated(req, ptr(int64(0))))
		require.NoError(t, err)
		h.say(t, "alice", channelID, "end of "+messageID)
		for {
			d := f.next(t)
			if textOf(d.GetMessage()) == "end of "+messageID {
				break
			}
			if a := d.GetAnnotation(); a.GetMessageId() == messageID {
				both[i] = append(both[i], a.GetType())
			}
		}
		f.cancel()
	}
	require.Equal(t, both[0], both[1], agent)
	return both[0]
}

// The deletion of a request reaches the streams of everyone to whom the request was shown until then, and nobody else's.
func TestTheDeletionOfARequestIsToldOnStreams(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		for _, agent := range []string{"bob", "carol"} {
			h.register(t, agent, "judge")
		}
		h.register(t, "dave", "clerk")
		for _, row := range []struct {
			to    string
			shown []string
		}{{"bob", []string{"alice", "bob"}}, {"role:judge", []string{"alice", "bob", "carol"}}} {
			live, err := h.trySubscribe(as("bob"), annotated(ofChannel(id), nil))
			require.NoError(t, err)
			question := h.asks(t, "alice", id, row.to)
			require.Equal(t, question.GetId(), live.next(t).GetMessage().GetId())
			h.erase(t, "alice", question)
			told := live.next(t).GetAnnotation()
			require.Equal(t, "message_deleted", told.GetType())
			require.Equal(t, question.GetId(), told.GetMessageId())
			live.cancel()
			for _, agent := range []string{"alice", "bob", "carol", "dave"} {
				var expected []string
				if slices.Contains(row.shown, agent) {
					expected = []string{"message_deleted"}
				}
				require.Equal(t, expected, h.told(t, agent, id, question.GetId()), "%s, asked %s", agent, row.to)
			}
		}
	})
}

// A request whose time was over before is not shown any more, so nobody but its sender is told of its deletion. A later holder of the role
// did not see an answered request.
func TestTheDeletionOfWhatWasNotShownIsNotTold(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.register(t, "bob", "judge")
		late := h.send(t, "alice", &sendRequest{
			ChannelId: id, To: ptr("role:judge"), MessageType: request.Enum(), Payload: content("late"), ExpiresAt: h.in(time.Minute),
		})
		answered := h.asks(t, "alice", id, "role:judge")
		h.reply(t, "bob", id, answered.GetId(), "yes")
		h.clock.Advance(time.Hour)
		h.register(t, "carol", "judge")
		h.erase(t, "alice", late)
		h.erase(t, "alice", answered)
		require.Equal(t, []string{"message_deleted"}, h.told(t, "alice", id, late.GetId()))
		require.Empty(t, h.told(t, "bob", id, late.GetId()))
		require.Equal(t, []string{"message_deleted"}, h.told(t, "bob", id, answered.GetId()))
		require.Empty(t, h.told(t, "carol", id, answered.GetId()))
	})
}

// A departure ends the requests to the agent at once, though its work is not done yet. So it is not told of a deletion that comes after it.
func TestTheDeletionOfWhatADepartureEndedIsNotTold(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		s := h.sceneOf(t)
		h.interrupted(t, f)
		h.clock.Advance(time.Second)
		h.erase(t, "alice", s.open)
		h.clock.Advance(time.Second)
		h.register(t, "bob", "tester")
		require.Empty(t, h.told(t, "bob", s.asked, s.open.GetId()))
		require.Equal(t, []string{"message_deleted"}, h.told(t, "alice", s.asked, s.open.GetId()))
	})
}
