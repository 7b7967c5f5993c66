package openintent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func newTestAcknowledger() *acknowledger {
	return newAcknowledger(newReceiver(newClient(nil, Options{}).Agent(AgentOptions{ID: "agent"})))
}

func TestFinishedDeliveriesWaitForMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newTestAcknowledger()
		a.add(1)
		started := time.Now()
		a.gather(t.Context())
		require.Equal(t, gathering, time.Since(started), "a few deliveries wait for others")

		for number := range int64(a.many) {
			a.add(number)
		}
		started = time.Now()
		a.gather(t.Context())
		require.Equal(t, started, time.Now(), "many deliveries do not wait")
		require.Len(t, a.take(), a.many+1, "and are acknowledged together")
	})
}

func TestGatheringEndsOnceThereAreManyOrTheAgentLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newTestAcknowledger()
		gathered := make(chan struct{})
		gather := func() {
			a.gather(t.Context())
			gathered <- struct{}{}
		}
		started := time.Now()
		a.add(0)
		go gather()
		synctest.Wait()
		for number := range int64(a.many) {
			a.add(number)
		}
		<-gathered
		a.take()

		a.add(1)
		go gather()
		synctest.Wait()
		a.flush(0) // it asks for the end without waiting to see it
		<-gathered
		require.Equal(t, started, time.Now())
	})
}

func TestGatheringEndsWithItsContext(t *testing.T) {
	a := newTestAcknowledger()
	a.add(1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a.gather(ctx)
	require.Equal(t, []int64{1}, a.take())
}
