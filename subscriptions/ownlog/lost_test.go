package ownlog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

// When an own log has lost numbers, only those streams end that have sent some of them. The others go on with what is numbered now.
func TestAStreamThatSentNothingOfWhatIsLostGoesOn(t *testing.T) {
	sent, behind := &ownLogStream{number: 3}, &ownLogStream{number: 1}
	l := &ownLogNumbers{number: 3, news: make(chan struct{}), streams: map[*ownLogStream]struct{}{sent: {}, behind: {}}}
	require.True(t, l.lose(2, 4), "one of them stays")
	_, err := l.state(sent)
	faulttest.Require(t, err, fault.Conflict, "CURSOR_BEYOND_LOG")
	state, err := l.state(behind)
	require.NoError(t, err)
	require.Equal(t, int64(4), state.number)
	delete(l.streams, behind)
	require.False(t, l.lose(2, 4))
}
