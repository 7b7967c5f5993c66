package openintent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
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

// inbox is a server that has these requests in the inbox.
type inbox struct {
	openintentv1.MessageServiceClient
	items []*openintentv1.InboxItem
}

func (i inbox) GetInbox(context.Context, *openintentv1.GetInboxRequest, ...grpc.CallOption) (*openintentv1.Inbox, error) {
	return &openintentv1.Inbox{Items: i.items}, nil
}

// What the subscription has as well is left to the stream, which knows the attempt.
func TestTheStreamComesBeforeTheInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		subscribedAt := time.Now()
		request := func(id string, at time.Time) *openintentv1.InboxItem {
			return &openintentv1.InboxItem{Message: &openintentv1.Message{
				Id: id, MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST, CreatedAt: timestamppb.New(at),
			}}
		}
		r := newReceiver(newClient(nil, Options{}).Agent(AgentOptions{ID: "agent", Concurrency: 3}))
		r.client.raw.Messages = inbox{items: []*openintentv1.InboxItem{
			request("older", subscribedAt.Add(-time.Second)), request("newer", subscribedAt.Add(time.Second)),
		}}
		r.life, r.end = context.WithCancel(t.Context())
		defer r.end()
		r.done = newAcknowledger(r)
		r.subscription.Store(subscribed{"sub", subscribedAt})
		r.agent.OnMessage("", func(ctx context.Context, message *Message) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		require.NoError(t, r.beginWork(r.life, takeOver))
		require.Contains(t, r.known, "older")
		require.NotContains(t, r.known, "newer")
		begun := time.Now()
		require.Same(t, takeRest, <-r.pending)
		require.Equal(t, streamFirst, time.Since(begun))
		require.NoError(t, r.beginWork(r.life, takeRest))
		require.Contains(t, r.known, "newer", "the stream has not brought it")
		r.end()
		r.working.Wait()
		r.helping.Wait()
	})
}
