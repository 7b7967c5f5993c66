package openintent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// leavingReceiver returns a receiver that has handled the message found, which is newer than the subscription, and old, which is not.
func leavingReceiver() *receiver {
	agent := newClient(nil, Options{}).Agent(AgentOptions{ID: "agent"})
	agent.OnMessage("", func(context.Context, *Message) (any, error) { return nil, nil })
	r := newReceiver(agent)
	r.done = newAcknowledger(r)
	subscribedAt := time.Now()
	r.subscription.Store(subscribed{"sub", subscribedAt})
	r.noteInbox()
	r.finish(r.begin(&Message{ID: "old", CreatedAt: subscribedAt.Add(-time.Second)}, delivered{}), true)
	r.finish(r.begin(&Message{ID: "found", CreatedAt: subscribedAt.Add(time.Second)}, delivered{}), true)
	return r
}

func TestALeavingAgentWaitsForTheDeliveryOfWhatItFoundInTheInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := leavingReceiver()
		started := time.Now()
		waited := make(chan struct{})
		go func() {
			r.awaitDeliveries()
			close(waited)
		}()
		synctest.Wait()
		require.Nil(t, r.begin(&Message{ID: "found"}, numbered("sub", 7)), "it is not handled again")
		<-waited
		require.Equal(t, started, time.Now())
		require.Equal(t, []delivered{numbered("sub", 7)}, r.done.waiting)
		r.done.waiting = nil
		r.awaitDeliveries()
		require.Equal(t, started, time.Now(), "nothing more is on its way")
	})
}

func TestALeavingAgentDoesNotWaitLongForADelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := leavingReceiver()
		started := time.Now()
		r.awaitDeliveries()
		require.Equal(t, onItsWay, time.Since(started))
		r.awaitDeliveries()
		require.Equal(t, onItsWay, time.Since(started), "the time counts from the look into the inbox")
	})
}

func TestADeliveryThatComesWhileItsMessageIsHandledIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := leavingReceiver()
		r.found.came("found")
		this := r.begin(&Message{ID: "next", CreatedAt: time.Now().Add(time.Second)}, delivered{})
		require.True(t, this.expected)
		require.Nil(t, r.begin(this.message, numbered("sub", 8)))
		r.finish(this, true)
		started := time.Now()
		r.awaitDeliveries()
		require.Equal(t, started, time.Now())
	})
}
