package openintent

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// numbered names a delivery of one message.
func numbered(subscription string, number int64) delivered {
	return delivered{subscription: subscription, number: number}
}

func newTestAcknowledger() *acknowledger {
	return newAcknowledger(newReceiver(newClient(nil, Options{}).Agent(AgentOptions{ID: "agent"})))
}

func TestFinishedDeliveriesWaitForMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newTestAcknowledger()
		a.add(numbered("sub", 1))
		started := time.Now()
		a.gather(t.Context())
		require.Equal(t, gathering, time.Since(started), "a few deliveries wait for others")

		for number := range int64(a.many) {
			a.add(numbered("sub", number))
		}
		started = time.Now()
		a.gather(t.Context())
		require.Equal(t, started, time.Now(), "many deliveries do not wait")
		_, numbers := a.take()
		require.Len(t, numbers, a.many+1, "and are acknowledged together")
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
		a.add(numbered("sub", 0))
		go gather()
		synctest.Wait()
		for number := range int64(a.many) {
			a.add(numbered("sub", number))
		}
		<-gathered
		a.take()

		a.add(numbered("sub", 1))
		go gather()
		synctest.Wait()
		a.flush(0) // it asks for the end without waiting to see it
		<-gathered
		require.Equal(t, started, time.Now())
	})
}

func TestGatheringEndsWithItsContext(t *testing.T) {
	a := newTestAcknowledger()
	a.add(numbered("sub", 1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a.gather(ctx)
	_, numbers := a.take()
	require.Equal(t, []int64{1}, numbers)
}

func TestOneCallAcknowledgesOneSubscription(t *testing.T) {
	a := newTestAcknowledger()
	for _, finished := range []delivered{numbered("old", 1), numbered("old", 2), numbered("new", 1), numbered("old", 3)} {
		a.add(finished)
	}
	var calls []string
	for subscription, numbers := a.take(); len(numbers) > 0; subscription, numbers = a.take() {
		calls = append(calls, fmt.Sprint(subscription, numbers))
	}
	require.Equal(t, []string{"old[1 2]", "new[1]", "old[3]"}, calls)
}
