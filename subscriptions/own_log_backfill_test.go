package subscriptions

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// The first look of an own log reads no contents of open requests. Later looks read those that they deliver.
func TestBackfillReadsWhatItDelivers(t *testing.T) {
	eachEngineCounting(t, func(t *testing.T, h *house, read *contentReads) {
		channel := h.open(t, h.intent(t), "talk")
		for i := range 20 {
			h.asks(t, "ann", channel, "bob", fmt.Sprint("before the log ", i))
		}
		h.clock.Advance(afterCommits)
		read.reset()
		s := h.follow(t, "bob", nil)
		requireNext(t, s, "0 caught up")
		for i := range 20 {
			h.send(t, "ann", channel, "bob", fmt.Sprint(i))
			requireNext(t, s, fmt.Sprintf("%d %d", i+1, i))
		}
		require.LessOrEqual(t, read.messages.Load(), int64(20), "these were gathered")
		for i := range 3 {
			h.asks(t, "ann", channel, "role:smith", fmt.Sprint("of a role ", i))
		}
		h.send(t, "ann", channel, "bob", "the log moves past them")
		requireNext(t, s, "21 the log moves past them")
		read.reset()
		h.register(t, "bob", "smith")
		requireNext(t, s, "21+ of a role 0", "21+ of a role 1", "21+ of a role 2")
		require.LessOrEqual(t, read.messages.Load(), int64(3))
		require.Zero(t, read.logged.Load(), "none of the log's deliveries is in question")
	})
}
