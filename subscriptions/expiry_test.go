package subscriptions

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

// sendBrief sends a notify that expires after a given time.
func (h *house) sendBrief(t require.TestingT, channelID, to, text string, lives time.Duration) {
	h.sendAs(t, "ann", &openintentv1.SendMessageRequest{
		ChannelId: channelID, To: &to, MessageType: ptr(notify), Payload: content(text), ExpiresAt: h.in(lives),
	})
}

// If a message expires while a client is still busy with earlier ones, it does not reach the client, whether or not it is read
// once more. It also leaves no delivery to acknowledge.
func TestStreamsPassOverWhatExpiresAheadOfThem(t *testing.T) {
	for name, waited := range map[string]time.Duration{"still fresh": 700 * time.Millisecond, "read again": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, h *house) {
				channel := h.open(t, h.intent(t), "talk")
				sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel, MaxAttempts: ptr(int32(1))})
				h.send(t, "ann", channel, "bob", "one")
				h.sendBrief(t, channel, "bob", "two", 500*time.Millisecond)
				h.send(t, "ann", channel, "bob", "three")
				s := h.stream(t, sub, nil)
				eventually(t, func() bool { return h.get(t, sub).GetOutstandingCount() == 1 }, "the stream sends the first one")
				h.clock.Advance(waited)
				require.Equal(t, "1:one", describe(s.next(t)))
				require.Equal(t, "2:three", describe(s.next(t)))
				require.Equal(t, int64(2), h.acknowledge(t, sub, 1, 2).GetAcknowledgedThrough())
				h.clock.Advance(time.Hour)
				h.sweep(t)
				require.Empty(t, h.deadLetters(t, sub))
			})
		})
	}
}

func TestOwnLogsPassOverWhatExpiresAheadOfTheirStreams(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		h.follow(t, "bob", nil).cancel() // this creates the log
		h.send(t, "ann", channel, "bob", "one")
		h.sendBrief(t, channel, "bob", "two", 500*time.Millisecond)
		h.send(t, "ann", channel, "bob", "three")
		s := h.follow(t, "bob", ptr(int64(0)))
		eventually(t, func() bool { return h.rows(t, "subscription_deliveries", "due_at IS NULL") == 3 }, "all are numbered")
		h.clock.Advance(700 * time.Millisecond)
		require.Equal(t, "one", textOf(s.next(t).GetMessage()))
		require.Equal(t, "three", textOf(s.next(t).GetMessage()))
	})
}
