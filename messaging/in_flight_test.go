package messaging

import (
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/messaging/message"
)

func TestWindowLetsNobodyInOnceClosed(t *testing.T) {
	w := newInFlight()
	one, other := &unanswered{size: 1}, &unanswered{size: 1}
	require.True(t, w.awaitRoom())
	require.True(t, w.takeUp(one))
	w.close(message.ErrStopping)
	w.close(errInjected)
	require.False(t, w.awaitRoom())
	require.False(t, w.takeUp(other))
	var left []*unanswered
	for s := range w.inOrder {
		left = append(left, s)
		w.answered(s)
	}
	require.Equal(t, []*unanswered{one}, left, "what was taken up stays in line")
	require.ErrorIs(t, w.reason(), message.ErrStopping, "the first reason stays")
	require.Zero(t, w.messages)
	require.Zero(t, w.bytes)
}

func TestWindowIsBounded(t *testing.T) {
	for name, test := range map[string]struct{ size, fit int }{
		"by messages": {1, maxUnanswered}, "by bytes": {maxUnansweredBytes, 1},
	} {
		t.Run(name, func(t *testing.T) {
			for _, makeRoom := range []func(w *inFlight){
				func(w *inFlight) { w.answered(<-w.inOrder) },
				func(w *inFlight) { w.close(nil) },
			} {
				w := newInFlight()
				for range test.fit {
					require.True(t, w.awaitRoom())
					require.True(t, w.takeUp(&unanswered{size: test.size}))
				}
				room := make(chan bool, 1)
				go func() { room <- w.awaitRoom() }()
				select {
				case <-room:
					require.Fail(t, "there is no room")
				default:
				}
				makeRoom(w)
				require.Equal(t, !w.closed, <-room)
			}
		})
	}
}
