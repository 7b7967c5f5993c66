package pace

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Move brings a work to its turn, and returns only when the work sleeps again.
func TestMoveWaitsForTheWorkThatFellDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pace
		ctx, cancel := context.WithCancel(t.Context())
		done := 0
		go func() {
			work := p.Work()
			defer work.End()
			for work.Until(ctx, work.Now().Add(30*time.Second)) == nil {
				<-time.After(time.Second) // what it does takes a while
				done++
			}
		}()
		synctest.Wait()
		wait, some := p.UntilNext()
		require.True(t, some)
		require.Equal(t, 30*time.Second, wait)
		begun := time.Now()
		p.Move(29 * time.Second)
		require.Zero(t, done)
		for i := range 3 {
			p.Move(30 * time.Second)
			require.Equal(t, i+1, done)
		}
		require.Equal(t, 3*time.Second, time.Since(begun), "nobody waited for the time itself")
		cancel()
		synctest.Wait()
		_, some = p.UntilNext()
		require.False(t, some)
	})
}

// Without Move, a work is done when its time has come, and what came sooner ends the wait.
func TestTimePassesByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pace
		work := p.Work()
		begun := time.Now()
		require.NoError(t, work.Until(t.Context(), p.Now().Add(time.Minute)))
		require.Equal(t, time.Minute, time.Since(begun))
		sooner := make(chan struct{}, 1)
		sooner <- struct{}{}
		require.NoError(t, work.UntilOr(t.Context(), p.Now().Add(time.Minute), sooner))
		require.Equal(t, time.Minute, time.Since(begun))
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, work.Until(ended, p.Now().Add(time.Minute)), context.Canceled)
	})
}

// A work that does not end holds up Move for two seconds at most, and work that has ended for no time.
func TestMoveDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pace
		woken := make(chan struct{})
		go func() {
			work := p.Work()
			_ = work.Until(context.Background(), work.Now().Add(time.Second))
			<-woken
			work.End()
		}()
		synctest.Wait()
		begun := time.Now()
		p.Move(time.Second)
		require.Equal(t, settlesWithin, time.Since(begun))
		close(woken)
		p.Move(time.Second)
		require.Equal(t, settlesWithin, time.Since(begun))
	})
}

// The clients of a server in a test have a time of their own, and others keep theirs.
func TestEachServerHasItsTime(t *testing.T) {
	begun, end := Begin("127.0.0.1:1")
	defer end()
	require.Same(t, begun, Of("127.0.0.1:1"))
	require.NotSame(t, begun, Of("127.0.0.1:2"))
	before := Of("127.0.0.1:2").Now()
	begun.Move(time.Hour)
	require.Less(t, Of("127.0.0.1:2").Now().Sub(before), time.Minute)
	require.Greater(t, Of("127.0.0.1:1").Now().Sub(before), 59*time.Minute)
	end()
	require.NotSame(t, begun, Of("127.0.0.1:1"))
}
