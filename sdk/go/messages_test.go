package openintent

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Keys of later moments come later in the server's index, and no two are the same.
func TestKeysBeginWithTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for last, i := newKey(), 0; i < 20; i++ {
			require.NotEqual(t, last, newKey())
			timer := time.NewTimer(time.Millisecond)
			<-timer.C
			next := newKey()
			require.Greater(t, next, last)
			last = next
		}
	})
}
